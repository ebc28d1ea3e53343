"""Reads what a server sends: events, however they are framed, and their text, counts and reasons.

Servers keep to the protocol as far as they like: no field is assumed to be there, or to have the right type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rag_assistant.types import Usage

_TEXTUAL = ("text", "output_text", "message")
"""The types of parts that are text; others are reasoning, calls of tools and the like."""
_REASONS = ("message", "msg", "detail", "error", "errors", "reason", "title")
MOST_BYTES = 8 * 2**20
"""No more than this is read of something without an end."""
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
_FILTERS = ("content_filter", "safety", "refusal")
_LENGTHS = ("length", "max_tokens", "max_output_tokens", "model_length")
_FAILURES = ("abort", "aborted", "cancelled", "canceled", "failed", "timeout", "insufficient_system_resource")
_DEPTH = 6
_MOST = 10**9
"""A number of tokens or dollars above this is ignored."""


class Failed(Exception):
    """A server says in its reply that it failed.

    Attributes:
        reason: In the server's own words.
        status: The status that the server gives the failure; 0 if it gives none.
        words: All that the server says, in lower case.
    """

    def __init__(self, reason: str, status: int = 0, words: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.words = words


class EventReader:
    """Bytes in, events out: JSON objects in ``data:`` lines, one per line, or one that is the whole body.

    Attributes:
        done: Whether the server said that this was all.
        framed: Whether this is a stream of events rather than plain JSON.
        page: Whether it is a web page.
        unread: Whether a part of it couldn't be read.
    """

    def __init__(self) -> None:
        self.done = self.framed = self.page = self.unread = False
        self._rest = bytearray()
        self._pending: list[str] = []
        self._size = 0
        self._error = False

    @property
    def held(self) -> int:
        """How many bytes have arrived that don't make a whole event yet."""
        return len(self._rest) + self._size

    def add(self, data: bytes) -> Iterator[dict[str, Any] | None]:
        """Adds the next bytes, and yields the events that they complete; ``None`` for one that can't be read."""
        self._rest += data
        if b"\n" in data:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                yield from self._line(line.decode("utf-8", "replace"))

    def end(self) -> Iterator[dict[str, Any] | None]:
        """The events left when nothing more will arrive."""
        yield from self._line(self._rest.decode("utf-8", "replace"))
        self._rest = bytearray()
        yield from self._whole()

    def _line(self, line: str) -> Iterator[dict[str, Any] | None]:
        line = line.strip("\r\ufeff")
        if self.done or not line.strip():
            if self.framed:
                yield from self._whole()
            return
        field, colon, value = line.partition(":")
        framed = bool(colon) and field in ("", "data", "event", "id", "retry")
        if framed and not self.framed:
            yield from self._whole()
            self.framed = True
        if field == "event":
            self._error = value.strip() == "error"
        text = line if not framed else value if field == "data" else ""
        if text.strip().upper() == "[DONE]":
            yield from self._whole()
            self.done = True
        elif text.strip():
            self._pending.append(text)
            self._size += len(text)
            if len(self._pending) == 1 and (read := _parsed(text)) is not None:  # don't wait for an empty line
                yield from self._read(read)

    def _whole(self) -> Iterator[dict[str, Any] | None]:
        """The event that several lines make together."""
        text = "\n".join(self._pending)
        if text:
            read = _parsed(text)
            if read is None and not self._error:
                self.unread = True
                self.page = text.lstrip().startswith("<")
                yield None
            else:
                yield from self._read(text if read is None else read)
        self._clear()
        self._error = False

    def _read(self, read: Any) -> Iterator[dict[str, Any]]:
        self._clear()
        if self._error:
            yield read if isinstance(read, dict) and "error" in read else {"error": read}
            return
        yield from (one for one in (read if isinstance(read, list) else [read]) if isinstance(one, dict))

    def _clear(self) -> None:
        self._pending.clear()
        self._size = 0


