"""From a model's text, as it streams, to drafted sentences with their labels.

A sentence is handed on when the next one has begun, so no marker, formula or link is ever cut. Text is looked at only
where it has white space: the same reply gives the same pieces however it is cut into chunks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

from rag_assistant.drafts import Draft, Frame, Label, Missing, Piece, Refusal
from rag_assistant.evidence import Evidence
from rag_assistant.grounding.attribution import quoted, resolve
from rag_assistant.grounding.denials import denied_part
from rag_assistant.grounding.json_reply import may_be_json, unpacked
from rag_assistant.grounding.markers import OPEN_MARKER, without_markers
from rag_assistant.sentences import protected_spans, sentence_spans

MAX_SENTENCE = 4000
"""Characters after which text without an end of sentence is handed on as it is."""

SENTINEL = "NOT_IN_ABSTRACTS"
_SENTINEL = re.compile(r"NOT(?:\\?_|[ -])IN(?:\\?_|[ -])ABSTRACTS?|(?i:\bnot\\?_in\\?_(?:the\\?_)?abstracts?\b)")
_THINK = re.compile(r"<(?P<close>/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_LIST_MARK = re.compile(r"(?:[-*\u2022]|\d{1,2}[.)])\s+")
_HEADING = re.compile(r"#{1,6}\s+")
_LEAD_IN = re.compile(r"\*{0,2}answer:\*{0,2}\s*", re.IGNORECASE)
_NO_STATEMENT = re.compile(r"\W*(?:sources?|references?|citations?|labels?)?\W*", re.IGNORECASE)
_NOTES = re.compile(
    r"\W*(?:references|sources|citations|footnotes|notes|bibliography)\b[^\w\n]*(?:\n|\Z)", re.IGNORECASE
)
_OPENER = re.compile(r"(?<!\\)(?:\$|`)|\\[(\[]")
_STOP = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\n]")
_LONGEST_FORMULA = 400


@dataclass(slots=True)
class Reply:
    """A reply on its way. Give each chunk to :meth:`add`, then call :meth:`finish`.

    Attributes:
        evidence: What was sent: labels are looked up in it.
        question: What was asked: only parts of it can be told to be missing.
        empty: Whether nothing has come but white space, reasoning, and words that say nothing, such as a heading.
    """

    evidence: Evidence
    question: str
    empty: bool = True
    _pending: str = ""
    _text: str = ""
    _thinking: bool = False
    _refused: bool = False
    _notes: bool = False
    _denied: list[str] = field(default_factory=list)
    _told: set[str] = field(default_factory=set)
    _bare: list[Label] = field(default_factory=list)

    def add(self, chunk: str) -> Iterator[Piece]:
        """Takes the next chunk in and yields the sentences that are finished by it."""
        self._pending += chunk
        while match := re.search(r"\s", self._pending):
            word, self._pending = self._pending[: match.end()], self._pending[match.end() :]
            self._take(word)
            yield from self._sentences(final=False)

    def finish(self, *, truncated: bool = False) -> Iterator[Piece]:
        """Yields what is left, and the refusal if the reply was one.

        Args:
            truncated: Whether the model was stopped in the middle: then an unfinished last sentence is left out.
        """
        self._take(self._pending)
        self._pending = ""
        if truncated:
            self._text = _without_unfinished(self._text, len(self.evidence.papers))
        yield from self._sentences(final=True)
        if not self._told and not self._refused and not self._denied:
            sentences = quoted(self._bare, self.evidence)
            yield from sentences
            self._refused = bool(self._bare) and not sentences
            self.empty = not self._bare
        if self._refused or (self._denied and not self._told):
            yield Refusal("not_in_abstracts")
        else:
            yield from (Missing(part) for part in dict.fromkeys(self._denied))

    def _take(self, word: str) -> None:
        """Adds a word, with reasoning left out."""
        kept, start = "", 0
        for tag in _THINK.finditer(word):
            if tag["close"]:
                if not self._thinking:  # the opening tag was part of the prompt
                    self._text, kept = "", ""
                    if not self._told:
                        self._denied, self._refused = [], False
                self._thinking = False
            else:
                kept += "" if self._thinking else word[start : tag.start()]
                self._thinking = True
            start = tag.end()
        if not self._thinking:
            kept += word[start:]
        visible = "".join(c for c in kept if c in "\n\t" or unicodedata.category(c)[0] != "C")
        self.empty = self.empty and not visible.strip()
        self._text += visible

    def _sentences(self, *, final: bool) -> Iterator[Piece]:
        if not self._told and not self._denied and may_be_json(self._text):
            if not final:
                return
            self._text = unpacked(self._text, SENTINEL)
        text = self._text
        if not final and len(text) <= MAX_SENTENCE and not _STOP.search(text):
            return
        if not final and (open_marker := OPEN_MARKER.search(text.rstrip())):
            text = text[: open_marker.start()]
        clean = without_markers(text, len(self.evidence.papers))
        spans = sentence_spans(clean.text)
        ready = len(spans) if final or len(text) > MAX_SENTENCE else len(spans) - 1
        if final and not spans:
            self._bare += [label for *_, found in clean.places for label in found]
        if ready < 1 or (not final and len(text) <= MAX_SENTENCE and _open_formula(clean.text, spans[ready - 1][1])):
            return
        labels, consumed = clean.assigned(spans, ready)
        self._text = self._text[consumed:]
        done = 0
        for (start, end), found in zip(spans[:ready], labels, strict=True):
            yield from self._sentence(clean.text[start:end], clean.text[done:start], found)
            done = end

    def _sentence(self, sentence: str, gap: str, labels: list[Label]) -> Iterator[Piece]:
        if self._refused or self._notes:
            return
        if self._told and "\n" in gap and (sentence.startswith(":") or _NOTES.match(sentence)):
            self._notes = True  # a list of what was cited follows: markers say that
            return
        if (heading := _HEADING.match(sentence)) and not labels:
            return  # it tells nothing, and what it may claim has no citation
        sentence = sentence[heading.end() :] if heading else sentence
        mark = ""
        if (listed := _LIST_MARK.match(sentence)) and ("\n" in gap or not self._told):
            mark, sentence = f"{listed[0].strip()} ", sentence[listed.end() :]
        if not self._told and (lead_in := _LEAD_IN.match(sentence)):
            sentence = sentence[lead_in.end() :]
        if _SENTINEL.search(sentence):
            self._refused = not self._told
            return
        if _NO_STATEMENT.fullmatch(sentence):
            self._bare += labels
            return
        if sentence.casefold() in self._told:
            return
        part = denied_part(sentence, self.question)
        if part is not None:
            self._denied.append(part)
            return
        lines = min(gap.count("\n"), 2) if self._told else 0
        if lines or mark:
            yield Frame("\n" * lines + mark)
        self._told.add(sentence.casefold())
        yield Draft(sentence, resolve(sentence, tuple(dict.fromkeys(labels)), self.evidence))


def _open_formula(text: str, end: int) -> bool:
    """Whether something that opens a formula or code before ``end`` may still be closed by text to come."""
    protected = protected_spans(text)
    return any(
        match.start() < end
        and len(text) - match.start() < _LONGEST_FORMULA
        and not any(a <= match.start() < b for a, b in protected)
        and not text[match.end() : match.end() + 1].isspace()
        for match in _OPENER.finditer(text)
    )


def _without_unfinished(text: str, papers: int) -> str:
    clean = without_markers(text, papers)
    spans = sentence_spans(clean.text)
    if not spans or re.search(r"[.!?\u2026][\"'\u201d\u2019)\]*_$]*$", clean.text[: spans[-1][1]]):
        return text
    _, consumed = clean.assigned(spans, len(spans) - 1)
    return text[:consumed]
