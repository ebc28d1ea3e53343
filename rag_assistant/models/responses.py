"""OpenAI's Responses API, for models that Chat Completions doesn't offer."""

from __future__ import annotations

import re
from typing import Any

from rag_assistant.models.base import Delta, Request
from rag_assistant.models.events import Failed, failure_in, text_of, usage_of

_ONLY = re.compile(r"(?:o\d|gpt-\d+(?:\.\d+)?)\S*-(?:pro|codex|deep-research)\b|codex-|computer-use")
_FINISHES = {"max_output_tokens": "length", "content_filter": "content_filter"}


def needs_responses(model: str) -> bool:
    """Whether only this API offers a model."""
    return _ONLY.match(model) is not None


def parameters(model: str, request: Request) -> dict[str, Any]:
    """The parameters of a request; the server is asked to store nothing."""
    return {
        "model": model,
        "instructions": request.system,
        "input": request.user,
        "max_output_tokens": request.max_tokens,
        "store": False,
        "stream": True,
    }


class ResponseEvents:
    """Turns the events of a reply into deltas."""

    def __init__(self) -> None:
        self._streams = False

    def delta(self, event: dict[str, Any]) -> Delta:
        """The delta in an event.

        Raises:
            Failed: The event says that the answer failed.
        """
        kind = str(event.get("type") or "")
        if kind == "response.output_text.delta":
            self._streams = True
            return Delta(text_of(event.get("delta")))
        if kind == "response.refusal.delta":
            return Delta(refusal=text_of(event.get("delta")))
        if kind.startswith("response.reasoning"):
            return Delta(thought=text_of(event.get("delta")))
        response = event.get("response") if kind else event  # a whole reply
        response = response if isinstance(response, dict) else {}
        if failure := failure_in(response) or failure_in(event):
            raise failure
        status = str(response.get("status") or kind.rpartition(".")[2])
        if status == "failed":
            raise Failed("no reason given")
        if status not in ("completed", "incomplete"):
            return Delta()
        usage = usage_of(response.get("usage"), "input_tokens", "output_tokens")
        details = response.get("incomplete_details")
        reason = str(details.get("reason")) if isinstance(details, dict) else ""
        finish = "stop" if status == "completed" else _FINISHES.get(reason, "length")
        return Delta("" if self._streams else text_of(response.get("output")), finish, usage)
