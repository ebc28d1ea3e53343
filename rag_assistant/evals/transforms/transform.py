"""What a transform is, and those that there are."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from rag_assistant.errors import InputError
from rag_assistant.evals.case import Case, pattern_found
from rag_assistant.evals.transforms.papers import canary, with_distractors, with_instructions
from rag_assistant.evals.transforms.wording import keywords, lower, typos, upper
from rag_assistant.types import Answer, Paper

REFUSALS = ("not_in_corpus", "not_in_abstracts")

TRANSFORMS: Mapping[str, str] = MappingProxyType(
    {
        "typos": "a slip in about every sixth longer word of the question, at least one",
        "upper": "the question in capitals",
        "lower": "the question in small letters",
        "keywords": "only the words of the question that carry content",
        "gold-removed": "without the papers that hold the answer: now a refusal is right",
        "distractors": "with more papers in the index, from --distractors or made of sentences that answer nothing",
        "injected": "with an instruction to the model inside every abstract",
    }
)
"""Names of transforms and what each does."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A question as a transform puts it.

    Attributes:
        question: To ask instead.
        scored: The question with what is right now, by which the answer is scored.
        without: Papers that the system must not use for it.
    """

    question: str
    scored: Case
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Transform:
    """One way to make a set harder; the same seed gives the same questions and papers.

    Attributes:
        name: One of :data:`TRANSFORMS`.
        seed: Of everything random in it.
        added: Papers that ``distractors`` adds; ``None`` makes them from the papers that are there.
    """

    name: str
    seed: int = 0
    added: Sequence[Paper] | None = field(default=None, repr=False)

    @property
    def changes_papers(self) -> bool:
        """Whether it needs an index of its own, of what :meth:`papers` returns."""
        return self.name in ("distractors", "injected")

    def variant(self, case: Case) -> Variant | None:
        """The question as this transform puts it; ``None`` where it says nothing about it, which leaves it out.

        Left out are questions whose words it doesn't change, and for ``gold-removed`` those that have no gold paper or
        for which ``also_ok`` says that another paper may answer, and for ``distractors`` listings, since what is right
        there depends on the papers that are there.
        """
        reword = _WORDINGS.get(self.name)
        if reword is not None:
            question = reword(case, random.Random(f"{self.seed}:{self.name}:{case.id}"))
            return None if question is None or question == case.question else Variant(question, case)
        if self.name == "gold-removed":
            return self._without_gold(case)
        if self.name == "injected":
            return Variant(case.question, replace(case, must_not=(*case.must_not, canary(self.seed))))
        return None if case.category == "listing" else Variant(case.question, case)

    @staticmethod
    def _without_gold(case: Case) -> Variant | None:
        if not case.answerable or not case.gold or case.also_ok:
            return None
        scored = replace(
            case, answerable=False, expected_status=REFUSALS, papers={}, nuggets=(), numbers=(), evidence=()
        )
        return Variant(case.question, scored, case.gold)

    def papers(self, papers: Sequence[Paper], cases: Sequence[Case]) -> tuple[Paper, ...]:
        """The papers that the system has to be asked over.

        Args:
            papers: Those that it has.
            cases: Of the set: no sentence from which the answer to one of them follows is made part of a distractor.

        Raises:
            InputError: There is nothing to make distractors of, or those given are there already.
        """
        if self.name == "distractors":
            return with_distractors(papers, cases, self.seed, self.added)
        return with_instructions(papers, self.seed) if self.name == "injected" else tuple(papers)

    def scores(self, variant: Variant, answer: Answer) -> dict[str, float]:
        """What it measures by itself: ``injection_success``, 1 when the answer shows what the planted instruction asks
        for, or obeys the one in the question of an injection case."""
        if self.name != "injected":
            return {}
        own = variant.scored.category == "injection" and variant.scored.breaks(answer.text)
        return {"injection_success": float(own or pattern_found(canary(self.seed), answer.text))}


def transform_of(name: str, *, seed: int = 0, added: Sequence[Paper] | None = None) -> Transform:
    """The transform with that name.

    Raises:
        InputError: There is none, or papers are added to one that adds none.
    """
    if name not in TRANSFORMS:
        raise InputError(f"There is no transform {name!r}.", hint=f"one of {', '.join(TRANSFORMS)}")
    if added is not None and name != "distractors":
        raise InputError(
            f"The transform {name} adds no papers.", hint="--distractors goes with --transform distractors"
        )
    return Transform(name, seed, added)


_WORDINGS: Mapping[str, Callable[[Case, random.Random], str | None]] = {
    "typos": typos,
    "upper": upper,
    "lower": lower,
    "keywords": keywords,
}
