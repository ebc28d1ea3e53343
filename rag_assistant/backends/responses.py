"""OpenAI's Responses API, for the models that Chat Completions doesn't offer."""

from __future__ import annotations

import re
from typing import Any

from rag_assistant.backends.calling import Options, Request
from rag_assistant.backends.chat_errors import broken_off
from rag_assistant.backends.replies import Delta
from rag_assistant.types import Usage

_ONLY = re.compile(r"(?:o\d|gpt-\d+(?:\.\d+)?)\S*-(?:pro|codex|deep-research)\b|codex-|computer-use")
_FINISHES = {"max_output_tokens": "length", "content_filter": "content_filter"}


def needs_responses(model: str) -> bool:
    """Whether a model is offered by this API only."""
    return _ONLY.match(model) is not None


def parameters(model: str, request: Request, options: Options) -> dict[str, Any]:
    """The request; nothing of it is to be kept by the server."""
    told: dict[str, Any] = {
        "model": model,
        "instructions": request.system,
        "input": request.user,
        "max_output_tokens": request.max_tokens,
        "store": False,
        "stream": True,
    }
    if options.temperature is not None:
        told["temperature"] = options.temperature
    return told


def delta(event: Any, server: str) -> Delta:
    """What an event of the stream brings.

    Raises:
        BackendError: It says that the answer failed.
    """
    kind = getattr(event, "type", "")
    if kind == "response.output_text.delta":
        return Delta(str(event.delta or ""))
    if kind.startswith("response.refusal"):
        return Delta(finish="content_filter")
    response = getattr(event, "response", None)
    if kind in ("response.failed", "error"):
        failure = getattr(response, "error", None) or event
        raise broken_off(server, str(getattr(failure, "message", "") or "no reason given"))
    if kind not in ("response.completed", "response.incomplete"):
        return Delta()
    reported = getattr(response, "usage", None)
    usage = Usage(reported.input_tokens, reported.output_tokens, calls=1) if reported is not None else None
    reason = getattr(getattr(response, "incomplete_details", None), "reason", None)
    finish = "stop" if kind == "response.completed" else _FINISHES.get(str(reason), "length")
    return Delta(finish=finish, usage=usage)
