"""Whether a statement binds together what its quotes keep apart: words of two pieces, or of two names, exchanged.

A piece is what stands between punctuation and conjunctions. Word order within a piece makes no difference here, so that
active and passive, fronted clauses and reordered pieces are all the same.
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
"""Small words that tell two pieces apart."""
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
    """The last words of a text whose initials, or those of all but small words, are the letters."""
    words = re.findall(r"[^\W_]+", before)
    for count in range(len(letters), min(len(letters) + 3, len(words)) + 1):
        chosen = words[-count:]
        initials = "".join(word[0] for word in chosen if len(chosen) == len(letters) or len(word) > len("with"))
        if initials.casefold() == letters.casefold():
            return chosen
    return []


def crossed(statement: str, quotes: Sequence[str]) -> bool:
    """Whether two pieces of the statement have each words of both of two pieces of the quotes, that these don't share.

    "A increases X, while B increases Y" keeps A with X: "A increases Y, and B increases X" has crossed them. Of a text
    that says "respectively" the pieces are what that puts together.
    """
    said = paired(statement) or _pieces(statement)
    told = [piece for quote in quotes for piece in paired(quote) or _pieces(quote)]
    often = Counter(word for piece in told for word in piece)
    # Of the words of a piece, those that no other has tell it: which pieces a text takes its words from.
    owner = {word: at for at, piece in enumerate(told) for word in piece if often[word] == 1}
    taken = [(piece, {owner[word] for word in piece if word in owner}) for piece in said]
    for (one, of_one), (two, of_two) in combinations([pair for pair in taken if len(pair[1]) > 1], 2):
        if len(of_one & of_two) > 1:
            here, there = ({owner[word] for word in own if word in owner} for own in (one - two, two - one))
            if len(here & there) > 1:
                return True
    return False


def of_another_name(statement: str, quotes: Sequence[str]) -> bool:
    """Whether a piece with a name has words that the quotes have in sentences with other names only."""
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
    """Its pieces, and what each of these joins."""
    return [part for piece in pieces(_bare(text)) for part in _JOINED.split(piece)]


def _pieces(text: str) -> list[frozenset[str]]:
    parts = [_TOKEN.findall(part) for part in _parts(text)]
    found = [contents(part) | (_ORDERED & {token.lower() for token in part}) for part in parts]
    return [piece for piece in found if len(piece) > 1]


def _bare(text: str) -> str:
    """Without TeX and mark-up; a bracket is a piece of its own; compounds of common words are these words."""
    plain = re.sub(r"\\[a-zA-Z]+|[$\\{}*`^_]", " ", text)
    plain = re.sub(r"\((?=[^()]*\s)|\)", ", ", plain)
    return re.sub(r"(?<=[a-z])-(?=[a-z])", " ", plain)
