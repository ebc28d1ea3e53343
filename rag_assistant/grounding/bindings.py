"""Whether a statement joins what its quotes keep apart, by exchanging words between two pieces or two names.

A piece is the text between punctuation marks or conjunctions. Word order within a piece makes no difference here, so
active and passive, fronted clauses and reordered pieces all count as the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from rag_assistant.acronyms import is_acronym
from rag_assistant.grounding.lists import paired
from rag_assistant.grounding.pieces import pieces
from rag_assistant.grounding.wording import contents

_LONG_FORM = re.compile(r"\(\s*(?P<short>[A-Z][\w-]*[A-Z][\w-]*)\s*\)")
_JOINED = re.compile(r"\b(?:and|or|nor|then|however)\b", re.IGNORECASE)
_ORDERED = frozenset("before after above below".split())
"""Function words that may be all that two pieces differ by."""
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:[-'\u2019]?[^\W_]+)*")


def with_short_names(text: str, sources: Sequence[str]) -> str:
    """The text with names that the sources introduce, "Graph Neural Network (GNN)", in their short form throughout."""
    for source in sources:
        for match in _LONG_FORM.finditer(source):
            short = match["short"]
            words = _initialled(source[: match.start()], short.rstrip("s").replace("-", ""))
            if words:
                name = r"[\s-]+".join(re.escape(word.rstrip("s")) + "s?" for word in words)
                text = re.sub(rf"\b{name}\b(?:\s*\({re.escape(short)}\))?", short, text, flags=re.IGNORECASE)
    return text


def _initialled(before: str, letters: str) -> list[str]:
    """The last words of a text, if their initials, with or without function words, spell the letters."""
    words = re.findall(r"[^\W_]+", before)
    for count in range(len(letters), min(len(letters) + 3, len(words)) + 1):
        chosen = words[-count:]
        initials = "".join(word[0] for word in chosen if len(chosen) == len(letters) or len(word) > len("with"))
        if initials.casefold() == letters.casefold():
            return chosen
    return []


def crossed(statement: str, quotes: Sequence[str]) -> bool:
    """Whether two pieces of the statement each mix words that two pieces of the quotes keep apart.

    "A increases X, while B increases Y" keeps A with X: "A increases Y, and B increases X" has crossed them. In a text
    with "respectively" the pieces are the pairs that it forms.
    """
    said = paired(statement) or _pieces(statement)
    quoted = [piece for quote in quotes for piece in paired(quote) or _pieces(quote)]
    often = Counter(word for piece in quoted for word in piece)
    # A word that only one piece has shows which piece a text took it from.
    owner = {word: at for at, piece in enumerate(quoted) for word in piece if often[word] == 1}
    taken = [(piece, {owner[word] for word in piece if word in owner}) for piece in said]
    for (one, of_one), (two, of_two) in combinations([pair for pair in taken if len(pair[1]) > 1], 2):
        if len(of_one & of_two) > 1:
            here, there = ({owner[word] for word in own if word in owner} for own in (one - two, two - one))
            if len(here & there) > 1:
                return True
    return False


def of_another_name(statement: str, quotes: Sequence[str]) -> bool:
    """Whether a piece with a name has words that the quotes use only in sentences with other names."""
    sentences = [(_names(quote), contents(_TOKEN.findall(_bare(quote)))) for quote in quotes]
    for piece in _parts(statement):
        names, words = _names(piece), contents(_TOKEN.findall(piece))
        mine = [held for named, held in sentences if named & names]
        theirs = [held for named, held in sentences if named and not named & names]
        if not names or not mine or not theirs:
            continue
        here, there = frozenset[str]().union(*mine), frozenset[str]().union(*theirs)
        if words & (there - here) and not words & (here - there) - names:
            return True
    return False


def _names(text: str) -> frozenset[str]:
    return contents([token for token in _TOKEN.findall(text) if is_acronym(token)])


def _parts(text: str) -> list[str]:
    """The pieces of a text, and the parts that each of them joins."""
    return [part for piece in pieces(_bare(text)) for part in _JOINED.split(piece)]


def _pieces(text: str) -> list[frozenset[str]]:
    parts = [_TOKEN.findall(part) for part in _parts(text)]
    found = [contents(part) | (_ORDERED & {token.lower() for token in part}) for part in parts]
    return [piece for piece in found if len(piece) > 1]


def _bare(text: str) -> str:
    """The text without TeX and mark-up, with brackets as pieces of their own and compounds of common words split."""
    plain = re.sub(r"\\[a-zA-Z]+|[$\\{}*`^_]", " ", text)
    plain = re.sub(r"\((?=[^()]*\s)|\)", ", ", plain)
    return re.sub(r"(?<=[a-z])-(?=[a-z])", " ", plain)
