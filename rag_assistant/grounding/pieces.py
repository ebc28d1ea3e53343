"""The pieces of a sentence: the text between punctuation marks and conjunctions that begin a clause."""

from __future__ import annotations

import re

_SEAM = re.compile(
    r"[;:!?,\u2014](?!\d)|\.(?=\s+(?-i:[A-Z])|\W*$)|\s-\s"
    r"|\b(?:but|while|whereas|although|though|because|since|when|if|unless|until|once|whether|how|as soon as)\b"
    r"|\b(?:opposed to|rather than|instead of)\b",
    re.IGNORECASE,
)


def pieces(text: str) -> list[str]:
    """The pieces of a text, in order; some may be empty."""
    return _SEAM.split(text)
