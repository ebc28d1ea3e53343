"""Ids for papers that came without one, and when two records are the same paper."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from rag_assistant.sentences import protected_spans

DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>]+")
_TITLE_CHARACTERS = 80
_HASHED_CHARACTERS = 500
_ARXIV = re.compile(
    r"(?:arxiv[:.]\s*|arxiv\.org/(?:abs|pdf)/)(\d{4}\.\d{4,5}|[a-z]+(?:-[a-z]+)?(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?\b",
    re.IGNORECASE,
)
_PAGES = {
    "openreview": re.compile(r"https?://openreview\.net/(?:forum|pdf|attachment)\?(?:[^\s&]*&)*?id=([\w-]+)"),
    "proceedings": re.compile(r"https?://proceedings\.mlr\.press/(v\d+/[\w-]+)(?:\.html|/[\w-]+\.pdf)"),
}
_NUMBERED = {
    "openreview": _PAGES["openreview"],
    "pmid": re.compile(r"https?://(?:pubmed\.ncbi\.nlm\.nih\.gov|www\.ncbi\.nlm\.nih\.gov/pubmed)/(\d+)\b"),
}
"""The pages by whose ids a paper without a DOI is known."""
_ADDRESSES = {
    "openreview": "https://openreview.net/forum?id={}",
    "proceedings": "https://proceedings.mlr.press/{}.html",
}


def normalised(text: str) -> str:
    """The text without differences of case, white space, and Unicode compatibility form."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def arxiv_id(*texts: str | None) -> str | None:
    """The first id that one of the texts gives as arXiv's, without its version."""
    return next((found[1] for text in texts if text and (found := _ARXIV.search(text))), None)


def arxiv_page(preprint: str) -> str:
    """The address of a preprint's page."""
    return f"https://arxiv.org/abs/{preprint}"


def pubmed_page(pmid: object) -> str | None:
    """The address of a record's page by its number; ``None`` for what is no number."""
    return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/" if isinstance(pmid, str) and pmid.isdecimal() else None


def public_id(doi: str | None, urls: Iterable[str]) -> str | None:
    """An id that every source of the paper gives it, by its addresses; ``None`` where that is the DOI."""
    urls = list(urls)
    preprint = arxiv_id(doi, *(url for url in urls if "arxiv.org/" in url))
    if doi and not (preprint and arxiv_id(doi)):
        return None
    if preprint:
        return f"arxiv:{preprint}"
    found = ((name, pattern.match(url)) for name, pattern in _NUMBERED.items() for url in urls)
    return next((f"{name}:{match[1]}" for name, match in found if match), None)


def known_page(url: str) -> tuple[str, str]:
    """The name by which a paper's links call a page, and its usual address; two empty texts for any other page."""
    for name, pattern in _PAGES.items():
        found = pattern.match(url)
        if found:
            return name, _ADDRESSES[name].format(found[1])
    preprint = arxiv_id(url) if "arxiv.org/" in url else None
    return ("arxiv", arxiv_page(preprint)) if preprint else ("", "")


def derived_id(title: str, abstract: str, doi: str | None) -> str:
    """An id that stays the same when the record moves within its file or to another file.

    ``doi:<doi>`` in lower case where there is one. Else ``p-`` and 12 hexadecimal digits of the SHA-256 of the title
    and the abstract's first 500 characters, both :func:`normalised`: other case, line breaks or spacing, or a
    correction further down, keep the id. Nothing about the file goes in.

    Args:
        title: As given; empty where it was derived, since it then says nothing that the abstract doesn't.
        abstract: As loaded; where there is none, what else tells papers of one title apart.
        doi: Without a resolver prefix.
    """
    if doi:
        return f"doi:{doi.lower()}"
    content = f"{normalised(title)}\n{normalised(abstract)[:_HASHED_CHARACTERS]}"
    return f"p-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def derived_title(abstract: str) -> str:
    """The abstract's first words, at most 80 characters, with an ellipsis where more follow; no formula is cut."""
    text = " ".join(abstract.split())
    if len(text) <= _TITLE_CHARACTERS:
        return text
    end = text.rfind(" ", 0, _TITLE_CHARACTERS)
    end = _TITLE_CHARACTERS - 1 if end <= 0 else end
    # Nothing before a formula that is itself too long: then it is cut after all.
    end = next((start for start, stop in protected_spans(text[:1000]) if 0 < start < end < stop), end)
    return text[:end].rstrip(" ,;:(") + "\u2026"
