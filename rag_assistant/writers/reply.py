"""From a model's text, as it streams, to drafted sentences with their labels.

A sentence is passed on once the next one has begun, so no marker, formula or link is ever cut. Text is examined only at
white space, so the same reply gives the same drafts however it is cut into chunks. Until then, as much of the sentence
as won't change any more is passed on as a :class:`PartialSentence`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

from rag_assistant.drafts import Draft, Frame, Label, Missing, PartialSentence, Piece, Refusal, Withdrawn
from rag_assistant.escapes import without_escapes
from rag_assistant.evidence.base import QuestionEvidence
from rag_assistant.grounding.attribution import quoted, resolve
from rag_assistant.models.reasoning import TAG
from rag_assistant.sentences import sentence_spans
from rag_assistant.writers.denials import denied_part, may_deny
from rag_assistant.writers.json_reply import may_be_json, unpacked
from rag_assistant.writers.markers import OPEN_MARKER, without_markers
from rag_assistant.writers.partial import may_match, open_at
from rag_assistant.writers.stable_prefix import open_formula, partial_word, stable_end

MAX_SENTENCE = 2000
"""Characters after which text without an end of sentence is passed on as it is."""
LONGEST_BEGINNING = 1000
"""No more of a sentence longer than this is shown before its end: each word means examining all of it again."""

SENTINEL = "NOT_IN_ABSTRACTS"
_SENTINEL = re.compile(r"NOT(?:\\?_|[ -])IN(?:\\?_|[ -])ABSTRACTS?|(?i:\bnot\\?_in\\?_(?:the\\?_)?abstracts?\b)")
_LIST_MARK = re.compile(r"(?:[-*\u2022]|\d{1,2}[.)])\s+")
_HEADING = re.compile(r"#{1,6}\s+")
_LEAD_IN = re.compile(r"\*{0,2}answer:\*{0,2}\s*", re.IGNORECASE)
_NO_STATEMENT = re.compile(r"\W*(?:sources?|references?|citations?|labels?)?\W*", re.IGNORECASE)
_NOTES = re.compile(
    r"\W*(?:references|sources|citations|footnotes|notes|bibliography)\b[^\w\n]*(?:\n|\Z)", re.IGNORECASE
)
_STOP = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\n]")


@dataclass(slots=True)
class Reply:
    """A reply that is arriving. Give each chunk to :meth:`add`, then call :meth:`finish`.

    Attributes:
        evidence: What was sent: labels are looked up in it.
        question: What was asked: only parts of it can be reported missing.
        empty: Whether nothing has arrived but white space, reasoning, and words that say nothing, such as a heading.
    """

    evidence: QuestionEvidence
    question: str
    empty: bool = True
    _pending: str = ""
    _text: str = ""
    _thinking: bool = False
    _refused: bool = False
    _notes: bool = False
    _denied: list[str] = field(default_factory=list)
    _written: set[str] = field(default_factory=set)
    _bare: list[Label] = field(default_factory=list)
    _shown: str = ""
    _reasoned: tuple[list[str], set[str], bool] | None = None

    def add(self, chunk: str) -> Iterator[Piece]:
        """Adds the next chunk, and yields the sentences that it completes and how the next one begins."""
        *words, self._pending = re.split(r"(?<=\s)", self._pending + chunk)
        for word in words:
            yield from self._take(word)
            yield from self._sentences(final=False)
        yield from self._beginning()

    def finish(self, *, truncated: bool = False, broken: bool = False) -> Iterator[Piece]:
        """Yields what is left, and the refusal if the reply was one.

        Args:
            truncated: Whether the model was stopped midway: then an unfinished last sentence is left out.
            broken: Whether more was to come: then reasoning with nothing after it isn't the answer.
        """
        yield from self._take(self._pending)
        self._pending = ""
        if truncated:
            self._text = _without_unfinished(self._text, len(self.evidence.papers))
        yield from self._sentences(final=True)
        answered = self._written or self._refused or self._denied or self._bare
        if self._reasoned is not None and not answered and not broken:
            self._denied, self._written, self._refused = self._reasoned  # nothing came after it: it was the answer
        if not self._written and not self._refused and not self._denied:
            sentences = quoted(self._bare, self.evidence)
            yield from self._withdrawal()
            yield from sentences
            self._refused = bool(self._bare) and not sentences
            self.empty = not self._bare
        if self._refused or (self._denied and not self._written):
            yield Refusal("not_in_abstracts")
        else:
            yield from (Missing(part) for part in dict.fromkeys(self._denied))

    def _take(self, word: str) -> Iterator[Piece]:
        """Adds a word, leaving out reasoning; text before a closing tag without an opening one was reasoning too."""
        start = 0
        for tag in TAG.finditer(word):
            if not self._thinking:
                self._append(word[start : tag.start()])
                if tag["close"]:  # the opening tag was part of the prompt
                    yield from self._sentences(final=True)
                    came = (self._denied, self._written, self._refused)
                    self._reasoned = self._reasoned or (came if any(came) else None)
                    self._denied, self._written, self._bare, self._text = [], set(), [], ""
                    self._refused = self._notes = False
            self._thinking = not tag["close"]
            start = tag.end()
        if not self._thinking:
            self._append(word[start:])

    def _append(self, text: str) -> None:
        visible = "".join(c for c in without_escapes(text) if c in "\n\t" or unicodedata.category(c)[0] != "C")
        self.empty = self.empty and not visible.strip()
        self._text += visible

    def _withdrawal(self) -> Iterator[Piece]:
        """Takes the reasoning back before the first piece of the answer after it."""
        if self._reasoned is not None:
            self._reasoned = None
            yield Withdrawn()

    def _sentences(self, *, final: bool) -> Iterator[Piece]:
        if not self._written and not self._denied and may_be_json(self._text):
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
        if ready < 1:
            return
        if not final and len(text) <= MAX_SENTENCE and open_formula(clean.text) < spans[ready - 1][1]:
            return
        labels, consumed = clean.assigned(spans, ready)
        self._text = self._text[consumed:]
        done = 0
        for (start, end), found in zip(spans[:ready], labels, strict=True):
            yield from self._sentence(clean.text[start:end], clean.text[done:start], found)
            done = end

    def _sentence(self, sentence: str, gap: str, labels: list[Label]) -> Iterator[Piece]:
        self._shown = ""
        if self._refused or self._notes:
            return
        if self._written and "\n" in gap and (sentence.startswith(":") or _NOTES.match(sentence)):
            self._notes = True  # a list of references follows, which the markers make redundant
            return
        heading = _HEADING.match(sentence)
        if heading and not labels:
            return  # it says nothing, and whatever it may claim has no citation
        frame, sentence = self._parted(sentence[heading.end() :] if heading else sentence, gap)
        if _SENTINEL.search(sentence):
            if not self._written:
                yield from self._withdrawal()
                self._refused = True
            return
        if _NO_STATEMENT.fullmatch(sentence):
            self._bare += labels
            return
        if sentence.casefold() in self._written:
            return
        yield from self._withdrawal()
        part = denied_part(sentence, self.question)
        if part is not None:
            self._denied.append(part)
            return
        if frame:
            yield Frame(frame)
        self._written.add(sentence.casefold())
        yield Draft(sentence, resolve(sentence, tuple(dict.fromkeys(labels)), self.evidence))

    def _parted(self, sentence: str, gap: str) -> tuple[str, str]:
        """The frame text before a sentence, and the sentence without its list mark and lead-in."""
        mark = ""
        if (listed := _LIST_MARK.match(sentence)) and ("\n" in gap or not self._written):
            mark, sentence = f"{listed[0].strip()} ", sentence[listed.end() :]
        if not self._written and (lead_in := _LEAD_IN.match(sentence)):
            sentence = sentence[lead_in.end() :]
        return "\n" * (min(gap.count("\n"), 2) if self._written else 0) + mark, sentence

    def _beginning(self) -> Iterator[Piece]:
        """How the next sentence begins, if more of it is certain than was passed on before."""
        if self._thinking or self._refused or self._notes or self._reasoned is not None:
            return
        if len(self._text) > LONGEST_BEGINNING:
            return
        text = self._text + partial_word(self._pending)
        if not self._written and not self._denied and may_be_json(text):
            return
        papers = len(self.evidence.papers)
        clean = without_markers(text[: stable_end(text, papers)], papers).text
        for start, end in sentence_spans(clean)[:1]:
            frame, sentence = self._parted(clean[start:end], clean[:start])
            sentence = sentence[: open_at(_SENTINEL, sentence)].rstrip()
            if len(sentence) > len(self._shown) and not self._may_vanish(clean[start:end], clean[:start], sentence):
                self._shown = sentence
                yield PartialSentence(sentence, frame)

    def _may_vanish(self, whole: str, gap: str, sentence: str) -> bool:
        """Whether a sentence that begins like this may turn out not to belong to the answer, or to begin elsewhere."""
        if whole.startswith("#") or _SENTINEL.search(sentence):
            return True
        if self._written and "\n" in gap and (whole.startswith(":") or may_match(_NOTES, whole)):
            return True
        if ("\n" in gap or not self._written) and may_match(_LIST_MARK, sentence):
            return True
        if (not self._written and may_match(_LEAD_IN, sentence)) or may_match(_NO_STATEMENT, sentence, whole=True):
            return True
        beginning = sentence.casefold()
        return any(written.startswith(beginning) for written in self._written) or may_deny(sentence, self.question)


def _without_unfinished(text: str, papers: int) -> str:
    clean = without_markers(text, papers)
    spans = sentence_spans(clean.text)
    if not spans or re.search(r"[.!?\u2026][\"'\u201d\u2019)\]*_$]*$", clean.text[: spans[-1][1]]):
        return text
    _, consumed = clean.assigned(spans, len(spans) - 1)
    return text[:consumed]
