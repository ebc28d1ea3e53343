"""An Answer as safe HTML fragments, and as Markdown whose markers are links. For the chat UI and eval reports.

Ids in the HTML begin with a prefix, so that one page can show several answers and each marker leads to a source of its
own answer. Works without JavaScript: a marker is a link to its source, with the quoted words as its title.
Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rag_assistant.inline import Linker, Mark, escape, inline
from rag_assistant.render import CLOSEST, byline, one_line, safe_url, to_markdown
from rag_assistant.types import NO_CITATION, Answer, Citation, Paper, Quote, Statement

_BULLET = re.compile(r"\s{0,6}[-*•]\s+(?=\S)")
_NUMBERED = re.compile(r"\s{0,6}\d{1,3}[.)]\s+(?=\S)")
_HEADING = re.compile(r"#{1,6}\s+(?=\S)")
_NUMBER = re.compile(r"\d+")
_WHY = {"unsupported": "Not supported", "uncited": "No source"}
_LONGEST_TITLE = 600


def answer_html(answer: Answer, *, prefix: str = "a", under_way: bool = False) -> str:
    """The answer's text: paragraphs and lists, markers as links, statements without support marked with the reason.

    Args:
        answer: What to show.
        prefix: The prefix of the ids on the page.
        under_way: Whether the answer is incomplete: then the text after its last statement is marked as unchecked.
    """
    segments = _segments(answer)
    checked = max((end for _, end, statement in segments if statement), default=0) if under_way else len(answer.text)
    return _blocks(answer.text, lambda start, end: _line(answer, segments, start, end, prefix, checked))


def sources_html(answer: Answer, *, prefix: str = "a", ask_about: bool = False) -> str:
    """The numbered sources: title, authors, venue, quoted words, and the abstract with these words highlighted.

    Args:
        answer: What to show.
        prefix: As given to :func:`answer_html`.
        ask_about: Whether to add a button that asks about the paper; it carries the paper's id in ``data-paper``.
    """
    return "".join(_source(citation, prefix, ask_about) for citation in answer.citations)


def nearest_html(answer: Answer, *, prefix: str = "a", ask_about: bool = False) -> str:
    """The nearest papers of a refusal, with links and abstracts, and the words that come closest; empty if there are
    none."""
    return "".join(
        _nearest_card(answer, paper, f"{prefix}-n{place}", ask_about)
        for place, paper in enumerate(answer.nearest, start=1)
    )


def _nearest_card(answer: Answer, paper: Paper, card_id: str, ask_about: bool) -> str:
    closest = answer.closest
    if closest is None or closest.paper.id != paper.id:
        return _paper_card(paper, card_id, "", "", ask_about, ())
    quote = closest.quote
    words = (
        f'<p class="by">{CLOSEST}:</p>'
        f'<ul class="quotes"><li data-q="{quote.start}">“{inline(_plain(quote.text), addresses=True)}”</li></ul>'
    )
    return _paper_card(paper, card_id, "", words, ask_about, [Mark(quote.start, quote.end, quote.start)])


def statement_quotes(statement: Statement, citation: Citation) -> tuple[Quote, ...]:
    """The quotes of a citation to which a statement's marker leads: those that the statement rests on, or all of them
    if a statement about the abstract names none."""
    if not statement.quotes:
        return () if statement.basis == "bibliography" else citation.quotes
    spans = {(ref.start, ref.end) for ref in statement.quotes if ref.citation == citation.number}
    return tuple(quote for quote in citation.quotes if (quote.start, quote.end) in spans)


def to_linked_markdown(answer: Answer) -> str:
    """As ``render.to_markdown``, with each marker of a statement as a link to its paper's page."""
    pieces, position = [], 0
    for statement in sorted(answer.statements, key=lambda s: s.start):
        pieces.append(answer.text[position : statement.start])
        pieces.append(_MARKERS.sub(lambda found, s=statement: _linked(found[0], s, answer), statement.text))  # type: ignore[misc]
        position = statement.end
    pieces.append(answer.text[position:])
    plain = to_markdown(answer)
    return plain.replace(answer.text, "".join(pieces), 1) if answer.text else plain


_MARKERS = re.compile(r"\[\d+(?:\s*[,;]\s*\d+)*\](?!\()")


def _linked(marker: str, statement: Statement, answer: Answer) -> str:
    numbers = [int(number) for number in _NUMBER.findall(marker)]
    by_number = {citation.number: citation for citation in answer.citations}
    if not all(number in statement.citations and number in by_number for number in numbers):
        return marker
    links = []
    for number in numbers:
        url = safe_url(by_number[number].paper.url).replace("(", "%28").replace(")", "%29")
        links.append(f"[\\[{number}\\]]({url})" if url else f"\\[{number}\\]")
    return " ".join(links)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _segments(answer: Answer) -> list[tuple[int, int, Statement | None]]:
    """The whole text in order, as statements and the frame text between them."""
    segments: list[tuple[int, int, Statement | None]] = []
    position = 0
    for statement in sorted(answer.statements, key=lambda s: s.start):
        if statement.start < position or statement.end > len(answer.text):
            continue
        if statement.start > position:
            segments.append((position, statement.start, None))
        segments.append((statement.start, statement.end, statement))
        position = statement.end
    if position < len(answer.text):
        segments.append((position, len(answer.text), None))
    return segments


