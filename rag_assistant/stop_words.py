"""English stop words: articles, pronouns, prepositions, conjunctions, auxiliaries and the commonest verbs, which don't
show what a text is about."""

from __future__ import annotations

STOP_WORDS = frozenset(
    """a about above across after again against all also although am among an and any anyone anything are around as at
    be because been before being below between both but by can cannot could did do does doing done down due during
    each either else ever every everything few for from further get gets give given gives go goes got had has have
    having he her here hers him his how i if in into is it its itself just kind let lets like made make makes making
    many may me might mine more most much must my neither no nor not nothing of off on once one ones only onto or
    other others our ours out over own per please really regarding same shall she should since so some somebody
    someone something sort such than that the their theirs them themselves then there these they this those though
    through thus to together too toward towards under unless until up upon us use used uses using very via was way
    ways we were what whatever when where whereas whether which while who whom whose why will with within without
    would yes yet you your""".split()
)


def is_stop_word(word: str) -> bool:
    """Whether a word is a stop word, however it is capitalised."""
    return word.lower() in STOP_WORDS
