"""English number words."""

from __future__ import annotations

SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True))
NUMBER_WORDS = {
    **{word: value for value, word in enumerate(SMALL)},
    **_TENS,
    **{f"{tens}-{SMALL[ones]}": value + ones for tens, value in _TENS.items() for ones in range(1, 10)},
}
"""The values of number words, up to "ninety-nine"."""
SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
