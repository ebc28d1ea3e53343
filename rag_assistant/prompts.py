"""From a question and its evidence to the text that is sent to a model.

A prompt is a Jinja file with the blocks ``system`` and ``user``, and its version in the first line. The text of papers
and users is data: it is inserted as a value and never read as a template, is stripped of characters that hide or
reorder text, stays on its line, and is inside a fence with a random mark, so that nothing within can close it.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from rag_assistant.bundled import bundled
from rag_assistant.errors import InputError
from rag_assistant.escapes import without_escapes
from rag_assistant.evidence.base import QuestionEvidence
from rag_assistant.questions.language import is_english
from rag_assistant.types import Length, Paper, PromptInfo, Turn

SENTINEL = "NOT_IN_ABSTRACTS"
"""What a model writes if the abstracts say nothing about what is asked."""

NONE_BELONGS = "NONE"
"""What a model writes if no paper belongs in a list."""

LEFT_OUT = "(left out: an instruction, not a finding)"
"""What a prompt has in place of a sentence with injected instructions."""

_MAX_AUTHORS = 3
_NONCE = 16
_TURNS = 3
_TURN_CHARACTERS = 600
_VERSION = re.compile(r"\{#-?\s*version:\s*(\d+)\b")
_WORD = re.compile(r"(?P<letters>[A-Za-z]+)|(?P<digits>\d+)|(?P<other>[^\s\w]|_)|(?P<foreign>\w+)")
_LABEL_LIKE = re.compile(r"[\[【](\s*\d+\s*\.\s*s\s*\d+\s*)[\]】]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PromptPaper:
    """A paper as a prompt shows it, each text on one line. ``number`` counts from 1."""

    number: int
    title: str
    authors: str
    year: int | None
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PromptTurn:
    """An earlier question and its answer as a prompt shows them, each on one line."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt ready to be sent, with its name and version."""

    system: str
    user: str
    info: PromptInfo

    @property
    def tokens(self) -> int:
        """Roughly how many tokens a model makes of it."""
        return count_tokens(self.system) + count_tokens(self.user)


def render_answer(
    question: str,
    evidence: QuestionEvidence,
    *,
    length: Length = "normal",
    compact: bool = False,
    folder: Path | None = None,
) -> Rendered:
    """The prompt that asks for an answer.

    Args:
        question: The self-contained question.
        evidence: What the model may use; labels ``[p.sN]`` count its papers and their sentences from 1.
        length: How long an answer the model is asked to write.
        compact: For a model with a small context: ``answer-compact`` rather than ``answer``.
        folder: The folder of the user's own prompts; the bundled ones are used for those that it lacks.

    Raises:
        InputError: The file lacks a version or a block, or names an unknown variable; or there is no such folder.
    """
    values = {
        "question": as_data(question),
        "language": _language(question, evidence),
        "papers": _papers(evidence),
        "nonce": _nonce([question, *_texts(evidence)]),
        "sentinel": SENTINEL,
        "length": length,
    }
    return render_prompt("answer-compact" if compact else "answer", values, folder=folder)


def render_list(question: str, evidence: QuestionEvidence, *, folder: Path | None = None) -> Rendered:
    """The prompt that asks which papers belong in a list.

    Args:
        question: The self-contained question that asks for a list.
        evidence: As in :func:`render_answer`.
        folder: As in :func:`render_answer`.

    Raises:
        InputError: As in :func:`render_answer`.
    """
    values = {
        "question": as_data(question),
        "papers": _papers(evidence),
        "nonce": _nonce([question, *_texts(evidence)]),
        "sentinel": NONE_BELONGS,
    }
    return render_prompt("list", values, folder=folder)


def render_rewrite(question: str, turns: Sequence[Turn], *, folder: Path | None = None) -> Rendered:
    """The prompt that asks for a self-contained version of a follow-up question.

    Args:
        question: The follow-up.
        turns: The conversation so far, oldest first; the last few are sent, with long answers cut.
        folder: As in :func:`render_answer`.

    Raises:
        InputError: As in :func:`render_answer`.
    """
    last = turns[-_TURNS:]
    said = tuple(
        PromptTurn(as_data(asked)[:_TURN_CHARACTERS], as_data(answer)[:_TURN_CHARACTERS]) for asked, answer in last
    )
    sent = [question, *(text for turn in last for text in turn)]
    values = {"question": as_data(question), "turns": said, "nonce": _nonce(sent)}
    return render_prompt("rewrite", values, folder=folder)


def render_check(
    statement: str, quotes: Sequence[str], papers: Sequence[Paper], *, folder: Path | None = None
) -> Rendered:
    """The prompt that asks whether quotes say what a statement says.

    Args:
        statement: The statement, without markers.
        quotes: The sentences it cites.
        papers: The papers that these are from.
        folder: As in :func:`render_answer`.

    Raises:
        InputError: As in :func:`render_answer`.
    """
    titles = [paper.title for paper in papers]
    values = {
        "statement": as_data(statement),
        "titles": tuple(map(as_data, titles)),
        "quotes": tuple(map(as_data, quotes)),
        "nonce": _nonce([statement, *titles, *quotes]),
    }
    return render_prompt("check", values, folder=folder)