def _parsed(text: str) -> Any:
    """The JSON in a text, with ``null`` as an empty list; ``None`` if the text isn't JSON."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [] if read is None else read


def text_of(value: object, depth: int = _DEPTH) -> str:
    """The text of a content: a string, parts in a list, or an object that holds one of them."""
    if isinstance(value, str):
        return value
    if depth and isinstance(value, list):
        return "".join(text_of(part, depth - 1) for part in value)
    if depth and isinstance(value, dict) and (value.get("type") or "text") in _TEXTUAL:
        return next((text for key in ("content", "text", "value") if (text := text_of(value.get(key), depth - 1))), "")
    return ""


def thought_of(content: object, depth: int = _DEPTH) -> str:
    """The reasoning beside a content or among its parts."""
    if depth and isinstance(content, list):
        return "".join(thought_of(part, depth - 1) for part in content)
    if depth and isinstance(content, dict):
        keys = _THOUGHTS if (content.get("type") or "text") in _TEXTUAL else (*_THOUGHTS, "text")
        own = next((found for key in keys if (found := text_of(content.get(key)))), "")
        return own or thought_of(content.get("content"), depth - 1)
    return ""


def usage_of(reported: object, sent: str = "prompt_tokens", written: str = "completion_tokens") -> Usage | None:
    """A call's usage, given the names of its counts; implausible ones are left out; ``None`` if nothing is known."""
    if not isinstance(reported, dict):
        return None
    prompt, completion = _number(reported.get(sent)), _number(reported.get(written))
    usage = Usage(
        None if prompt is None else int(prompt),
        None if completion is None else int(completion),
        _number(reported.get("cost")),  # OpenRouter reports it, in US dollars
        calls=1,
    )
    return None if usage == Usage(calls=1) else usage


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        return None
    return float(value)


def finish_of(reason: object) -> str:
    """Why a reply ended, in the protocol's words, whatever the server's are; empty while the reply goes on.

    Raises:
        Failed: It ended with an error, or before it was complete.
    """
    word = reason.lower() if isinstance(reason, str) else "stop" if reason else ""
    if word == "error":
        raise Failed("no reason given")
    if word in _FAILURES:
        raise Failed(word)
    if word in _FILTERS:
        return "content_filter"
    if word in _LENGTHS:
        return "length"
    return "" if word in ("", "null", "none") else "stop"


def failure_in(event: dict[str, Any]) -> Failed | None:
    """The failure that an event reports; ``None`` if it reports none."""
    error = event.get("error") or event.get("errors")
    named = "error" in (event.get("type"), event.get("object"))
    bare = "choices" not in event and (event.get("detail") or isinstance(event.get("message"), str))
    if not (error or named or bare):
        return None
    words = json.dumps(event)
    codes = (holder.get(key) for holder in (error, event) if isinstance(holder, dict) for key in ("code", "status"))
    status = next((int(code) for code in map(str, codes) if re.fullmatch(r"[45]\d\d", code)), 0)
    return Failed(reason_of(error) or reason_of(event) or words, status, words.lower())


def message_in(body: str) -> str:
    """The reason in the body of a refusal; empty if that is a web page."""
    read = _parsed(body)
    if read is None:
        return "" if body.lstrip().startswith("<") else body.strip()
    return reason_of(read)


def reason_of(error: object, depth: int = _DEPTH) -> str:
    """An error's message to people, with the names of the fields that it is about."""
    if isinstance(error, str):
        return error.strip()
    if depth and isinstance(error, list):
        return "; ".join(filter(None, (reason_of(part, depth - 1) for part in error)))
    if depth and isinstance(error, dict):
        reason = next((found for key in _REASONS if (found := reason_of(error.get(key), depth - 1))), "")
        place = error.get("loc")  # FastAPI's
        return f"{'.'.join(map(str, place))}: {reason}" if reason and isinstance(place, list) else reason
    return ""
