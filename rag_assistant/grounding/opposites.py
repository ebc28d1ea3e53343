"""Words with opposite meanings: a list of common ones, and those that a prefix or suffix reverses."""

from __future__ import annotations

import re

_PAIRS = tuple(
    (re.compile(rf"\b(?:{one})\b", re.IGNORECASE), re.compile(rf"\b(?:{other})\b", re.IGNORECASE))
    for one, other in (
        (
            r"increas\w+|rais\w+|grow\w*|escalat\w+|boost\w*",
            r"decreas\w+|reduc\w+|lower(?:s|ed|ing)|shrink\w*|drop\w*|diminish\w*",
        ),
        (r"higher|larger|greater|more", r"lower|smaller|less|fewer"),
        (r"highest|largest|most", r"lowest|smallest|least|fewest"),
        (r"high", r"low"),
        (r"faster|quicker", r"slower"),
        (r"better|superior|outperform\w*|surpass\w*", r"worse|inferior|underperform\w*"),
        (r"best", r"worst"),
        (r"improv\w+|enhanc\w+", r"degrad\w+|deteriorat\w+|worsen\w*|harm\w*|impair\w*"),
        (r"always|often|usually|frequently|commonly", r"never|rarely|seldom|hardly"),
        (r"always", r"sometimes"),
        (r"easy|easily|easier", r"hard|harder|difficult"),
        (r"beneficial|favou?rable|advantageous", r"detrimental|harmful|unfavou?rable"),
        (r"minimal\w*|negligible", r"maximal\w*|substantial\w*|huge|severe\w*"),
        (r"simpl(?:e|er|y|ify|ifies|ified)", r"complex|complicat\w+"),
        (r"broad(?:er|est)?|wide(?:r|st)?", r"narrow(?:er|est)?"),
        (r"succeed\w*|success\w*", r"fail(?:s|ed|ing|ure|ures)?"),
        (r"with", r"without"),
        (r"part(?:ly|ially)?", r"fully|entirely|completely|wholly"),
        (r"few|little", r"many|much|numerous|great deal|plenty"),
        (r"possible", r"impossible"),
        (r"upper", r"lower"),
        (r"maximi[sz]\w+", r"minimi[sz]\w+"),
        (r"strong(?:er|ly)?", r"weak(?:er|ly)?"),
        (r"robust", r"vulnerable|fragile"),
        (r"before", r"after"),
        (r"online", r"offline"),
        (r"first-order", r"second-order"),
    )
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_TURNING = ("un", "in", "im", "ir", "il", "dis", "non", "non-", "a")
_LEAST = 5
"""Letters that a word must have for a prefix to reverse it: "form" and "inform" aren't opposites."""
_ROOT = 6
"""Letters by which a longer word is recognised: "ineffective" reverses "effectiveness"."""
_UNRELATED = re.compile(r"improv|impress|import")


def poles(text: str) -> frozenset[int]:
    """The poles of pairs of opposites that a text has words of, as numbers: words of one pole mean much the same."""
    return frozenset(
        2 * at + pole for at, pair in enumerate(_PAIRS) for pole, pattern in enumerate(pair) if pattern.search(text)
    )


def opposed(statement: str, quoted: str) -> bool:
    """Whether the statement has a word whose opposite is in the quoted text, each without the other."""
    for one, other in _PAIRS:
        for here, there in ((one, other), (other, one)):
            if (
                here.search(statement)
                and not here.search(quoted)
                and there.search(quoted)
                and not there.search(statement)
            ):
                return True
    said, cited = _words(statement), _words(quoted)
    return any(_turned(word, cited, said) for word in said - cited) or any(
        _turned(word, said, cited) for word in cited - said
    )


def _turned(word: str, there: set[str], here: set[str]) -> bool:
    """Whether the other text has the word with a prefix, or with "-less" for "-ful", and this text doesn't."""
    forms = {prefix + word for prefix in _TURNING if len(word) >= _LEAST}
    if word.endswith("ful"):
        forms.add(word.removesuffix("ful") + "less")
    if forms & (there - here):
        return not any(map(_UNRELATED.match, forms & there))
    if _UNRELATED.match(word):
        return False
    roots = [(prefix, word.removeprefix(prefix)[:_ROOT]) for prefix in _TURNING if word.startswith(prefix)]
    return any(
        len(root) == _ROOT
        and any(other.startswith(root) for other in there)
        and not any(other.startswith(root) for other in here)
        and not any(other.startswith(prefix + root) for other in there)
        for prefix, root in roots
    )


def _words(text: str) -> set[str]:
    words = set(_WORD.findall(text.casefold()))
    return words | {part for word in words for part in word.split("-") if not word.startswith("non-")}
