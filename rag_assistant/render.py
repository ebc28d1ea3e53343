"""An answer as plain text, as Markdown with references, and its papers as BibTeX. Needs only the libraries of `tex`.

Papers and models aren't trusted: their text is shown, but it can't control a terminal, load a remote image or break out
of a BibTeX field.
"""

from __future__ import annotations

import re
import string
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from rag_assistant.tex import to_tex, words_to_tex
from rag_assistant.types import Answer, Citation, Excerpt, Paper, Statement, Verification

# C0 controls become their visible pictures (ESC is ␛), so that a quote still shows what is in the abstract.
_VISIBLE = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)} | {0x7F: 0x2421}
# C1 controls, marks that reorder text, line separators and lone surrogates have no picture.
_HIDDEN = re.compile("[\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb\ufeff]")
_MATH = re.compile(r"(?<!\\)\$[^$]+(?<!\\)\$")
_URL = re.compile(r"https?://[^\s<>\"'\\^`{|}\x00-\x20\x7f-\x9f]+\Z", re.IGNORECASE)
_BRACKET, _ESCAPED = r"(?<!\\)([\[\]])", r"\\\1"
_KEYLESS = re.compile(r"[^A-Za-z0-9:/_.+-]+")
# "A and B" would be two people and "others" nobody; "Acme, Inc." would have the first name "Inc.".
_NOT_SPLIT = re.compile(r"(?:^|\s)and(?:\s|$)|^others$|,\s*(?:inc|ltd|llc|corp|co|gmbh)\.?$", re.IGNORECASE)
# BibTeX makes initials and labels from bytes, which would cut these characters; TeX typesets both forms alike.
_IN_NAMES = str.maketrans({"“": "``", "”": "''", "‘": "`", "’": "'", "–": "--", "—": "---"})
_SUFFIXED = re.compile(r"[^\s{},]+,? (?:[JS]r\.?|I{2,3}|IV)$")
_STATUS_NOTE = {"unsupported": "not supported", "uncited": "no source"}

CLOSEST = "The closest words, which may not answer"


def clean(text: str) -> str:
    """The text without anything that a terminal acts on; tabs and line feeds stay.

    Works on pieces of a stream as well as on the whole. Each character becomes one character, except for ``\\r\\n``,
    which becomes a line feed.
    """
    return _HIDDEN.sub("\ufffd", text.replace("\r\n", "\n").translate(_VISIBLE))


def one_line(text: str) -> str:
    """The cleaned text with every run of white space as one space: for a title, or a column of a table."""
    return " ".join(clean(text).split())


def safe_url(url: str | None) -> str:
    """The address if it is plain http or https, else an empty string."""
    return url if url and _URL.match(url) else ""


def byline(paper: Paper) -> str:
    """Who, where and when in a few words: ``Andi Nika et al., ICML 2024``; empty when nothing is known."""
    names = [one_line(name) for name in paper.authors]
    who = " and ".join(names) if len(names) <= 2 else f"{names[0]} et al."
    venue = one_line(paper.venue or "")
    year = str(paper.year) if paper.year is not None and str(paper.year) not in venue else ""
    return ", ".join(part for part in (who, " ".join(part for part in (venue, year) if part)) if part)


def statement_note(statement: Statement) -> str:
    """What a reader must know about an unsupported statement, in brackets; empty if it is supported."""
    if statement.support == "supported":
        return ""
    reason = f": {one_line(statement.reason)}" if statement.reason else ""
    return f"({_STATUS_NOTE[statement.support]}{reason})"


def annotated(answer: Answer) -> str:
    """The answer's text with a note after each statement that isn't supported by what it cites."""
    pieces, position = [], 0
    for statement in sorted(answer.statements, key=lambda s: s.end):
        note = statement_note(statement)
        if note:
            pieces += [answer.text[position : statement.end], " ", note]
            position = statement.end
    return "".join([*pieces, answer.text[position:]])


