"""Serves the suite's replies over HTTP to an assistant, and says what became of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rag_assistant import Assistant, Filters
from rag_assistant.bundled import bundled
from rag_assistant.embedders.base import Encoded
from rag_assistant.embedders.minilm import MiniLM
from rag_assistant.errors import BackendError
from rag_assistant.settings import Settings
from rag_assistant.types import Statement, TextEvent
from tests.backends.chat_server import Reply, Script, serving

from .cases import Case

CHUNK = 40


@dataclass(frozen=True)
class Outcome:
    """What became of a case; ``problem`` is empty where it is what must become of it."""

    case: Case
    statements: tuple[Statement, ...]
    problem: str


class Remembering(MiniLM):
    """Encodes each question once: the suite asks the same few again and again."""

    @lru_cache(maxsize=64)  # noqa: B019 - there is one for each run of the suite
    def encode_question(self, text: str) -> Encoded:
        return super().encode_question(text)


@contextmanager
def answering(folder: Path) -> Iterator[tuple[Assistant, Script]]:
    """An assistant over the bundled papers, indexed in the folder, whose model is a script."""
    with serving() as script:
        settings = Settings(index=folder, backend="openai-like", model="scripted", base_url=script.url)
        with Assistant.open(corpus=bundled("corpus"), embedder=Remembering(), settings=settings) as opened:
            yield opened, script


def outcomes(cases: Iterable[Case], opened: Assistant, script: Script) -> list[Outcome]:
    """Asks each case's question of its papers and lets the model reply as the case says."""
    return [_outcome(case, opened, script) for case in cases]


def _outcome(case: Case, opened: Assistant, script: Script) -> Outcome:
    text = case.reply
    script.say(Reply(tuple(text[at : at + CHUNK] for at in range(0, len(text), CHUNK))))
    statements: list[Statement] = []
    try:
        stream = opened.stream(case.question, filters=Filters(ids=case.papers))
        statements += [event.statement for event in stream.events() if isinstance(event, TextEvent) and event.statement]
        answer = stream.answer
    except BackendError as error:
        return Outcome(case, (), "" if type(error).__name__ == case.error else f"raised {type(error).__name__}")
    assert tuple(hit.paper.id for hit in answer.hits[:2]) == case.papers, "labels count the papers in another order"
    shown = answer.draft or answer.text
    cited = {citation.paper.id for citation in answer.citations}
    problems = [
        f"{case.error} was not raised" if case.error else "",
        f"status {answer.status}" if case.status and answer.status != case.status else "",
        _supports(case, statements),
        _dropped(case, answer.dropped_markers),
        f"cites {sorted(cited)}" if case.cites is not None and cited != set(case.cites) else "",
        *(f"lost {kept}" for kept in case.keeps if kept not in shown),
    ]
    return Outcome(case, tuple(statements), "; ".join(filter(None, problems)))


def _supports(case: Case, statements: list[Statement]) -> str:
    if case.status or case.error:
        return "something was told" if statements else ""
    found = ["supported" if statement.support == "supported" else "caught" for statement in statements]
    if case.supports is not None and found != list(case.supports) and set(case.supports) != {"caught"}:
        return f"{found}: {[statement.reason for statement in statements if statement.reason]}"
    if case.right and (not found or "caught" in found):
        return f"{found}: {[statement.reason for statement in statements if statement.reason]}"
    if not found:
        return "nothing was told"
    if case.changed:
        hidden = [s for s in statements if case.changed in s.text and s.support != "supported"]
        return "" if hidden else "the number passed"
    if case.right or case.keeps or (case.supports and "supported" in case.supports):
        return ""
    return "passed" if "supported" in found else ""


def _dropped(case: Case, dropped: int) -> str:
    if case.dropped is not None:
        return "" if dropped == case.dropped else f"{dropped} markers dropped"
    return f"{dropped} markers dropped" if case.right and dropped else ""
