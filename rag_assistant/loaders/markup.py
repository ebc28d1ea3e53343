"""Text out of the markup that reference services and reference managers put into titles and abstracts."""

from __future__ import annotations

import html
import re

# A search for the end of an element stops where the next begins, so that a text full of beginnings takes linear time.
_TEX = re.compile(r"<(?:jats:)?tex-math\b[^<>]*>((?:(?!<(?:jats:)?tex-math\b).)*?)</(?:jats:)?tex-math>", re.S)
_MATHML = re.compile(r"<mml:math\b(?:(?!<mml:math\b).)*?</mml:math>", re.S)
_DOCUMENT = re.compile(r".*\\begin\{document\}|\\end\{document\}.*", re.S)
_ATTRIBUTES = r"(?:\s+[\w:-]+\s*=[^<>]*|\s*)/?"
_HEADING = re.compile(r"<(?:jats:)?(?:title|h[1-6])>([^<>]*)</(?:jats:)?(?:title|h[1-6])>", re.I)
_RAISED = re.compile(rf"<(?:jats:)?sup{_ATTRIBUTES}>([+\-\u2212]?[\d.]+[+\-]?|[+\-]|[A-Za-z])</(?:jats:)?sup>", re.I)
_BLOCK = re.compile(rf"</?(?:jats:)?(?:p|div|sec|list|list-item|ul|ol|li|disp-quote|br){_ATTRIBUTES}>", re.I)
_TAG = re.compile(
    r"</?(?:(?:jats|mml):[\w-]+|i|b|em|strong|sub|sup|inf|sc|scp|u|a|tt|span|font|italic|bold|inline-formula)"
    rf"{_ATTRIBUTES}>",
    re.I,
)


def plain(text: str) -> str:
    """The text of JATS or of HTML's usual tags; a paragraph a line, headings of sections before a colon.

    A formula that is there in TeX and in MathML is kept in TeX, and what is raised and would read as another number
    gets a ``^``. The heading "Abstract" goes, and so do tags; any other angle bracket stays.
    """
    if "<" not in text and "&" not in text:
        return text
    text = html.unescape(text) if "&lt;" in text and _escaped(text) else text
    if "tex-math" in text:
        text = _TEX.sub(lambda found: _DOCUMENT.sub("", found[1]), _MATHML.sub("", text))
    text = _HEADING.sub(_heading, text)
    text = _RAISED.sub(r"^\1", text)
    parted = _BLOCK.sub("\n", text)
    stripped = html.unescape(_TAG.sub("", parted))
    if parted == text:
        return stripped
    lines = [" ".join(line.split()) for line in stripped.split("\n")]
    return re.sub(r":\n(?=\S)", ": ", "\n".join(line for line in lines if line))


def _heading(found: re.Match[str]) -> str:
    name = found[1].strip().rstrip(":").rstrip()
    return f"\n{name}: " if name and name.lower() != "abstract" else ""


def _escaped(text: str) -> bool:
    """Whether its tags were escaped once more, as where JATS was put into XML as text."""
    inner = html.unescape(text)
    return len(_TAG.findall(inner)) + len(_BLOCK.findall(inner)) > len(_TAG.findall(text)) + len(_BLOCK.findall(text))