def _line(
    answer: Answer,
    segments: Sequence[tuple[int, int, Statement | None]],
    start: int,
    end: int,
    prefix: str,
    checked: int,
) -> str:
    pieces = []
    for first, last, statement in segments:
        left, right = max(first, start), min(last, end)
        if left >= right:
            continue
        text = answer.text[left:right]
        if statement is None:
            leads = text.endswith(": ") and right < end  # the title before a listed paper's sentence
            shown = f"<strong>{inline(text)}</strong>" if leads else inline(text)
            pieces.append(f'<span class="unchecked">{shown}</span>' if left >= checked else shown)
            continue
        # A supported sentence repeats its paper; in any other an address is the model's own, and not made a link.
        supported = statement.support == "supported"
        body = inline(text, link=_linker(answer, statement, prefix), addresses=supported)
        if supported:
            pieces.append(f'<span class="statement">{body}</span>')
        else:
            why = _why(statement) if right == last else ""
            pieces.append(f'<span class="statement {statement.support}">{body}</span>{why}')
    return "".join(pieces)


def _why(statement: Statement) -> str:
    has_reason = statement.reason and statement.reason != NO_CITATION
    reason = f": {one_line(statement.reason)}" if has_reason else ""
    return f' <span class="why">{escape(_WHY[statement.support] + reason)}</span>'


def _linker(answer: Answer, statement: Statement, prefix: str) -> Linker:
    by_number = {citation.number: citation for citation in answer.citations}

    def link(marker: str) -> str:
        numbers = [int(number) for number in _NUMBER.findall(marker)]
        if not all(number in statement.citations and number in by_number for number in numbers):
            return ""
        return "".join(_marker(by_number[number], statement, prefix) for number in numbers)

    return link


def _marker(citation: Citation, statement: Statement, prefix: str) -> str:
    quotes = statement_quotes(statement, citation)
    title = one_line(citation.paper.title)
    quoted = " … ".join(f"“{one_line(quote.text)}”" for quote in quotes) or byline(citation.paper)
    return (
        f'<a class="cite" href="#{prefix}-s{citation.number}" data-q="{" ".join(str(quote.start) for quote in quotes)}"'
        f' title="{escape(quoted[:_LONGEST_TITLE])}"'
        f' aria-label="Source {citation.number}: {escape(title)}">[{citation.number}]</a>'
    )


def _blocks(text: str, line: Callable[[int, int], str]) -> str:
    """Paragraphs, bulleted and numbered lists and headings, line by line."""
    html: list[str] = []
    paragraph: list[str] = []
    kind = ""

    def close() -> None:
        nonlocal kind
        if paragraph:
            html.append(f"<p>{'<br>'.join(paragraph)}</p>")
            paragraph.clear()
        if kind:
            html.append(f"</{kind}>")
        kind = ""

    for found in re.finditer(r"[^\n]+|\n(?=\n)", text):
        start, end = found.span()
        if not found[0].strip():
            close()
            continue
        bullet, numbered, heading = (p.match(found[0]) for p in (_BULLET, _NUMBERED, _HEADING))
        if bullet or numbered:
            tag, lead = ("ul", bullet) if bullet else ("ol", numbered)
            if paragraph or kind != tag:
                close()
                first = _NUMBER.search(found[0])
                html.append(f'<ol start="{int(first[0])}">' if tag == "ol" and first else "<ul>")
                kind = tag
            html.append(f"<li>{line(start + (lead.end() if lead else 0), end)}</li>")
        elif heading:
            close()
            html.append(f"<h4>{line(start + heading.end(), end)}</h4>")
        else:
            if kind:
                close()
            paragraph.append(line(start, end))
    close()
    return "".join(html)


def _source(citation: Citation, prefix: str, ask_about: bool) -> str:
    quotes = "".join(
        f'<li data-q="{quote.start}">“{inline(_plain(quote.text), addresses=True)}”</li>' for quote in citation.quotes
    )
    shown = f'<ul class="quotes">{quotes}</ul>' if quotes else '<p class="by">Cited for its bibliography.</p>'
    marks = [Mark(quote.start, quote.end, quote.start) for quote in citation.quotes]
    number = f'<span class="num" aria-hidden="true">{citation.number}</span>'
    return _paper_card(citation.paper, f"{prefix}-s{citation.number}", number, shown, ask_about, marks)


def _paper_card(paper: Paper, card_id: str, number: str, quotes: str, ask_about: bool, marks: Sequence[Mark]) -> str:
    title = inline(one_line(paper.title))
    abstract = inline(paper.abstract, marks=marks, addresses=True)
    url = safe_url(paper.url)
    if url:
        title = f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer">{title}</a>'
    about = (
        f'<button type="button" class="quiet" data-do="about" data-paper="{escape(paper.id)}"'
        f' data-title="{escape(one_line(paper.title))}">Ask about this paper</button>'
    )
    return (
        f'<article class="source" id="{card_id}" tabindex="-1" aria-labelledby="{card_id}-t">'
        f'<header>{number}<div><h3 id="{card_id}-t">{title}</h3>{_by(paper)}</div></header>{quotes}'
        f'<details class="abstract"><summary>Abstract</summary><p>{abstract}</p></details>'
        f"{about if ask_about else ''}</article>"
    )


def _by(paper: Paper) -> str:
    names = ", ".join(one_line(name) for name in paper.authors)
    venue = one_line(paper.venue or "")
    year = str(paper.year) if paper.year is not None and str(paper.year) not in venue else ""
    where = " ".join(part for part in (venue, year) if part)
    return "".join(
        f'<p class="{kind}">{escape(text)}</p>' for kind, text in (("authors", names), ("venue", where)) if text
    )
