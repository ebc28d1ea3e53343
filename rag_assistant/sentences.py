"""Sentence boundaries with exact character offsets, for the prose of abstracts.

Rule-based rather than learned: an abstract mixes prose with TeX, links and reference-like abbreviations, which trained
splitters cut in half, and every boundary has to be explainable and reproducible on any machine.
"""

from __future__ import annotations

import re
from bisect import bisect_right

SPLITTER_VERSION = 2
"""Raised whenever the same text would be split differently; an index remembers the version it was built with."""

Span = tuple[int, int]
"""Half-open character offsets ``[start, end)`` into a text."""

# The openings of protected spans; an escaped character, matched first, opens none, as in "\$5".
_OPENING = re.compile(
    r"""\\[^(\[] | (?P<round>\\\() | (?P<square>\\\[) | (?P<display>\$\$) | (?P<inline>\$)
      | (?P<link>!?\[) | (?P<address>https?://|www\.) | (?P<code>`)""",
    re.VERBOSE,
)
# Whole spans. The search for an end stops at the next character that opens the same kind, so that a text full of
# openings still takes linear time; the two kinds that can't stop there are given up after one failure, which is final.
_WHOLE = {
    "display": re.compile(r"\$\$(?:[^$\\]|\\.)+\$\$", re.DOTALL),
    # "$5 and $6" is money: no white space within the dollars, and no digit after the second.
    "inline": re.compile(r"\$(?![\s$])(?:[^$\\\n]|\\[^\n]|\\?\n(?!\s*\n))*(?<!\s)\$(?!\d)"),
    "round": re.compile(r"\\\((?:[^\\]|\\(?!\)).)*+\\\)", re.DOTALL),
    "square": re.compile(r"\\\[(?:[^\\]|\\(?!\]).)*+\\\]", re.DOTALL),
    "link": re.compile(r"!?\[[^\[\]\n]*\]\([^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*+\)"),  # [text](address)
    # Without the punctuation of the sentence around it.
    "address": re.compile(r"(?:https?://|www\.)[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}*_]"),
    # LaTeX quotes, ``so'' or `so', open with the same mark: code neither follows another mark nor ends after a space.
    "code": re.compile(r"(?<!`)`(?!\s)[^`\n]+(?<!\s)`(?!`)"),
}
_FINAL_FAILURES = frozenset({"round", "square"})

