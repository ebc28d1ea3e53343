"""Acronyms and other names, recognised by how they are written."""

from __future__ import annotations

import re

PLURAL = re.compile(r"\b([A-Z][A-Za-z\d]*[A-Z\d])s\b")
"""An acronym in the plural: "GNNs", "ReLUs"."""


def is_acronym(word: str) -> bool:
    """Whether a word is written like an acronym: at least two capitals or a capital and a digit."""
    return sum(character.isupper() for character in word) >= 2 or (
        any(c.isupper() for c in word) and any(c.isdigit() for c in word)
    )


def is_name(word: str) -> bool:
    """Whether a word is written like a name: like an acronym, or with a digit."""
    return is_acronym(word) or any(character.isdigit() for character in word)