def render_prompt(name: str, values: Mapping[str, object], *, folder: Path | None = None) -> Rendered:
    """The prompt ``name.jinja`` with its variables filled in.

    Args:
        name: The name of the file.
        values: By variable; text of others must have gone through :func:`as_data`.
        folder: As in :func:`render_answer`.

    Raises:
        InputError: As in :func:`render_answer`.
    """
    template, info, path = _load(name, folder)
    blocks = []
    for block in ("system", "user"):
        if block not in template.blocks:
            raise InputError(f"The prompt {path} has no block {block!r}.", hint="it needs the blocks system and user")
        try:
            blocks.append("".join(template.blocks[block](template.new_context(dict(values)))).strip())
        except TemplateError as error:
            raise InputError(
                f"The prompt {path} can't be filled in: {error.message}.", hint=f"it may use {', '.join(values)}"
            ) from error
    return Rendered(blocks[0], blocks[1], info)


def count_tokens(text: str) -> int:
    """Roughly how many tokens a model makes of a text; too many rather than too few.

    Vocabularies differ and aren't available here: a token is assumed to be seven letters of a word, two digits, one
    mark, or one letter of a script other than Latin. On abstracts that gives a fifth more than current vocabularies.
    """
    total = 0
    for match in _WORD.finditer(text):
        length = match.end() - match.start()
        if match["letters"]:
            total += -(-length // 7)
        elif match["digits"]:
            total += -(-length // 2)
        else:
            total += length
    return total + 16


def fence_of(*texts: str) -> str:
    """A mark for the fence around these texts that is the same each time, for prompts whose replies are cached.

    It depends on all of the texts, so none of them can contain it.
    """
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def as_data(text: str) -> str:
    """Text of others on one line, without control, formatting (bidi, zero-width, tag) and private characters, and
    without anything that looks like one of our labels."""
    visible = "".join(
        " " if unicodedata.category(character)[0] == "C" else character for character in without_escapes(text)
    )
    return re.sub(r"\s+", " ", _LABEL_LIKE.sub(r"(\1)", visible)).strip()


def _papers(evidence: QuestionEvidence) -> tuple[PromptPaper, ...]:
    return tuple(
        PromptPaper(
            number,
            as_data(found.hit.paper.title),
            as_data(_authors(found.hit.paper.authors)),
            found.hit.paper.year,
            tuple(LEFT_OUT if sentence.orders else as_data(sentence.passage.text) for sentence in found.sentences),
        )
        for number, found in enumerate(evidence.papers, start=1)
    )


def _texts(evidence: QuestionEvidence) -> list[str]:
    return [paper.hit.paper.title + paper.hit.paper.abstract for paper in evidence.papers]


def _language(question: str, evidence: QuestionEvidence) -> str:
    """The language to answer in: statements in a language other than the abstracts' can't be checked against them."""
    if is_english(question):
        return ""
    return "English" if is_english(" ".join(_texts(evidence))) else "the language of the abstracts"


def _nonce(sent: list[str]) -> str:
    """A random mark that is in no text sent; only letters, so that it always counts as the same number of tokens."""
    while True:
        nonce = "".join(secrets.choice(string.ascii_lowercase) for _ in range(_NONCE))
        if not any(nonce in text for text in sent):
            return nonce


def _authors(names: tuple[str, ...]) -> str:
    return ", ".join(names[:_MAX_AUTHORS]) + (" et al." if len(names) > _MAX_AUTHORS else "")


def _load(name: str, folder: Path | None) -> tuple[Template, PromptInfo, Path]:
    if folder is not None and not folder.is_dir():
        raise InputError(f"There is no folder of prompts at {folder}.", hint="correct prompts (RAG_PROMPTS)")
    path = (folder or bundled("prompts")) / f"{name}.jinja"
    if not path.is_file():
        path = bundled("prompts") / f"{name}.jinja"
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The prompt {path} can't be read.", hint="check the folder, or install again") from error
    version = _VERSION.match(text)
    if version is None:
        raise InputError(f"The prompt {path} has no version.", hint="begin its first line with {# version: 1 #}")
    try:
        template = _compiled(text)
    except TemplateError as error:
        raise InputError(f"The prompt {path} is no Jinja template: {error.message}.", hint="mend the file") from error
    return template, PromptInfo(path.stem, version[1], hashlib.sha256(data).hexdigest()), path


@lru_cache(maxsize=8)
def _compiled(text: str) -> Template:
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,
    )
    return environment.from_string(text)