def to_text(answer: Answer, *, width: int | None = None) -> str:
    """Plain text: the answer, then its numbered sources with titles, links and quoted words.

    Args:
        answer: What to show.
        width: Columns to wrap at; ``None`` leaves lines as long as they are, for files and pipes.
    """
    blocks = [_wrapped(clean(annotated(answer)), width)]
    blocks += [source_text(citation, width=width) for citation in answer.citations]
    if answer.closest:
        blocks.append(_wrapped(closest_text(answer.closest), width))
    nearest = unnamed_nearest(answer)
    if nearest:
        blocks.append("\n".join(["Nearest papers:", *(_nearest(paper, width) for paper in nearest)]))
    elif answer.nearest:
        blocks.append("\n".join(f"{one_line(paper.id)}: {safe_url(paper.url) or '-'}" for paper in answer.nearest))
    return "\n\n".join(block for block in blocks if block) + "\n"


def closest_text(closest: Excerpt) -> str:
    """The words that come closest to an unanswered question, in one line that says that they are no answer."""
    return f"{CLOSEST} (“{one_line(closest.paper.title)}”): “{one_line(closest.quote.text)}”"


def unnamed_nearest(answer: Answer) -> tuple[Paper, ...]:
    """The nearest papers of a refusal, unless its text names them all by title already."""
    return () if all(paper.title in answer.text for paper in answer.nearest) else answer.nearest


def source_text(citation: Citation, *, width: int | None = None) -> str:
    """One numbered source: title, authors and venue, link, and each quote in quotation marks."""
    paper = citation.paper
    head = f"[{citation.number}] "
    indent = " " * len(head)
    by = byline(paper)
    lines = [head + one_line(paper.title) + (f". {by}" if by else "")]
    if safe_url(paper.url):
        lines.append(f"{indent}{paper.url}")
    lines += [f"{indent}“{one_line(quote.text)}”" for quote in citation.quotes]
    return "\n".join(_wrapped(line, width, indent) for line in lines)


def verdict_line(found: Verification) -> str:
    """The verdict in words, with its confidence, ``supported (0.93)``, and what else decided it."""
    verdict = "not said" if found.verdict == "unsaid" else found.verdict
    sure = "" if found.confidence is None else f" ({found.confidence:.2f})"
    return f"{verdict}{sure}" + (f", {one_line(found.reason)}" if found.reason else "")


def verification_text(found: Verification) -> str:
    """Plain text: the verdict, then the paper that decides with its quotes, or the nearest papers."""
    blocks = [verdict_line(found), *map(source_text, found.citations)]
    if found.nearest:
        blocks.append("\n".join(["Nearest papers:", *(_nearest(paper, None) for paper in found.nearest)]))
    return "\n\n".join(blocks) + "\n"


