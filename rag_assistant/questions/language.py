"""Whether a question is in English, as far as its commonest words and its script show."""

from __future__ import annotations

import re

from rag_assistant.questions.content import ASKING_WORDS
from rag_assistant.stop_words import STOP_WORDS

_OTHERS = frozenset(
    """der die das den dem des ein eine einer einem eines und oder ist sind war wie wer wo wann welche welcher welches
    welchem welchen bei für nicht wird werden warum worin womit auf mit von zu zum zur im sich nach über durch als auch
    el la los las de del una unos que qué cuál cuáles cómo es son por para con según quién dónde cuándo se en lo y
    le les du est et sont dans sur avec quel quelle quels quelles pourquoi comment une aux qui où ce cette ne pas plus
    il gli della delle dei degli nella nell dell dal che quale quali perché come sono viene vengono cosa per e di da un
    het een van voor hoeveel welk welke waarom wat wie waar zijn worden niet met op te aan naar
    os das dos uma qual quais não em pelo pela onde são da no na ao o e como quem
    jest są w we z na do jakie jakich jak jaki który która które czy dla przez się oraz
    och är vad hur som av vilka vilken vilket för på med till den det ett inte""".split()
)
"""Function words of German, Spanish, French, Italian, Dutch, Portuguese, Polish and Swedish."""
_FEWEST = 2
_OTHER_SCRIPT = 0.3
_WORD = re.compile(r"[^\W\d_]+")


def is_english(question: str) -> bool:
    """``False`` for a question in another script, or with at least two function words that belong to other languages
    and not to English, and at least half as many of these as English ones; ``True`` if nothing shows the language, as
    in "rlhf dpo convergence rate"."""
    letters = [letter for letter in question if letter.isalpha()]
    if sum(ord(letter) > 0x24F for letter in letters) > _OTHER_SCRIPT * len(letters):  # beyond Latin
        return False
    words = {word.casefold() for word in _WORD.findall(question)}
    english = words & (STOP_WORDS | ASKING_WORDS)
    others = (words & _OTHERS) - english
    return len(others) < _FEWEST or 2 * len(others) < len(english)
