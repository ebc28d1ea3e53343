"""One line of prose as safe HTML: mathematics, emphasis, addresses, code, citation markers and highlighted spans.

Everything that comes from a paper, a model or a user is escaped; all tags are this module's own. What looks like HTML
or a Markdown image stays visible as text. Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape as _escape
from itertools import pairwise

from rag_assistant.render import clean, safe_url
from rag_assistant.sentences import MONEY, protected_spans

Linker = Callable[[str], str]
"""Turns the text of a marker, such as ``[1, 2]``, into HTML, or returns an empty string to leave it as text."""

_DELIMITERS = (("$$", "$$", True), ("\\[", "\\]", True), ("\\(", "\\)", False), ("$", "$", False))
_EMPHASIS = (
    (re.compile(r"(\*\*)(?=\S)[^*]+?(?<=\S)(\*\*)"), "strong"),
    (re.compile(r"(?<![\w*\\])(\*)(?=[^\s*])[^*\n]*?(?<=[^\s*])(\*)(?![\w*])"), "em"),
    (re.compile(r"(?<![\w\\])(_)(?=[^\s_])[^_\n]*?(?<=[^\s_])(_)(?!\w)"), "em"),
    (re.compile(r"(\\(?:emph|textit)\{)[^{}]*(\})"), "em"),
    (re.compile(r"(\\textbf\{)[^{}]*(\})"), "strong"),
    (re.compile(r"(\\texttt\{)[^{}]*(\})"), "code"),
)
_ESCAPED = re.compile(r"\\(?=[$%&#_{}])")
_MARKER = re.compile(r"\[\d+(?:\s*[,;]\s*\d+)*\]")
_NAMED_LINK = re.compile(r"\[([^\[\]]+)\]\((\S+)\)")
_UNCLOSED = re.compile(r"(?:\$\$?(?=[^\s\d$])|\\[(\[])")
_LONGEST_FORMULA = 400
_TAIL = re.compile(r"(?:\*\*?|_)(?=\S)[^*_\s]*\Z")


@dataclass(frozen=True, slots=True)
class Mark:
    """A span to highlight, with the number that its ``<mark>`` carries in ``data-q``."""

    start: int
    end: int
    number: int


@dataclass(frozen=True, slots=True)
class _TextRun:
    text: str
    styles: tuple[str, ...]
    mark: int | None


def escape(text: str) -> str:
    """Text for HTML content and for attributes in double quotes, without control characters."""
    return _escape(clean(text), quote=True)


def inline(text: str, *, marks: Sequence[Mark] = (), link: Linker | None = None, addresses: bool = False) -> str:
    """Prose as HTML.

    Formulas become ``<span class="math" data-tex="…" data-display="0|1">`` around their source, for KaTeX to render;
    without it a reader sees the source. A highlight that would cut a formula or an address covers all of it.

    Args:
        text: One or more lines; line feeds stay line feeds.
        marks: Spans to highlight, not overlapping.
        link: Turns citation markers into HTML; ``None`` leaves them as text.
        addresses: Whether web addresses, and Markdown links to them, become links: for text of papers, not for text
            that a model or a user wrote.
    """
    text = text.translate(_SAME_LENGTH)
    atoms = _atoms(text, link, addresses)
    hidden, styled = _emphasis(text, [(start, end) for start, end, _ in atoms])
    covered = {position for start, end, _ in atoms for position in range(start, end)}
    hidden += [m.span() for m in _ESCAPED.finditer(text) if m.start() not in covered]
    cuts = {0, len(text)}
    for start, end, _ in atoms:
        cuts |= {start, end}
    for start, end in hidden:
        cuts |= {start, end}
    inner = covered - {start for start, _, _ in atoms}
    cuts |= {place for mark in marks for place in (mark.start, mark.end) if 0 <= place <= len(text)} - inner
    made = {start: html for start, _, html in atoms}
    gone = {position for start, end in hidden for position in range(start, end)}
    return "".join(_joined(_runs(text, sorted(cuts), made, gone, styled, marks)))


def without_emphasis(text: str) -> str:
    """The text without marks of emphasis, and without backslashes before characters special to TeX."""
    opaque = protected_spans(text)
    hidden, _ = _emphasis(text, opaque)
    covered = {position for start, end in opaque for position in range(start, end)}
    hidden += [match.span() for match in _ESCAPED.finditer(text) if match.start() not in covered]
    gone = {position for start, end in hidden for position in range(start, end)}
    return "".join(character for at, character in enumerate(text) if at not in gone)


def stable_prefix(text: str) -> str:
    """The part of an incomplete text that won't look different once more of it is there.

    A formula or emphasis that was opened but not closed is held back, so that nobody sees raw TeX for a moment.
    """
    masked = list(text)
    for start, end in protected_spans(text):
        masked[start:end] = " " * (end - start)
    rest = "".join(masked)
    for opening in _UNCLOSED.finditer(rest, max(0, len(rest) - _LONGEST_FORMULA)):
        if "\n\n" not in rest[opening.start() :]:
            return text[: opening.start()]
    if rest.endswith(("$", "\\")):
        return text[:-1]
    tail = _TAIL.search(rest)
    return text[: tail.start()] if tail else text


_SAME_LENGTH = {0x0D: " "}  # offsets must stay: a carriage return becomes a space, not nothing


def _atoms(text: str, link: Linker | None, addresses: bool) -> list[tuple[int, int, str]]:
    """Spans that are shown whole, with their HTML, in order."""
    atoms: list[tuple[int, int, str]] = []
    for start, end in protected_spans(text):
        html = _atom(text[start:end], addresses)
        if html:
            atoms.append((start, end, html))
    if link is not None:
        covered = {position for start, end, _ in atoms for position in range(start, end)}
        for marker in _MARKER.finditer(text):
            html = link(marker[0]) if marker.start() not in covered else ""
            if html:
                atoms.append((*marker.span(), html))
    return sorted(atoms)


def _atom(source: str, addresses: bool) -> str:
    for left, right, display in _DELIMITERS:
        if source.startswith(left) and source.endswith(right) and len(source) > len(left) + len(right):
            if left == "$" and MONEY.fullmatch(source):
                return ""
            tex = escape(source[len(left) : -len(right)])
            return f'<span class="math" data-tex="{tex}" data-display="{int(display)}">{escape(source)}</span>'
    if source.startswith("`"):
        return f"<code>{escape(source[1:-1])}</code>"
    if not addresses:
        return ""
    named = _NAMED_LINK.fullmatch(source)
    name, url = (named[1], named[2]) if named else (source, source)
    if url.startswith(("http://", "https://")) and safe_url(url):
        return f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer">{escape(name)}</a>'
    return ""


def _emphasis(text: str, opaque: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], list[tuple[int, int, str]]]:
    """The spans of the delimiters, which are not shown, and the spans with their tags."""
    masked = list(text)
    for start, end in opaque:
        masked[start:end] = "x" * (end - start)
    for escaped in re.finditer(r"\\[*_]", text):
        masked[escaped.start() : escaped.end()] = "xx"
    hidden: list[tuple[int, int]] = []
    styled: list[tuple[int, int, str]] = []
    for pattern, tag in _EMPHASIS:
        for found in pattern.finditer("".join(masked)):
            hidden += [found.span(1), found.span(2)]
            styled.append((found.end(1), found.start(2), tag))
            for start, end in (found.span(1), found.span(2)):
                masked[start:end] = "\0" * (end - start)
    return hidden, styled


def _runs(
    text: str,
    cuts: Sequence[int],
    made: dict[int, str],
    gone: set[int],
    styled: Sequence[tuple[int, int, str]],
    marks: Sequence[Mark],
) -> Iterator[_TextRun]:
    waiting = sorted(styled, reverse=True)
    active: list[tuple[int, int, str]] = []
    for start, end in pairwise(cuts):
        while waiting and waiting[-1][0] <= start:
            active.append(waiting.pop())
        active = [style for style in active if start < style[1]]
        if start in gone:
            continue
        styles = tuple(tag for _, _, tag in active)
        mark = next((mark.number for mark in marks if mark.start < end and start < mark.end), None)
        yield _TextRun(made.get(start) or escape(text[start:end]), styles, mark)


def _joined(runs: Iterator[_TextRun]) -> Iterator[str]:
    open_mark: int | None = None
    for run in runs:
        if run.mark != open_mark:
            if open_mark is not None:
                yield "</mark>"
            if run.mark is not None:
                yield f'<mark data-q="{run.mark}">'
            open_mark = run.mark
        html = run.text
        for tag in reversed(run.styles):
            html = f"<{tag}>{html}</{tag}>"
        yield html
    if open_mark is not None:
        yield "</mark>"
