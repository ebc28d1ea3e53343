"""Eval sets: JSON Lines of questions with their gold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rag_assistant.bundled import bundled
from rag_assistant.errors import InputError, LoadError
from rag_assistant.evals.case import CATEGORIES, Case, CaseProblem
from rag_assistant.evals.records import case_of
from rag_assistant.types import Paper


@dataclass(frozen=True)
class Dataset:
    """Questions in a fixed order.

    Attributes:
        cases: The questions.
        name: For people; the name of the file, if there is one.
        sha256: The hash of the file's bytes, or of the cases if there is no file.
    """

    cases: tuple[Case, ...]
    name: str = "custom"
    sha256: str = ""

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for case in self.cases:
            if case.id in seen:
                raise InputError(f"Two questions of {self.name} have the id {case.id!r}.", hint="give each its own")
            seen.add(case.id)
        if not self.sha256:
            digest = hashlib.sha256("".join(case.sha256 for case in self.cases).encode()).hexdigest()
            object.__setattr__(self, "sha256", digest)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def __len__(self) -> int:
        return len(self.cases)

    def case(self, case_id: str) -> Case:
        """The question with that id.

        Raises:
            InputError: There is no such question.
        """
        for case in self.cases:
            if case.id == case_id:
                return case
        raise InputError(f"There is no question {case_id!r} in {self.name}.", hint="ids are the `id` fields of the set")

    @classmethod
    def load(cls, path: Path | str | None = None) -> Dataset:
        """Reads a set; by default the one over the 19 abstracts that ships with the package.

        Raises:
            LoadError: The file can't be read, or a line isn't a question; the first fault is named.
        """
        cases, problems, sha256, name = _read(Path(path) if path else default_set())
        if problems:
            more = f", and {len(problems) - 1} more faults" if len(problems) > 1 else ""
            raise LoadError(f"{problems[0]}{more}", hint="rag-assistant eval validate FILE lists all of them")
        return cls(cases, name, sha256)

    @classmethod
    def of(cls, cases: Iterable[Case], name: str = "custom") -> Dataset:
        """A set of cases made in Python."""
        return cls(tuple(cases), name)

    def select(
        self,
        *,
        split: str = "all",
        categories: Sequence[str] = (),
        ids: Sequence[str] = (),
        limit: int | None = None,
    ) -> Dataset:
        """The questions of a split, of some categories or with some ids, at most ``limit``, in the same order.

        The hash stays that of the whole set: it says which questions these are a part of.

        Raises:
            InputError: There is no such split or category, ``limit`` is below 1, or nothing is left.
        """
        if split not in {"all", "dev", "test"}:
            raise InputError(f"There is no split {split!r}.", hint="one of dev, test, all")
        for category in categories:
            if category not in CATEGORIES:
                raise InputError(f"There is no category {category!r}.", hint=f"one of {', '.join(CATEGORIES)}")
        if limit is not None and limit < 1:
            raise InputError(f"A limit of {limit} leaves no question.", hint="give at least 1")
        chosen = [
            case
            for case in self.cases
            if (split == "all" or case.split == split)
            and (not categories or case.category in categories)
            and (not ids or case.id in ids)
        ][:limit]
        if not chosen:
            raise InputError(f"No question of {self.name} fits.", hint="loosen split, categories or ids")
        return replace(self, cases=tuple(chosen))

    def validate(self, papers: Iterable[Paper]) -> tuple[CaseProblem, ...]:
        """Everything that is wrong with the questions, given the papers that they are about; see :mod:`.validate`."""
        from rag_assistant.evals.validate import problems_of

        return problems_of(self.cases, tuple(papers), file=self.name)


def default_set() -> Path:
    """Where the set that ships with the package is: inside it when installed, beside it in a checkout."""
    return bundled("evals") / "questions.jsonl"


def validate_file(path: Path | str, papers: Iterable[Paper]) -> tuple[CaseProblem, ...]:
    """All faults in a set's file: those of form and, for well-formed lines, those that the papers show.

    Raises:
        LoadError: The file can't be read at all.
    """
    from rag_assistant.evals.validate import problems_of

    cases, problems, _, name = _read(Path(path))
    return (*problems, *problems_of(cases, tuple(papers), file=name))


def _read(path: Path) -> tuple[tuple[Case, ...], tuple[CaseProblem, ...], str, str]:
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise LoadError(
            f"The eval set {path} can't be read: {error.strerror}.", hint="give the path of a file"
        ) from None
    except UnicodeDecodeError:
        raise LoadError(f"The eval set {path} is not UTF-8.", hint="save it as UTF-8") from None
    cases: list[Case] = []
    problems: list[CaseProblem] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            problems.append(CaseProblem(path.name, number, "", f"not JSON: {error}"))
            continue
        case, faults = case_of(record, number)
        problems += [CaseProblem(path.name, number, field, message) for field, message in faults]
        if case is None:
            continue
        if case.id in seen:
            problems.append(CaseProblem(path.name, number, "id", f"also the id of line {seen[case.id]}", case.id))
            continue
        seen[case.id] = number
        cases.append(case)
    if not cases and not problems:
        problems.append(CaseProblem(path.name, 0, "", "holds no question"))
    return tuple(cases), tuple(problems), hashlib.sha256(data).hexdigest(), path.name