def to_markdown(answer: Answer) -> str:
    """Markdown: the question as a heading, the answer, and a numbered list of references with their quotes.

    HTML and images in the answer are shown as text; mathematics stays as it is.
    """
    blocks = [f"## {_markdown(one_line(answer.question))}", _markdown(clean(annotated(answer)))]
    if answer.citations:
        blocks += ["### References", "\n".join(_reference(citation) for citation in answer.citations)]
    if answer.closest:
        blocks.append(f"> {_markdown(closest_text(answer.closest))}")
    if answer.nearest:
        blocks += ["### Nearest papers", "\n".join(f"- {_linked(paper)}" for paper in answer.nearest)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def to_bibtex(papers: Iterable[Paper]) -> str:
    """One BibTeX entry per paper, in the order given; keys are the papers' ids, made unique.

    A paper with a venue is an ``@inproceedings``, or an ``@article`` if the venue's name is that of a journal; others
    are ``@misc``. Whatever is in the papers, the entries compile, as :mod:`rag_assistant.tex` says, and show it.
    """
    return "\n".join(bibtex_entries(papers))


def bibtex_entries(papers: Iterable[Paper], *, abstracts: bool = False) -> Iterator[str]:
    """The entries of :func:`to_bibtex`, with or without abstracts."""
    papers = list(papers)
    for paper, key in zip(papers, _keys([paper.id for paper in papers]), strict=True):
        yield _entry(paper, key, abstracts)


def _wrapped(text: str, width: int | None, indent: str = "") -> str:
    if width is None:
        return text
    wrapped: list[str] = []
    for line in text.split("\n"):
        lead = line[: len(line) - len(line.lstrip(" "))]
        wrapped += textwrap.wrap(
            line.strip(" "),
            max(width, 20),
            initial_indent=lead,
            subsequent_indent=indent or lead,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(wrapped)


def _nearest(paper: Paper, width: int | None) -> str:
    by = byline(paper)
    line = f"- {one_line(paper.title)}" + (f". {by}" if by else "")
    url = safe_url(paper.url)
    return _wrapped(line, width, "  ") + (f"\n  {url}" if url else "")


def _markdown(text: str) -> str:
    """Markdown without HTML or images. In mathematics a space after ``<`` suffices, which TeX ignores."""
    pieces = re.split(f"({_MATH.pattern})", text)
    safe = [re.sub(r"<(?=[A-Za-z/!?])", "< " if i % 2 else r"\\<", piece) for i, piece in enumerate(pieces)]
    return re.sub(r"!(?=\[)", r"\\!", "".join(safe))


def _linked(paper: Paper) -> str:
    title = re.sub(_BRACKET, _ESCAPED, _markdown(one_line(paper.title)))
    url = safe_url(paper.url).replace("(", "%28").replace(")", "%29")
    linked = f"[{title}]({url})" if url else title
    by = _markdown(byline(paper))
    return f"{linked}. {by}" if by else linked


def _reference(citation: Citation) -> str:
    quotes = "".join(f"\n   > “{_markdown(one_line(quote.text))}”\n" for quote in citation.quotes)
    return f"{citation.number}. {_linked(citation.paper)}\n{quotes}"


def _keys(ids: Sequence[str]) -> list[str]:
    """A key for each id: the id itself if it is valid, else what can be kept of it; unique regardless of case."""
    keys = [_KEYLESS.sub("-", _ascii(paper_id)).strip("-") for paper_id in ids]
    keys = ["paper" if key in {"", "0"} else key for key in keys]  # Biber takes "0" for none
    used: set[str] = set()
    for place in sorted(range(len(keys)), key=lambda place: keys[place] != ids[place]):
        base, number = keys[place], 1
        while keys[place].lower() in used:
            number += 1
            keys[place] = f"{base}-{number}"
        used.add(keys[place].lower())
    return keys


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _entry(paper: Paper, key: str, abstract: bool) -> str:
    venue = paper.venue or ""
    journal = bool(re.search(r"\b(journal|transactions|letters|JMLR|TMLR)\b", venue, re.IGNORECASE))
    kind = ("article" if journal else "inproceedings") if venue else "misc"
    fields = {
        "title": f"{{{to_tex(_typeset(paper.title))}}}",
        "author": " and ".join(filter(None, map(_author, paper.authors))),
        "journal" if journal else "booktitle": to_tex(_typeset(venue)),
        "year": str(paper.year) if paper.year is not None else "",
        "doi": _verbatim(paper.doi or ""),
        "url": _verbatim(safe_url(paper.url)),
        "abstract": to_tex(_typeset(paper.abstract)) if abstract else "",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value.strip("{} ")]
    return "\n".join([f"@{kind}{{{key},", *lines, "}", ""])


def _author(name: str) -> str:
    """A name that BibTeX reads as one name, split into first and last names by its own rules."""
    name = _typeset(name).translate(_IN_NAMES)
    parts = [part.strip() for part in name.split(",")]
    if _NOT_SPLIT.search(name) or len(parts) > 3 or (len(parts) > 1 and not all(parts)):
        return f"{{{words_to_tex(name)}}}"
    # Braces keep together what is in braces, or a suffix and its name, and hide brackets, which would end a label.
    name = _SUFFIXED.sub(r"{\g<0>}", name)
    return "".join(
        f"{{{words_to_tex(piece.strip('{}'))}}}" if i % 2 else words_to_tex(piece)
        for i, piece in enumerate(re.split(r"((?<![^\s-])\{[^{}\\]+\}|[\[\]])", name))
    )


def _typeset(text: str) -> str:
    """The text on one line, without control characters; nothing replaces them, since TeX has no picture for ␛."""
    return " ".join(_HIDDEN.sub("", " ".join(text.split()).translate(dict.fromkeys(_VISIBLE))).split())


def _verbatim(text: str) -> str:
    """An address or DOI, which styles set verbatim: what would end the field, or isn't ASCII, is percent-encoded."""
    return quote(one_line(text), safe="".join(set(string.punctuation) - set("{}\\")))
