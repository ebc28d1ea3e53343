"""The citation markers that models write, and where they are: ``[2.s3]``, ``[2]``, ``[1][2]``, ``[1.s1, 2.s3]``,
``[1-3]``, ``【1】``, ``[^1]``; and, if they are numbers of papers that were sent, ``(1)``, ``¹``, ``<sup>1</sup>``,
"Paper 1". The user sees other numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag_assistant.drafts import Label
from rag_assistant.sentences import protected_spans
from rag_assistant.writers.partial import open_at

_SENTENCE = r"(?:\s*\.\s*s\s*\d{1,4}|\s*,?\s*sentences?\s*\d{1,4})"
_PAPER = r"(?:papers?|sources?|refs?\.?|passages?|labels?|abstracts?)\s*:?\s*"
_ITEM = rf"(?:(?:see|cf\.?)\s+)?(?:{_PAPER})?\^?(?:\d{{1,4}}{_SENTENCE}?|s\s*\d{{1,4}})"
_JOIN = r"\s*(?:[,;&–—-]|\band\b)\s*"
MARKER = re.compile(
    rf"\\?[\[【]\s*(?P<items>{_ITEM}(?:{_JOIN}{_ITEM})*)\s*(?:†[^】\]\n]{{0,40}})?\\?[\]】](?:\(https?://[^\s()]*\))?"
    rf"|[(\{{]\s*(?P<round>(?:(?:see\s+)?\d{{1,4}}{_SENTENCE}|{_PAPER}\d{{1,4}}{_SENTENCE}?)(?:{_JOIN}{_ITEM})*)\s*[)\}}]",
    re.IGNORECASE,
)
_NUMBERS = r"\d{1,2}(?:\s*[,;]\s*\d{1,2})*"
_NOUN = r"(?<![\w-])(?:papers?|sources?)\s"
_HIGH = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_BARE = re.compile(
    rf"(?<=[\w.!?%\"')\u201d]\s)\((?P<round>{_NUMBERS})\)(?=\s*(?:[.!?;,]|\n|$))"
    rf"|<sup>\s*\[?(?P<sup>{_NUMBERS})\]?\s*</sup>"
    rf"|{_NOUN}(?P<named>\d{{1,2}}(?:,? and |\s?&\s?)\d{{1,2}}|{_NUMBERS})(?![\w%]|\.\d)(?::\s)?"
    rf"|(?:(?<=[A-Za-z]{{3}})|(?<=[.,;:!?)\"'\u201d\u2019]))(?P<high>[{_HIGH}]{{1,2}}(?:,\s?[{_HIGH}]{{1,2}})*)(?![\w⁺⁻])",
    re.IGNORECASE,
)
"""What may also be a number or a power: taken for a marker only if all its numbers are numbers of papers."""
_FROM_HIGH = str.maketrans(_HIGH, "0123456789")
OPEN_MARKER = re.compile(r"[\[【(][^\[\]【】()\n]{0,80}$")
"""The end of a text that may become a marker with what comes next."""
_LONGEST_MARKER = 200
_GROWING = re.compile(
    rf"[{_HIGH}]{{1,2}}(?:,\s?[{_HIGH}]{{1,2}})*,?\s*\Z|(?<![\w-])(?:papers?|sources?)\s\d[\d,;&:\s]*(?:and?|a)?\s*\Z",
    re.IGNORECASE,
)
"""A marker at the end of a text that more numbers may extend."""

_PART = re.compile(
    r"(?:(?P<paper>\d{1,4})(?:(?:\s*\.\s*s|\s*,?\s*sentences?)\s*(?P<sentence>\d{1,4}))?|s\s*(?P<alone>\d{1,4}))",
    re.IGNORECASE,
)
_RANGE = re.compile(r"^\s*[–—-]\s*(?:[a-z.]+\s*)?\^?$", re.IGNORECASE)
_MAX_RANGE = 20
_IN_PLACE = re.compile(r"\b(?:in|by|of|from|to|per|and|see|unlike)\s*$", re.IGNORECASE)
_OPENS = re.compile(r"(?:\A|[.!?]\s+|\n)\W*$")


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker at ``[start, end)`` of a text, with the labels that it names, counted from 0, which may not exist.
    ``noun``: whether it is a part of its sentence: "Paper 2"."""

    start: int
    end: int
    labels: tuple[Label, ...]
    noun: bool = False


