"""Sentences that instruct a reader or a machine instead of reporting something: these are no evidence.

An abstract reports in the third person or as "we". Text planted in it to steer a model (indirect prompt injection:
Greshake et al. 2023) addresses whoever reads it, and its form shows that: an imperative, a second person whose answer
is talked about, the mark-up or speaker labels of a chat, a named addressee. Judged by form, not by topic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from rag_assistant.evidence.base import EvidenceSentence, PaperEvidence, QuestionEvidence
from rag_assistant.grounding.support import word_recall
from rag_assistant.stop_words import STOP_WORDS

STRANGER = 0.1
"""A sentence beside an injected one belongs to it if the rest of the paper has less than this share of its words."""


_OWN = re.compile(
    r"\b(?:we|our|us|papers?|works?|stud(?:y|ies)|results?|experiments?|methods?|approach|proofs?)\b", re.IGNORECASE
)
"""A sentence with one of these is about the paper itself."""


def without_instructions(evidence: QuestionEvidence, question: str) -> QuestionEvidence:
    """The evidence with injected sentences marked: those that give instructions, and those that belong to them. They
    match nothing of the question. All sentences keep their places, and the abstracts their words.

    Args:
        evidence: What was found.
        question: In a paper with injected instructions, a sentence that repeats the question counts as injected too.
    """
    return replace(evidence, papers=tuple(_marked(paper, question) for paper in evidence.papers))


def _marked(paper: PaperEvidence, question: str) -> PaperEvidence:
    texts = [sentence.passage.text for sentence in paper.sentences]
    injected = {at for at, text in enumerate(texts) if gives_instructions(text)}
    if not injected:
        return paper
    # In a paper with instructions, neither quotation marks nor repeating the question are an excuse.
    injected |= {
        at
        for at, text in enumerate(texts)
        if _repeats(text, question) or gives_instructions(re.sub('["“”]', " . ", text))
    }
    injected |= _with_neighbours(paper.hit.paper.title, texts, injected)
    return replace(
        paper,
        sentences=tuple(_silenced(found) if at in injected else found for at, found in enumerate(paper.sentences)),
        reading=paper.reading and paper.reading.without(injected),
    )


def _with_neighbours(title: str, texts: Sequence[str], injected: set[int]) -> set[int]:
    """The injected sentences and their neighbours without words of the paper: some injected sentences only claim."""
    found = set(injected)
    for step in (1, -1):
        for at in range(len(texts))[::step]:
            if at - step in found and at not in found:
                others = [text for place, text in enumerate(texts) if place != at and place not in found]
                if not _OWN.search(texts[at]) and word_recall(texts[at], [title, *others]) < STRANGER:
                    found.add(at)
    return found


def _repeats(text: str, question: str) -> bool:
    words = re.findall(r"\w+", question.casefold())
    asks = question.rstrip().endswith("?") and len(words) > 3  # a reporting sentence may contain anything else
    return asks and " ".join(words) in " ".join(re.findall(r"\w+", text.casefold()))


def _silenced(sentence: EvidenceSentence) -> EvidenceSentence:
    nothing = tuple(0.0 for _ in sentence.matches), tuple(0.0 for _ in sentence.sides)
    return replace(sentence, cosine=0.0, matches=nothing[0], sides=nothing[1], orders=True)


@lru_cache(maxsize=8192)
def gives_instructions(sentence: str) -> bool:
    """Whether a sentence tells a reader or a machine what to do; in doubt it doesn't.

    An instruction that is only cited in quotation marks, as in "the prompt 'think step by step' helps", doesn't count,
    unless it is the whole sentence.
    """
    said = _QUOTATION.sub(" ", _CODE.sub(" ", sentence))
    if not re.search(r"[^\W\d_]{2}", said):
        said = sentence
    return any(pattern.search(said) for pattern in _ADDRESSING) or any(
        _commands(said[start.end() :], sure=bool(start["within"]))
        for start in _CLAUSE.finditer(said)
        if start.lastgroup or said[start.end() : start.end() + 1].isupper()
    )


_CODE = re.compile(r"```.*", re.DOTALL)
_QUOTATION = re.compile(r"[\"“][^\"“”]*[\"”]|(?<![^\W_])['‘][^'‘’]{2,}['’](?![^\W_])|``[^`']*''")
_MACHINE = (
    r"(?:ai|llms?|(?:large |ai )?(?:language |reviewing )?models?|(?:ai |automated )?(?:assistants?|agents?|chatbots?|"
    r"reviewers?|systems?)|(?:automated )?[a-z]+ (?:software|systems?))"
)
_OUTPUT = (
    r"(?:answers?|responses?|repl(?:y|ies)|outputs?|messages?|code|codebase|programs?|solutions?|implementations?|"
    r"instructions?|(?:system )?prompts?|explanations?|summary|review|algorithms?)"
)
_ADDRESSING = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # The mark-up of chats and templates.
        r"</?\s*(?:system|instructions?|assistant|user|prompt)\s*>|<\|[a-z_]+\|>",
        r"\[\s*/?\s*(?:system|inst|instructions?|assistant|admin)\b[^\]]{0,20}\]?|--[A-Z ,]* (?-i:INSTRUCTION)",
        # Speakers of a chat.
        r"(?:^|[.!?:,\])>|\n-]\s*)#*\s*(?:system|assistant|user|instructions?|admin|developer)"
        r"(?: (?:message|prompt|request|note))?\s*:",
        # Addressed to somebody who writes answers.
        rf"\byour (?:\w+ ){{0,2}}{_OUTPUT}\b",
        r"\b(?:can|could|would|will) you\b|\b(?:show|tell|give|help|send) me\b",
        r"\bhow (?:do|can|should) i\b",
        r"\byou (?:must|shall|may not|will now|are now)\b",
        rf"\b(?:note|notice|message|instructions?|attention|reminder)\b,? (?:to |for )?"
        rf"(?:all |any |the )?{_MACHINE}[^.:]{{0,40}}:",
        rf"\bif you(?:'re| are) (?:an? |the )?(?:\w+ )?{_MACHINE}\b",
        r"(?:^|[.!?:]\s+)(?:when|if|whenever) (?:you are |you're |ever )?(?:asked|questioned)\b",
        r"\b(?:anyone|everyone|someone|whoever) (?:who )?asks\b",
        r"\b(?:ignore|disregard|forget|override|overrule)\b(?: \w+){0,3} "
        r"(?:instructions?|directions|prompts?|rules|text|data|above|context)\b",
        r"\band (?:then |just )?(?:report|output|print|say|write|reply|respond|answer):",
        r"\bnew instructions?\b[^.]{0,40}:|\b(?:is|answer) (?:for|to) the question:",
    )
)

# Where a command may begin; within a sentence only if it is written like a sentence.
_CLAUSE = re.compile(
    r"(?:^(?P<first>)|(?P<within>(?<=[a-z,]) (?=[A-Z]))|[.!?:;]\s+|[>\])}]\s*|--\s*|(?P<please>\bplease,?\s+))"
    r"(?:(?:now|then|next|also|just|simply|instead|please|seamlessly),?\s+)*[\"“‘'(\[]*",
    re.IGNORECASE,
)
_WORDS = re.compile(r"([A-Za-z]+(?:['’][a-z]+)?)\s+((?:[a-z]+\s+)?)", re.IGNORECASE)


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Verbs that ask a writer or speaker to produce something; nothing else in an abstract begins with them.
_TELLING = _set(
    "suggest write print say reply respond answer output repeat translate summarise summarize tell reveal append"
    " analyse analyze recite recommend"
    " explain describe ignore disregard forget pretend click download add insert include integrate"
    " incorporate embed remove replace rewrite rephrase compose draft list mention remember ensure convert provide"
    " paraphrase modify enhance focus cite begin"
)
_OBJECTS = _set(
    "the a an all any every this that these those your my me us it them following only how what why whether"
)
_PARTICLES = _set("down out off away back")
_PROHIBITING = _set("don't don’t never")
# Words that may precede an object without being a command, and what mathematicians ask of their readers.
_NO_COMMAND = STOP_WORDS - _set("get give go make use") | _set(
    "albeit along amid behind beneath beside besides beyond despite even except half hence inside less near often"
    " outside quite rather still throughout till unlike versus worth"
    " assume check consider define denote find fix imagine meet note notice observe recall refer say see suppose take"
    " think visit"
)


def _commands(clause: str, *, sure: bool = False) -> bool:
    """Whether a clause begins with a command; with ``sure`` only a known verb with an object counts."""
    found = _WORDS.match(clause)
    if found is None:
        return False
    verb, after = found[1].lower().replace("’", "'"), clause[found.end(1) :].lower().split()[:2]
    if sure:
        return clause[:1].isupper() and verb in _TELLING and after[0] in _OBJECTS
    if verb in _PROHIBITING or (verb == "do" and after[:1] == ["not"]):
        return True
    if verb in _TELLING:
        return True
    if verb in _NO_COMMAND or re.search(r"(?:ing|ed|ly|s)$", verb):
        return False
    return after[0] in _OBJECTS or (after[0] in _PARTICLES and after[1:2] != [] and after[1] in _OBJECTS)
