"""Questions from sentences, without a model: acronyms, definitions, numbers and the bibliography.

They are close to the words of the abstract, so they are easy to find: a person who reviews them rewords them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag_assistant.evals.case import Case, Evidence, Nugget, Number
from rag_assistant.evals.text import numbers, plain
from rag_assistant.numerals import SMALL
from rag_assistant.sentences import sentence_spans
from rag_assistant.stop_words import is_stop_word
from rag_assistant.types import Paper

_ACRONYM = re.compile(r"\(([A-Z][A-Za-z0-9-]{1,9})\)")
_PERCENT = re.compile(r"(?<![\w.–-])\$?(\d+(?:\.\d+)?)\s?\\?%\$?")
_KNOWN = re.compile(r"\b(?:the|these|those|both|our|all)\s+\Z", re.IGNORECASE)
_COUNT = re.compile(
    rf"(?<![\w.$-])(\d{{1,6}}|{'|'.join(SMALL[2:11])})\s+((?:[a-z]+(?:-[a-z]+)*\s+){{0,2}}[a-z]{{3,}}s)\b"
)
_PROPOSES = re.compile(
    r"\b(?:propose|introduce|present|develop|describe)s?\s+(?:\\?(?:emph|textbf|textit)\{)?"
    r"(?P<name>[A-Z][\w.+-]*(?:\s[A-Z][\w.+-]*){0,3})\}?(?:\s\([^)]*\))?,\s+(?P<what>an?\s[^,.;:()]{8,90})"
)
_IS = re.compile(r"^(?P<name>[A-Z][\w.+-]*[A-Z0-9][\w.+-]*)(?:\s\([^)]*\))?\s+is\s+(?P<what>an?\s[^,.;:()]{8,90})")
_ACTS = re.compile(
    r"^(?P<name>[A-Z][\w+-]*[A-Z0-9][\w+-]*)\s(?P<verb>[a-z]{3,}s)\s(?P<what>(?!that\b)[a-z][^,.;:()]{12,})"
)
_NO_ACTS = frozenset({"has", "was", "does", "this", "thus", "plays"})
_GAP = "…"
_REWORD = "Drafted from the sentence by code: reword it as somebody would ask who has not read the abstract."


def questions_of(paper: Paper) -> Iterator[Case]:
    """Candidates for one paper; not all of them hold up against the checks of a set."""
    for start, end in sentence_spans(paper.abstract):
        sentence = paper.abstract[start:end]
        yield from _acronyms(paper, sentence)
        yield from _definitions(paper, sentence)
        yield from _actions(paper, sentence)
        yield from _percentages(paper, sentence)
        yield from _counts(paper, sentence)
    yield from _authors(paper)


def _acronyms(paper: Paper, sentence: str) -> Iterator[Case]:
    for match in _ACRONYM.finditer(sentence):
        long = long_form(match[1], sentence[: match.start()])
        if long:
            yield _case(
                paper,
                sentence,
                "fact",
                f"What does {match[1]} stand for?",
                nuggets=(_nugget(long),),
                paraphrase=f"It is short for {plain(long)}.",
                wrong=(f"{match[1]} is the name of the authors' institute.",),
                notes="Drafted by code from an acronym and the words before it.",
            )


def long_form(short: str, before: str) -> str:
    """The words before an acronym that it abbreviates, or nothing (the algorithm of Schwartz and Hearst 2003).

    Every letter of the acronym is found from its end backwards, the first one at the beginning of a word, within twice
    as many words as the acronym has letters, or five more.
    """
    words = before.split()
    text = " ".join(words[-min(len(short) + 5, 2 * len(short)) :])
    at = len(text)
    for place, letter in reversed(list(enumerate(short.lower()))):
        if not letter.isalnum():
            continue
        at -= 1
        while at >= 0 and (text[at].lower() != letter or (place == 0 and at > 0 and text[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return ""
    return text[at:] if len(text[at:].split()) > 1 else ""


def _definitions(paper: Paper, sentence: str) -> Iterator[Case]:
    for pattern in (_PROPOSES, _IS):
        match = pattern.search(sentence)
        if match is not None:
            what = " ".join(match["what"].split())
            yield _case(
                paper,
                sentence,
                "fact",
                f"What is {match['name']}?",
                nuggets=(_nugget(" ".join(what.split()[1:5])),),
                paraphrase=f"It is {plain(what)}.",
                wrong=(f"{match['name']} is something that the authors argue against.",),
                notes="Drafted by code from a definition: check that the pattern holds what matters of it.",
            )


def _actions(paper: Paper, sentence: str) -> Iterator[Case]:
    match = _ACTS.search(sentence)
    if match is None or match["verb"] in _NO_ACTS:
        return
    verb = match["verb"]
    verb = verb[:-3] + "y" if verb.endswith("ies") else re.sub(r"(?<=ss|ch|sh|.x)es$|s$", "", verb)
    yield _case(
        paper,
        sentence,
        "fact",
        f"What does {match['name']} {verb}?",
        nuggets=(_nugget(" ".join(match["what"].split()[:3])),),
        paraphrase=f"{plain(match['what'])}.",
        wrong=(f"{match['name']} has no such effect.",),
        notes=_REWORD,
    )


def _percentages(paper: Paper, sentence: str) -> Iterator[Case]:
    for match in _PERCENT.finditer(sentence):
        value = float(match[1])
        yield _case(
            paper,
            sentence,
            "number",
            f"Which percentage is it: “{_gapped(sentence, match)}”?",
            numbers=(Number(value, "%"),),
            paraphrase=f"It is {match[1]}%.",
            wrong=(f"It is {100 - value:g}%.", f"It is {match[1]} in total."),
            notes=_REWORD,
        )


def _counts(paper: Paper, sentence: str) -> Iterator[Case]:
    for match in _COUNT.finditer(sentence):
        if is_stop_word(match[2].split()[0]) or _KNOWN.search(sentence[: match.start()]):
            continue  # no thing that is counted, or one that was counted before
        value = numbers(match[1], words=True)[0].value
        if match[1].isdigit() and 1900 <= value <= 2100:
            continue  # a year
        yield _case(
            paper,
            sentence,
            "number",
            f"How many {match[2]}: “{_gapped(sentence, match, keep=' ' + match[2])}”?",
            numbers=(Number(value),),
            paraphrase=f"There are {match[1]}.",
            wrong=(f"There are {value + 1:g}.",),
            notes=_REWORD,
        )


def _gapped(sentence: str, match: re.Match[str], *, keep: str = "") -> str:
    """The clause around a number, with a gap in its place."""
    left = max((sentence.rfind(mark, 0, match.start()) + len(mark) for mark in (", ", "; ", ": ")), default=0)
    left = 0 if left < 2 else left
    return " ".join(f"{sentence[left : match.start()]}{_GAP}{keep}{sentence[match.end() :]}".rstrip(".").split())


def _authors(paper: Paper) -> Iterator[Case]:
    if not paper.authors or paper.title_derived:
        return
    named = dict.fromkeys((paper.authors[0], paper.authors[-1]))
    yield Case(
        id="",
        question=f"Who wrote “{' '.join(paper.title.split())}”?",
        category="metadata",
        papers={paper.id: 2},
        nuggets=tuple(_nugget(name) for name in named),
        evidence=(Evidence(paper.id, "; ".join(paper.authors), "authors"),),
        paraphrase=", ".join(paper.authors),
        wrong=("It was written by somebody else.",),
        notes="Drafted by code from the bibliography.",
    )


def _nugget(words: str) -> Nugget:
    return Nugget((r"\s+".join(re.escape(word) for word in plain(words).split()),))


def _case(paper: Paper, sentence: str, category: str, question: str, **values: object) -> Case:
    return Case(
        id="",
        question=question,
        category=category,
        papers={paper.id: 2},
        evidence=(Evidence(paper.id, sentence),),
        **values,  # type: ignore[arg-type]
    )
