"""Opens the system that an eval run asks: over the index as it is, or over one with transformed papers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_assistant.cli.session import opened, reporting
from rag_assistant.cli.state import State
from rag_assistant.errors import InputError

if TYPE_CHECKING:
    from rag_assistant.assistant import Assistant
    from rag_assistant.evals import Dataset, Transform
    from rag_assistant.settings import Settings
    from rag_assistant.types import Answer, Filters, Paper, Turn

TRANSFORM_NAMES = ("typos", "upper", "lower", "keywords", "gold-removed", "distractors", "injected")
"""As in ``rag_assistant.evals.TRANSFORMS``, whose import would take long for a help text."""
_SHOWN = 5


class _Changed:
    """An assistant over transformed papers, described as one over the index that these were made from."""

    def __init__(self, assistant: Assistant, index: str | None) -> None:
        self._assistant = assistant
        self._index = index

    def ask(self, question: str, *, history: Sequence[Turn] = (), filters: Filters | None = None) -> Answer:
        return self._assistant.ask(question, history=history, filters=filters)

    def papers(self) -> tuple[Paper, ...]:
        return self._assistant.papers()

    def describe(self) -> dict[str, Any]:
        # The temporary folder differs each time, but a resumed run must be of the same system.
        described = self._assistant.describe()
        return {**described, "settings": {**described["settings"], "index": self._index}}


def transform_from(state: State, name: str | None, seed: int, distractors: Path | None) -> Transform | None:
    """The transform that the flags name.

    Raises:
        InputError: There is none with that name, or distractors are given without a transform.
    """
    if name is None:
        if distractors is not None:
            raise InputError("--distractors adds papers for a transform.", hint="add --transform distractors")
        return None
    from rag_assistant.evals import transform_of
    from rag_assistant.loaders import load_papers

    if distractors is None:
        return transform_of(name, seed=seed)
    report = load_papers([distractors])
    for text in (*report.problems, *report.notes):
        state.note(str(text))
    return transform_of(name, seed=seed, added=report.papers)


@contextmanager
def asked(state: State, settings: Settings, dataset: Dataset, transform: Transform | None) -> Iterator[object]:
    """The system to ask. An index made for a transform is in a temporary folder.

    Raises:
        InputError: The index lacks papers that the questions are about, or its papers can't be transformed like this.
    """
    with opened(state, settings) as assistant:
        _check_papers(assistant, dataset)
        if transform is None or not transform.changes_papers:
            yield assistant
            return
        papers = transform.papers(assistant.papers(), dataset.cases)
        index = assistant.describe()["settings"]["index"]
    from rag_assistant.embedders.resolve import resolve_embedder
    from rag_assistant.index.build import build_index

    with tempfile.TemporaryDirectory(prefix="rag-assistant-") as made:
        folder = Path(made) / "index"
        embedder = resolve_embedder(settings.embedder, model=settings.embedder_model)
        with reporting(state) as shown:
            build_index(folder, papers, embedder, progress=shown)
        changed = settings.model_copy(update={"index": folder, "corpus": None, "chroma_url": None})
        with opened(state, changed, embedder=embedder) as assistant:
            yield _Changed(assistant, index)


def _check_papers(assistant: Assistant, dataset: Dataset) -> None:
    held = {paper.id for paper in assistant.papers()}
    place = assistant.settings.chroma_url or assistant.settings.index_path
    absent = list(dict.fromkeys(paper for case in dataset for paper in case.papers if paper not in held))
    if absent:
        named = ", ".join(absent[:_SHOWN]) + (f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else "")
        raise InputError(
            f"The questions are about papers that the index {place} lacks: {named}.",
            hint="rag-assistant index --index DIR indexes the bundled papers; then: rag-assistant eval run --index DIR",
        )