MONEY = re.compile(r"\$\d[\d.,]*[^$\\^_={}]*\s[a-z]{2,}[^$\\^_={}]*\$", re.DOTALL)
"""Text between dollars that is no formula, as in "$5 a token against 6$": it starts with a number and goes on in words,
without anything that only TeX has."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A full stop after one of these does not end a sentence, whatever follows.
_NEVER_FINAL = _words(
    """
    e.g i.e a.k.a cf viz vs v.s w.r.t s.t w.l.o.g approx resp fig figs eq eqs eqn sec sect ch chap tab thm def prop lem
    cor app appx ref refs no nos vol vols pp ed eds dr prof mr mrs ms st mt jr sr ca incl est dept univ
    """
)
# These may end a sentence or be inside one: the word after them decides.
_MAYBE_FINAL = _words("al inc ltd corp co u.s u.k e.u a.m p.m ph.d i.i.d")
_OPENERS = _words(
    """
    a an the we our this these those that it its in to by for from with on at as while however moreover furthermore
    finally first second third additionally also although because since when where if here there they their unlike thus
    hence therefore then specifically consequently despite using given such both each many most more recent existing
    empirically theoretically experiments results code codes extensive comprehensive experimental
    """
)

_CANDIDATE = re.compile(
    r"""(?:[.!?\u2026]+|[\u3002\uff01\uff1f]+)   # the stop itself
        (?:["'\u201d\u2019)\]}*_]|''|\$(?=\s))*  # quotes, brackets, emphasis or a formula that close after it
    """,
    re.VERBOSE,
)
_BLOCK = re.compile(r"\n[ \t]*\n\s*|\n[ \t]*(?=[-*\u2022](?:\s|\Z))")
_WORD_BEFORE = re.compile(r"[^\W_](?:[\w.\-]*[^\W_])?$")
_ENUMERATOR = re.compile(r"\(?(?:[ivxlc]{1,5}|[a-z]|\d{1,2})\)(?:\s|\Z)")
_LOWER_NAME = re.compile(r"[a-z]{1,2}[A-Z]|[\u03b1-\u03c9](?![\u03b1-\u03c9])")  # "iPhone users", "\u03b1-divergence"
_ENDS_LEAD_IN = re.compile(r"[:;]\s*$")
_GLUED = re.compile(r"(?<=[a-z)]{3})\.(?=([A-Z][a-z]*)(?![^\s,]))")  # "performance.We": the space was lost
_NOT_SPACE = re.compile(r"\S")
_LOOKAHEAD = 80  # characters that decide whether a sentence begins; more than any word or run of marks needs
_LEADING_MARKUP = re.compile(r"[\"'\u201c\u2018`(\[{*_\u00bf\u00a1]*")


def protected_spans(text: str) -> list[Span]:
    """The formulas, links and code in ``text``, as spans that nothing may cut, in order and without overlap."""
    spans: list[Span] = []
    given_up: set[str] = set()
    opening = _OPENING.search(text)
    while opening is not None:
        kind, resume = opening.lastgroup, opening.end()
        if kind is not None and kind not in given_up:
            whole = _WHOLE[kind].match(text, opening.start())
            if whole is not None:
                spans.append(whole.span())
                resume = whole.end()
            elif kind == "display":
                resume = opening.start() + 1  # the second dollar may open an inline formula
            elif kind in _FINAL_FAILURES:
                given_up.add(kind)
        opening = _OPENING.search(text, resume)
    return spans


def sentence_spans(text: str) -> list[Span]:
    """Splits ``text`` into sentences.

    The spans are in order, don't overlap, begin and end on characters other than white space, and leave out nothing but
    white space. No boundary is inside a formula, a link or inline code. A text without a final full stop still ends in
    a sentence; an empty or blank text has none.
    """
    cuts = sorted(_cuts(text))
    spans: list[Span] = []
    start = 0
    for cut in [*cuts, len(text)]:
        span = _strip(text, start, cut)
        if span is not None:
            spans.append(span)
        start = cut
    return _join_bare_numbers(text, spans)


def _strip(text: str, start: int, end: int) -> Span | None:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    right = len(piece.rstrip())
    return None if left >= right else (start + left, start + right)


def _join_bare_numbers(text: str, spans: list[Span]) -> list[Span]:
    """ "1. We show" is one sentence: a number alone belongs to what it numbers."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and re.fullmatch(r"\(?(?:\d{1,2}|[ivxIVX]{1,4}|[a-zA-Z])[.)]", text[joined[-1][0] : joined[-1][1]]):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _cuts(text: str) -> set[int]:
    protected = protected_spans(text)
    starts = [start for start, _ in protected]

    def inside(position: int) -> bool:
        index = bisect_right(starts, position) - 1
        return index >= 0 and protected[index][0] < position < protected[index][1]

    cuts = {match.end() for match in _BLOCK.finditer(text) if not inside(match.start()) and not inside(match.end())}
    for match in _CANDIDATE.finditer(text):
        cut = match.end()
        if inside(cut) or (inside(match.start()) and not text[match.start() : cut].endswith("$")):
            continue
        is_cjk = match[0][0] in "\u3002\uff01\uff1f"  # no space follows these
        if is_cjk or (cut < len(text) and text[cut].isspace() and _ends_sentence(text, match)):
            cuts.add(cut)
    glued = (match for match in _GLUED.finditer(text) if match[1].lower() in _OPENERS)
    cuts.update(match.end() for match in glued if not inside(match.end()))
    return cuts


def _ends_sentence(text: str, stop: re.Match[str]) -> bool:
    follows = _NOT_SPACE.search(text, stop.end())
    if follows is None:
        return True
    after = text[follows.start() : follows.start() + _LOOKAHEAD]
    if not _may_start(after):
        return False
    if stop[0][0] != "." or stop[0].startswith(".."):
        return True
    before = _WORD_BEFORE.search(text, max(0, stop.start() - 40), stop.start())
    if before is None:
        return True
    if re.fullmatch(r"\d{1,2}", before[0]) and _ENDS_LEAD_IN.search(text[max(0, before.start() - 9) : before.start()]):
        return False  # "three parts: 1. A decoder": the number belongs to what follows
    word = before[0].lower()
    if before[0].isupper() and before[0].isalpha() and len(word) > 1:
        return True  # "CO" and "SR" are acronyms, "co" and "sr" abbreviations
    if word in _NEVER_FINAL:
        # "no" and "st" are words too: as words they end a sentence only if what follows opens one.
        return word in {"no", "app", "def"} and not after[0].isdigit() and _opens(after)
    if word in _MAYBE_FINAL:
        return _opens(after)
    is_initial = len(before[0]) == 1 and before[0].isupper() and text[before.start() - 1 : before.start()] in {" ", ""}
    return not is_initial or _opens(after)


def _may_start(after: str) -> bool:
    if _ENUMERATOR.match(after):
        return True
    head = after[_LEADING_MARKUP.match(after).end() :]  # type: ignore[union-attr]
    if not head:
        return True
    return (not head[0].islower() and head[0] not in ",;:.%)]}") or bool(_LOWER_NAME.match(head))


def _opens(after: str) -> bool:
    word = re.match(r"\W*([^\W\d_]+)", after)
    return word is not None and word[1].lower() in _OPENERS and word[1][0].isupper()
