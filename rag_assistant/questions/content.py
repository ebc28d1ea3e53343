"""Which words of a question say what it is about: neither stop words nor words that merely ask."""

from __future__ import annotations

import re

from rag_assistant.numerals import SMALL
from rag_assistant.stems import stem
from rag_assistant.stop_words import STOP_WORDS

ASKING_WORDS = frozenset(
    """abstract abstracts according answer article articles ask author authors claim claims collection corpus describe
    described describes discuss discussed discusses explain explains find finds list listed mention mentioned
    mentions name named paper papers present presented presents propose proposed proposes publication
    publications publish question report reported reports researcher researchers say says said show shown shows
    state stated states studied studies study summarise summarize talk talks tell tells thing things work works
    achieve achieved achieves introduce introduced introduces happen happens mean means call called provide
    provided provides actually exactly specific specifically main different stand stands abbreviation acronym
    originally deal deals dealing compare comparison difference differences""".split()
)
"""Words in which people ask about papers: they are rarely in the sentence that answers."""

GENERIC_WORDS = frozenset(SMALL[1:11]) | frozenset(
    """kind kinds type types sort form forms aspect aspects way ways thing things part parts role reason reasons purpose
    problem problems class classes property properties quantity quantities measure level effect effects variant
    variants version versions factor factors example examples point points percent percentage""".split()
)
"""Nouns for whatever is asked for: they say less about which papers belong in a list."""

BIBLIOGRAPHY_WORDS = frozenset(
    """wrote write written writes writer writers coauthor coauthors coauthored authored link links url page webpage
    website openreview pdf proceedings doi year date published publication venue conference journal title titled
    developed invented created introduced behind first last lead senior read download old recent come appear
    appeared who cited citations citation often affiliation affiliations affiliated university universities institute
    institution institutions funded financed sponsored paid research funding grant grants code
    repository repo github""".split()
)
"""Words that say which field of a record is asked for, but not of which paper."""


def is_content(word: str) -> bool:
    """Whether a word of a question says what the question is about, rather than how it asks."""
    lowered = word.lower()
    if lowered in STOP_WORDS or lowered in ASKING_WORDS:
        return False
    return len(word) > 1 or word.isdigit() or not word.isascii()


def content_words(text: str) -> list[str]:
    """The words of a text that say what it is about, in order."""
    return [word for word in re.findall(r"[^\W_]+", text) if is_content(word)]


def content_stems(text: str) -> frozenset[str]:
    """The stems of a text's content words."""
    return frozenset(map(stem, content_words(text)))
