r"""Text as LaTeX that compiles, whatever is in the text; and what bibliographies hold of LaTeX as text.

The result needs at most T1 fonts (``\usepackage[T1]{fontenc}``), amsmath and amssymb. Every other character (other
scripts, emoji, letters such as "ơ" and "ả") stays as it is and needs LuaLaTeX or XeLaTeX, with a font that has it.
Commands are written from tables, never passed through: a title can't read a file or define a command when it is
typeset.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from string import ascii_letters
from typing import Any

from rag_assistant.sentences import MONEY, protected_spans


def _pairs(text: str) -> dict[str, str]:
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


_SPECIAL = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"{\textbackslash}",
    "~": r"{\textasciitilde}",
    "^": r"{\textasciicircum}",
    "<": r"{\ensuremath{<}}",
    ">": r"{\ensuremath{>}}",
    "|": r"{\ensuremath{|}}",
    "\u2212": r"{\ensuremath{-}}",
    "\u2032": r"{\ensuremath{^\prime}}",
}
_LETTERS = _pairs("ß ss ø o Ø O æ ae Æ AE œ oe Œ OE ł l Ł L đ dj Đ DJ ð dh Ð DH þ th Þ TH ŋ ng Ŋ NG ı i ȷ j")
_ACCENTS = _pairs(
    "\u0300 ` \u0301 ' \u0302 ^ \u0303 ~ \u0304 = \u0306 u \u0307 . \u0308 \" \u030a r \u030b H \u030c v"
    " \u0323 d \u0327 c \u0328 k \u0331 b"
)
_SIGNS = _pairs(
    """
    α alpha β beta γ gamma δ delta ϵ epsilon ε varepsilon ζ zeta η eta θ theta ϑ vartheta ι iota κ kappa λ lambda μ mu
    ν nu ξ xi π pi ρ rho ϱ varrho σ sigma ς varsigma τ tau υ upsilon ϕ phi φ varphi χ chi ψ psi ω omega
    Γ Gamma ∆ Delta Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega
    ℓ ell ∞ infty ∂ partial ∇ nabla ∑ sum ∏ prod ∫ int √ surd ± pm ∓ mp × times ÷ div ∘ circ ∗ ast ⋆ star ⋅ cdot
    ⊕ oplus ⊗ otimes ⊙ odot ∪ cup ∩ cap ∖ setminus ∧ wedge ∨ vee ¬ neg ∀ forall ∃ exists ∅ emptyset ∈ in ∉ notin ∋ ni
    ⊂ subset ⊃ supset ⊆ subseteq ⊇ supseteq ≤ leq ≥ geq ≪ ll ≫ gg ≠ neq ≈ approx ≃ simeq ≅ cong ≡ equiv ∼ sim ∝ propto
    ≺ prec ≻ succ ≲ lesssim ≳ gtrsim ⊥ perp ∥ parallel ∣ mid ⊢ vdash → rightarrow ← leftarrow ↔ leftrightarrow
    ⇒ Rightarrow ⇐ Leftarrow ⇔ Leftrightarrow ↦ mapsto ↑ uparrow ↓ downarrow ⟨ langle ⟩ rangle ⌊ lfloor ⌋ rfloor
    ⌈ lceil ⌉ rceil ⋯ cdots ′ prime † dagger ‡ ddagger • bullet □ square △ triangle ♯ sharp ♭ flat ⊤ top
    """
)
_TEX = {character: f"{{\\{name}}}" for character, name in _LETTERS.items()} | {
    character: f"{{\\ensuremath{{\\{name}}}}}" for character, name in _SIGNS.items()
}
_CHARACTERS = {name: character for character, name in (_LETTERS | _SIGNS).items()} | _pairs(
    "to → gets ← iff ⇔ le ≤ ge ≥ ne ≠ land ∧ lor ∨ lnot ¬ aa å AA Å"
)
_MARKS = {accent: mark for mark, accent in _ACCENTS.items()}

_PIECE = re.compile(
    r"""\\(?P<escaped>[&%$#_{}])
      | (?P<open>\{)? \\(?P<accent>[`'^"~=.]|[uvHcdkbr](?![A-Za-z])) \s*\{?\\?(?P<letter>[A-Za-z])\}? (?(open)\})
      | \\(?P<style>emph|text(?:bf|it|rm|sc|sf|tt))\{(?P<styled>[^{}\\$]*)\}
      | (?P<group>\{)? \\(?P<name>[A-Za-z]+)(?:\{\})? (?(group)\})
      | (?P<kept>\{(?=[a-z0-9-]*[A-Z])(?:[A-Z]\}(?=[a-z])|(?<![A-Za-z]\{)[A-Za-z0-9-]{2,}\}))  # keeps its case
      | (?P<greek>[\u0370-\u03ff\u1f00-\u1fff]{3,})  # a word, no formula
      | .""",
    re.VERBOSE | re.DOTALL,
)

_SOURCE = re.compile(
    r"""\\(?P<escaped>[&%$#_{} ])
      | (?P<open>(?<!\\[uvHcdkbr`'^"~=.])\{)? \\(?P<accent>[`'^"~=.]|[uvHcdkbr](?![A-Za-z]))
        \s*(?P<brace>\{)?(?:\\(?=[ij]\b))?(?P<letter>[^\W\d_][\u0300-\u036f]*)(?(brace)\}) (?(open)\})
      | \\(?:emph|uppercase|ensuremath|text(?:bf|it|rm|sc|sf|sl|tt|up|normal)|url|href\{[^{}]*\})
        \s*\{(?P<inner>(?:[^{}\\]|\\.)*)\}
      | (?P<group>\{)? \\(?P<name>[A-Za-z]+)(?:\{\}|[ ])? (?(group)\})
      | (?P<quote>``|'')""",
    re.VERBOSE,
)
_NAMED = {
    "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<", "textgreater": ">",
    "textbar": "|", "textendash": "–", "textemdash": "—", "textquotesingle": "'", "textquoteright": "’",
    "textquoteleft": "‘", "textquotedblleft": "“", "textquotedblright": "”", "textregistered": "®",
    "texttrademark": "™", "copyright": "©", "textcopyright": "©", "textdegree": "°", "textmu": "µ", "pounds": "£",
    "euro": "€", "S": "§", "P": "¶", "dots": "…", "ldots": "…", "textellipsis": "…", "slash": "/", "TeX": "TeX",
    "LaTeX": "LaTeX", "lbrace": "\\{", "rbrace": "\\}",
}  # fmt: skip
_SWITCHES = frozenset("em bf it tt sc rm sl sf scshape itshape bfseries noopsort protect".split())
_BRACES = re.compile(r"(\\[A-Za-z]+(?:\{[^{}]*\})+|\\[{}])|[{}]")
_KEPT = "\ue000"
_NESTED = 4
"""How deep commands may stand in each other."""

_UNSCRIPTED = {"sum", "prod", "int", "notin", "cong", "cdots", "iff"}  # "x^\sum" is an error, "x^{\sum}" isn't
_GRAMMAR = r"""
    (?(DEFINE)
      (?<sign>  \\(?:SIGNS)(?![A-Za-z]) | \\[{}|%#&_$] )
      (?<word>  \\(?:WORDS)(?![A-Za-z]) | \\[,;:!\ ] )
      (?<group> \{(?&list)\} )
      (?<prose> \s*+\{[A-Za-z0-9 .,:;()/+-]*+\} )
      (?<font>  \\math(?:bb|bf|cal|frak|it|rm|sf|tt)(?![A-Za-z]) \s*+(?: (?&group) | [A-Za-z0-9] )
              | \\text(?:bf|it|rm|sc|sf|tt)?+(?![A-Za-z]) (?&prose) )
      (?<arg>   \s*+(?: (?&group) | (?&sign) | [A-Za-z0-9] ) )
      (?<delim> \s*+(?: [()\[\]|/.<>] | \\[{}|] | \\(?:[lr](?:angle|floor|ceil)|[lr]?[vV]ert)(?![A-Za-z]) ) )
      (?<atom>  [A-Za-z0-9\s.,:;!?()\[\]|/+\-=*<>"`@~] | (?&sign) | (?&word) | (?&group) | (?&font)
              | \\(?:SINGLE)(?![A-Za-z])(?&arg) | \\(?:DOUBLE)(?![A-Za-z])(?&arg){2} | \\operatorname(?&prose)
              | \\sqrt(?![A-Za-z])(?:\[[A-Za-z0-9]++\])?+(?&arg)
              | \\[bB]igg?[lrm]?+(?![A-Za-z])(?&delim)
              | \\left(?![A-Za-z])(?&delim)(?&list)\\right(?![A-Za-z])(?&delim) )
      (?<low>   \s*+[_](?&small) )
      (?<high>  \s*+\^(?&small) )
      (?<small> \s*+(?: (?&group) | (?&font) | (?!\\(?:UNSCRIPTED)(?![A-Za-z]))(?&sign)
              | [A-Za-z0-9.,:;!?()\[\]|/+\-=*<>] ) )
      (?<scripts> '++(?&high)?+(?&low)?+ | (?&high)(?&low)?+ | (?&low)(?: (?&high) | '++ )?+ )
      (?<list>  (?&scripts)?+(?: (?&atom)(?&scripts)?+ )*+ )
    )
    (?:\$(?&list)\$ | \$\$(?&list)\$\$ | \\\((?&list)\\\) | \\\[(?&list)\\\])
"""
_WORDS = """
    dots ldots vdots ddots quad qquad log ln exp sin cos tan sinh cosh tanh min max sup inf lim liminf limsup arg det
    dim deg ker gcd hom Pr bf rm it cal sf tt colon vert Vert lvert rvert lVert rVert backslash
    not imath jmath hbar Re Im aleph varnothing models preceq succeq subsetneq diamond triangleq bigcup bigcap bigoplus
    bigotimes longrightarrow Longrightarrow hookrightarrow uplus sqcup sqcap varpi varkappa displaystyle
"""
_SINGLE = "hat widehat tilde widetilde bar overline underline vec dot ddot check breve acute grave boldsymbol"
_DOUBLE = "frac dfrac tfrac binom overset underset"


def to_tex(text: str) -> str:
    """LaTeX that compiles and shows the text; its braces balance, as BibTeX counts them.

    Formulas that are sure to compile are kept; others, and dollar signs that mean money, are shown as source. So are
    commands, except for those of a character (``\\alpha``, ``\\'e``) or a style (``\\emph{}``).
    """
    text = _composed(text)
    pieces, end = [], 0
    for start, stop in protected_spans(text):
        formula = _formula(text[start:stop])
        if formula:
            pieces += [_prose(text[end:start]), formula]
            end = stop
    pieces.append(_prose(text[end:]))
    if not _balanced("".join(pieces)):
        pieces[::2] = map(_unbraced, pieces[::2])
    return "".join(pieces)


def words_to_tex(text: str) -> str:
    """The same for a text without formulas, such as a name."""
    tex = _prose(_composed(text))
    return tex if _balanced(tex) else _unbraced(tex)


def from_tex(text: str, *, braces: bool = False) -> str:
    """TeX of a title, a name or an abstract as a reader sees it; formulas, addresses and unknown commands stay.

    Args:
        text: ``M{\\"o}bius``, ``30\\%``, ``\\emph{not}``.
        braces: Whether bare braces, ``~`` and ``--`` are TeX too, as everywhere in BibTeX.
    """
    if not any(mark in text for mark in ("\\{}~`'-" if braces else "\\`")) or _KEPT in text:
        return text
    pieces, kept, end = [], [], 0
    for start, stop in protected_spans(text):
        source = text[start:stop]
        if source.startswith("`") or MONEY.fullmatch(source):
            continue
        if source[0] not in "$\\[":  # an address, which ends where the braces around it do
            source = re.split(r"[{}\\]", source)[0]
        kept.append(source)
        pieces.append(text[end:start])
        end = start + len(source)
    prose = _KEPT.join([*pieces, text[end:]])
    for _ in range(_NESTED):
        read = _SOURCE.sub(lambda found: _read(found, bare=braces), prose)
        if read == prose:
            break
        prose = read
    if braces:
        prose = re.sub(r"(?<!-)---?(?!-)", lambda dashes: "—" if len(dashes[0]) == 3 else "–", prose)
        prose = _BRACES.sub(lambda found: found[1] or "", prose).replace("~", " ")
    prose = re.sub(r"\\([{}])", r"\1", prose)
    formulas = iter(kept)
    return re.sub(_KEPT, lambda _: next(formulas), prose)


def _read(found: re.Match[str], *, bare: bool) -> str:
    if found["escaped"]:
        return found[0] if found["escaped"] in "{}" else found["escaped"]
    if found["accent"]:
        letter = unicodedata.normalize("NFC", found["letter"] + _MARKS[found["accent"]])
        # Without a brace, where it may be no TeX, something escaped a quotation mark (\"a) or an apostrophe (\'t).
        return letter if "{" in found[0] or (bare and (len(letter) == 1 or found["accent"] in "=.")) else found[0]
    if found["inner"] is not None:
        return found["inner"]
    if found["quote"]:
        return "“" if found[0] == "``" else "”"
    if found["name"] in _SWITCHES:
        return ""
    return _CHARACTERS.get(found["name"]) or _NAMED.get(found["name"]) or found[0]


def _composed(text: str) -> str:
    """The text with accents joined to their letters and ligatures from PDFs split: TeX makes its own."""
    text = unicodedata.normalize("NFC", text)
    return re.sub("[\ufb00-\ufb06]", lambda ligature: unicodedata.normalize("NFKC", ligature[0]), text)


def _prose(text: str) -> str:
    return "".join(map(_piece, _PIECE.finditer(text)))


def _piece(found: re.Match[str]) -> str:
    if found["escaped"] or found["greek"] or found["kept"]:
        return found[0]
    if found["style"]:
        return f"\\{found['style']}{{{_prose(found['styled'])}}}"
    if found["accent"]:
        letter = unicodedata.normalize("NFC", found["letter"] + _MARKS[found["accent"]])
        if len(letter) == 1:
            return _character(letter)
    return "".join(map(_character, _CHARACTERS.get(found["name"] or "", found[0])))


def _character(character: str) -> str:
    return _SPECIAL.get(character) or _TEX.get(character) or _accented(character)


def _accented(character: str) -> str:
    tex, *marks = list(unicodedata.normalize("NFD", character))
    if not marks or tex not in ascii_letters or not _ACCENTS.keys() >= set(marks):
        return character
    # T1 has letters with a mark above, to which one below can be added, but not the other way round.
    for accent in map(_ACCENTS.__getitem__, sorted(marks, key=unicodedata.combining, reverse=True)):
        tex = f"\\{accent}{{{tex}}}" if accent.isalpha() or len(tex) > 1 else f"\\{accent}{tex}"
    return f"{{{tex}}}"


def _formula(source: str) -> str:
    """The source if it is a formula that compiles, with its Greek letters and signs as commands; else nothing."""
    if source[0] not in "$\\" or MONEY.fullmatch(source) or not _balanced(source):
        return ""
    tex = source.replace("\u2212", "-")
    tex = "".join(f"{{\\{_SIGNS[character]}}}" if character in _SIGNS else character for character in tex)
    return tex if _grammar().fullmatch(tex) else ""


@cache
def _grammar() -> Any:
    import regex  # not in the standard library, whose patterns can't recur

    names = {
        "UNSCRIPTED": _UNSCRIPTED,
        "SIGNS": _CHARACTERS.keys() - _LETTERS.values(),
        "WORDS": _WORDS.split(),
        "SINGLE": _SINGLE.split(),
        "DOUBLE": _DOUBLE.split(),
    }
    grammar = _GRAMMAR
    for name, words in names.items():
        grammar = re.sub(rf"\b{name}\b", "|".join(sorted(words)), grammar)
    return regex.compile(grammar, regex.VERBOSE)


def _unbraced(tex: str) -> str:
    return tex.replace(r"\{", r"{\ensuremath{\lbrace}}").replace(r"\}", r"{\ensuremath{\rbrace}}")


def _balanced(text: str) -> bool:
    depth = 0
    for character in text:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0
