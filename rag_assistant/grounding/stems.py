"""Word stems for comparing what two sentences say: inflections are cut, derived words are kept apart."""

from __future__ import annotations

import re
from functools import lru_cache

_ENDING = re.compile(r"(?:ies|ied|ing|(?<!e)ed|es|s|e)$")


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """The word in small letters without its inflection: "reduces", "reduced" and "reducing" have one stem."""
    lowered = word.lower().removesuffix("'s").removesuffix("\u2019s")
    if len(lowered) <= 3 or lowered.endswith("ss"):
        return lowered
    cut = _ENDING.sub("", lowered.replace("yz", "ys").replace("iz", "is"))
    if len(cut) < 3:
        return lowered
    if len(cut) > 4 and cut[-1] == cut[-2] and cut[-1] not in "aeiousl":
        cut = cut[:-1]  # "dropped", "dropping"
    return cut.removesuffix("y") if len(cut) > 3 else cut
