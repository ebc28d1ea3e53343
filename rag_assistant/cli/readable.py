r"""TeX and Markdown made readable at a terminal: ``$\ell_2$`` as ``ℓ₂``, ``**U**nified`` as ``Unified``.

For display only: the result is no longer a quote that could be found in the abstract. A formula with an unknown command
stays as written.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from functools import cache, lru_cache
from typing import Any

from rag_assistant.inline import without_emphasis
from rag_assistant.sentences import MONEY, protected_spans

_KEPT = "\ue000"
_LONGEST = 2_000
"""The longest formula, in characters, that is worth converting."""
_OPENINGS = ("$$", "$", "\\(", "\\[")
_ACCENT = re.compile(r"""\{?\\["'`^~=.](?:\{\\?[A-Za-z]\}|\\?[A-Za-z])\}?|\\[uvHcdkbr]\{\\?[A-Za-z]\}""")
_QUOTED = re.compile(r"``([^`'\"\n]+)(?:''|\")")
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_PLAIN = ("mathsf", "mathrm", "mathbf", "mathit", "mathtt", "boldsymbol", "bm", "operatorname", "textsc")
"""Fonts that are dropped: a name in a special alphabet of Unicode is harder to read than a plain one."""
_OPERATOR = re.compile(r"(\\(?:log|ln|exp|min|max|inf|sup|sin|cos|tan|tanh|det|dim|Pr|arg))(?=\{)")
_TAKING = re.compile(r"\\(frac|dfrac|tfrac|sqrt)(?![A-Za-z])|(?<!\\)([_^])")
_ONE = re.compile(r"\\(?:[A-Za-z]+(?:\{[^{}]*\})*|.)")
_COMPOSED = re.compile(r"[\s+\-\u2212/]")


def readable(text: str) -> str:
    """The text with its formulas in Unicode, as far as possible, and without marks of emphasis."""
    if not any(mark in text for mark in "$\\*_`") or _KEPT in text:
        return text
    pieces, shown, end = [], [], 0
    for start, stop in protected_spans(text):
        source = text[start:stop]
        if source.startswith(_OPENINGS) and not MONEY.fullmatch(source):
            source = _formula(source)
        shown.append(source.strip("`"))
        pieces.append(text[end:start])
        end = stop
    # One letter stands for each formula, so that emphasis around it is recognised.
    prose = without_emphasis(_KEPT.join([*pieces, text[end:]]))
    prose = _QUOTED.sub(r"“\1”", _ACCENT.sub(lambda match: _converted(match[0]) or match[0], prose))
    kept = iter(shown)
    return re.sub(_KEPT, lambda found: next(kept, found[0]), prose)


@lru_cache(maxsize=256)
def _formula(source: str) -> str:
    size = 2 if source.startswith(("$$", "\\")) else 1
    if len(source) > _LONGEST:
        return source
    try:
        shown = _read(source[size:-size])
    except RecursionError:  # scripts of scripts of scripts
        return source
    return source if shown is None else " ".join(shown.split())


def _read(tex: str) -> str | None:
    """A formula as text; ``None`` if that isn't possible."""
    if "\\sqrt[" in tex or any(not _known(name) for name in _COMMAND.findall(tex)):
        return None
    tex = _OPERATOR.sub(r"\1\\ ", tex.replace("\\|", "‖"))
    read, at = [], 0
    while command := _TAKING.search(tex, at):
        read.append(tex[at : command.start()])
        first, at = _argument(tex, command.end())
        if command[2]:
            shown = _script(command[2], _read(first))
        elif command[1] == "sqrt":
            shown = _joined("√", _read(first))
        else:
            second, at = _argument(tex, at)
            shown = _joined("", _read(first), "/", _read(second))
        if shown is None:
            return None
        read.append(f"{{}}{shown}")  # the braces separate it from the name of a command before it
    return _converted(f"${''.join(read)}{tex[at:]}$")


def _argument(tex: str, at: int) -> tuple[str, int]:
    """The argument of a command or script: a group without its braces, a command or a character; and where it ends."""
    while at < len(tex) and tex[at].isspace():
        at += 1
    if tex[at : at + 1] == "{":
        depth = 0
        for place in range(at, len(tex)):
            depth += (tex[place] == "{") - (tex[place] == "}")
            if not depth:
                return tex[at + 1 : place], place + 1
        return tex[at + 1 :], len(tex)
    command = _ONE.match(tex, at)
    return (command[0], command.end()) if command else (tex[at : at + 1], at + 1)


def _script(mark: str, text: str | None) -> str | None:
    """A script raised or lowered if Unicode has all its letters; else after its mark."""
    if text is None:
        return None
    small = _smaller()[mark]
    if text and all(character in small for character in text):
        return "".join(small[character] for character in text)
    return f"{mark}{text}" if len(text) == 1 else f"{mark}({text})"


def _joined(*parts: str | None) -> str | None:
    """The parts joined, with brackets around those of several terms."""
    if any(part is None for part in parts):
        return None
    return "".join(f"({part})" if part and part != "/" and _COMPOSED.search(part) else part or "" for part in parts)


@cache
def _smaller() -> dict[str, dict[str, str]]:
    """The letters that Unicode has for each kind of script."""
    found: dict[str, dict[str, str]] = {"^": {"-": "⁻"}, "_": {"-": "₋"}}
    for code in range(0xA0, 0x2C80):
        kind, _, of = unicodedata.decomposition(chr(code)).partition(" ")
        if kind in ("<super>", "<sub>") and " " not in of:
            found["^" if kind == "<super>" else "_"][chr(int(of, 16))] = chr(code)
    return found


def _converted(tex: str) -> str | None:
    try:
        shown: str = _converter().latex_to_text(tex)
    except Exception:  # the parser may raise anything for text that isn't TeX: it is shown as written
        return None
    return shown


def _known(name: str) -> bool:
    return name in ("left", "right", "dfrac", "tfrac") or bool(_texts().get_macro_spec(name))


@cache
def _texts() -> Any:
    from pylatexenc.latex2text import MacroTextSpec, get_default_latex_context_db

    logging.getLogger("pylatexenc").addHandler(logging.NullHandler())
    texts = get_default_latex_context_db()
    texts.add_context_category("plain", macros=[MacroTextSpec(name, "%s") for name in _PLAIN], prepend=True)
    return texts


@cache
def _converter() -> Any:
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text(latex_context=_texts(), math_mode="text", keep_comments=True)
