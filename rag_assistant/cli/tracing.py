"""``ask --trace``: how an answer came about, from its stream of events."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rag_assistant.types import Answer, FinalEvent, Hit, HitsEvent, PromptEvent, StageEvent

if TYPE_CHECKING:
    from rag_assistant.answering.streams import AnswerStream


@dataclass(slots=True)
class StageTime:
    """A stage of the work and how many milliseconds it took."""

    name: str
    detail: str
    ms: float = 0.0


class Trace:
    """Stages with their times, what was searched for, hits with their scores, and the prompts that were sent."""

    def __init__(self) -> None:
        self._stages: list[StageTime] = []
        self._hits: list[Hit] = []
        self._prompts: list[PromptEvent] = []
        self._searched_for = ""
        self._since = time.perf_counter()

    def read(self, stream: AnswerStream) -> Answer:
        """Reads the stream to its answer; what happened until then is kept even if it fails."""
        try:
            for event in stream.events():
                if isinstance(event, StageEvent):
                    self._end_stage()
                    self._stages.append(StageTime(event.stage, event.detail))
                elif isinstance(event, HitsEvent):
                    self._hits += event.hits
                elif isinstance(event, PromptEvent):
                    self._prompts.append(event)
                elif isinstance(event, FinalEvent):
                    self._searched_for = event.answer.standalone_question
        finally:
            self._end_stage()
        return stream.answer

    def lines(self) -> Iterator[str]:
        """The trace in lines, for people."""
        for stage in self._stages:
            yield f"trace: {stage.name} {stage.ms:.1f} ms" + (f", {stage.detail}" if stage.detail else "")
        if self._searched_for:
            yield f"trace: searched for: {self._searched_for}"
        for hit in self._hits:
            scores = (("dense", hit.dense), ("lexical", hit.lexical), ("coverage", hit.coverage))
            parts = ", ".join(f"{name} {value:.3f}" for name, value in scores if value is not None)
            yield f"trace: hit {hit.rank}, score {hit.score:.4f} ({parts}): {hit.paper.id} {hit.paper.title}"
        for sent in self._prompts:
            prompt = sent.info
            yield f"trace: sent to {sent.backend} {sent.model}: {prompt.name} {prompt.version}, {prompt.sha256}"
            for line in f"{sent.system}\n\n{sent.user}".split("\n"):
                yield f"trace: | {line}"

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON types."""
        return {
            "stages": [asdict(stage) for stage in self._stages],
            "searched_for": self._searched_for,
            "hits": [hit.to_dict() for hit in self._hits],
            "prompts": [asdict(sent) for sent in self._prompts],
        }

    def _end_stage(self) -> None:
        now = time.perf_counter()
        if self._stages:
            self._stages[-1].ms = (now - self._since) * 1000
        self._since = now