def markers(text: str, papers: int = 0) -> list[Marker]:
    """The markers of a text in order; brackets in formulas and code don't count, nor do intervals such as ``[0, 1]``.

    Args:
        text: What a model wrote.
        papers: How many papers the model was sent.
    """
    formulas = [(a, b) for a, b in protected_spans(text) if text[a] in "$\\`"]
    found = []
    for match in MARKER.finditer(text):
        # An escaped bracket opens a formula in TeX, unless it holds nothing but a label.
        if any(a < match.end() and match.start() < b and (a, b) != match.span() for a, b in formulas):
            continue
        items = match["items"] or match["round"]
        if re.search(r"(?:^|[\s,;–-])0+(?:$|[\s,;–-])", items):
            continue
        # A footnote's number names no paper: what the sentence rests on is looked up instead.
        labels = () if items.startswith("^") else _labels(items)
        found.append(Marker(match.start(), match.end(), labels))
    for match in _BARE.finditer(text):
        if match["named"] and any(marker.start <= match.start() < marker.end for marker in found):
            continue  # "[paper 2]" is a marker already
        digits = (match["round"] or match["sup"] or match["named"] or match["high"]).translate(_FROM_HIGH)
        numbers = [int(number) for number in re.findall(r"\d+", digits)]
        in_formula = any(a < match.end() and match.start() < b for a, b in formulas)
        if not in_formula and all(1 <= number <= papers for number in numbers):
            found = [marker for marker in found if marker.end <= match.start() or match.end() <= marker.start]
            noun = bool(match["named"]) and not match[0].endswith((":", " "))
            labels = tuple(Label(number - 1) for number in numbers)
            found.append(Marker(match.start(), match.end(), labels, noun))
    return sorted(found, key=lambda marker: marker.start)


def open_marker(text: str, papers: int = 0) -> int:
    """Where the end of a text begins that may become a marker with what comes next; its length if there is none."""
    tail = text[-_LONGEST_MARKER:]
    places = [open_at(MARKER, tail)]
    if papers:
        growing = _GROWING.search(tail)
        places += [open_at(_BARE, tail), growing.start() if growing else len(tail)]
    return len(text) - len(tail) + min(places)


@dataclass(frozen=True, slots=True)
class Unmarked:
    """A text whose markers were taken out.

    Attributes:
        text: The text without markers; one that is part of a sentence ("In [2], ...") has become "this paper".
        places: For each marker its position in ``text``, its end in the marked text, and its labels.
        origin: For each character of ``text`` its position in the marked text.
    """

    text: str
    places: tuple[tuple[int, int, tuple[Label, ...]], ...]
    origin: tuple[int, ...]

    def assigned(self, spans: list[tuple[int, int]], ready: int) -> tuple[list[list[Label]], int]:
        """The labels of the first ``ready`` sentences of ``spans``, and where these end in the marked text.

        A marker belongs to the sentence that it is in or follows, or, at the start of a line, to the one it precedes.
        """
        labels: list[list[Label]] = [[] for _ in spans]
        consumed = self.origin[spans[ready - 1][1] - 1] + 1 if ready else 0
        for at, end, found in self.places:
            index = max((i for i, (start, _) in enumerate(spans) if start < at), default=0)
            if index + 1 < len(spans) and at > spans[index][1] and "\n" in self.text[spans[index][1] : at]:
                index += 1
            labels[index] += found
            if index < ready:
                consumed = max(consumed, end)
        return labels[:ready], consumed


def without_markers(text: str, papers: int = 0) -> Unmarked:
    """Takes the markers out of a text, with the spaces before them; ``papers`` as in :func:`markers`."""
    kept: list[str] = []
    origin: list[int] = []
    places = []
    done = 0
    for marker in markers(text, papers):
        piece = text[done : marker.start].rstrip(" \t")
        kept += piece
        origin += range(done, done + len(piece))
        before, after = "".join(kept), text[marker.end :]
        filler = ""
        if marker.noun or _IN_PLACE.search(before) or (_OPENS.search(before) and re.match(r"\s+[a-z]", after)):
            noun = "papers" if len({label.paper for label in marker.labels}) > 1 else "paper"
            filler = f"{'these' if noun == 'papers' else 'this'} {noun}"
            filler = (
                f" {filler}" if before.rstrip("(\n") and not before[-1:].isspace() and before[-1:] != "(" else filler
            )
            filler = filler.replace("th", "Th", 1) if _OPENS.search(before) else filler
        elif before[-1:].isalnum() and after[:1].isalnum():
            filler = " "
        kept += filler
        origin += [marker.start] * len(filler)
        places.append((len(kept), marker.end, marker.labels))
        done = marker.end
    kept += text[done:]
    origin += range(done, len(text))
    return Unmarked("".join(kept), tuple(places), tuple(origin))


def _labels(items: str) -> tuple[Label, ...]:
    labels: list[Label] = []
    end = 0
    for part in _PART.finditer(items):
        if part["alone"]:
            label = Label(labels[-1].paper if labels else -1, int(part["alone"]) - 1)
        else:
            label = Label(int(part["paper"]) - 1, int(part["sentence"]) - 1 if part["sentence"] else None)
        if labels and _RANGE.match(items[end : part.start()]):
            labels += _between(labels[-1], label)
        labels.append(label)
        end = part.end()
    return tuple(dict.fromkeys(labels))


def _between(first: Label, last: Label) -> list[Label]:
    if first.sentence is None and last.sentence is None:
        return [Label(paper) for paper in range(first.paper + 1, min(last.paper, first.paper + _MAX_RANGE))]
    if first.paper == last.paper and first.sentence is not None and last.sentence is not None:
        stop = min(last.sentence, first.sentence + _MAX_RANGE)
        return [Label(first.paper, sentence) for sentence in range(first.sentence + 1, stop)]
    return []
