"""What a server sends, read for what is in it: events however they are framed, and their text, counts and reasons.

Servers keep to the protocol as far as they like: nothing is taken to be there, or to be of the right type.
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
"""More than this is not read of what has no end."""
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
_FILTERS = ("content_filter", "safety", "refusal")
_LENGTHS = ("length", "max_tokens", "max_output_tokens", "model_length")
_FAILURES = ("abort", "aborted", "cancelled", "canceled", "failed", "timeout", "insufficient_system_resource")
_DEPTH = 6
_MOST = 10**9
"""A number of tokens or dollars above this is none."""


class Failed(Exception):
    """A server says in its reply that it failed.

    Attributes:
        reason: In its own words.
        status: The status that it gives the failure; 0 where it gives none.
        words: All that it says, in lower case.
    """

    def __init__(self, reason: str, status: int = 0, words: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.words = words


class EventReader:
    """Bytes in, events out: objects of JSON in ``data:`` lines, one a line, or one that is all of the body.

    Attributes:
        done: Whether the server said that this was all.
        framed: Whether it is a stream of events, no JSON as such.
        page: Whether what came is a web page.
        unread: Whether something of it couldn't be read.
    """

    def __init__(self) -> None:
        self.done = self.framed = self.page = self.unread = False
        self._rest = bytearray()
        self._pending: list[str] = []
        self._size = 0
        self._error = False

    @property
    def held(self) -> int:
        """How many bytes have come that are no whole event yet."""
        return len(self._rest) + self._size

    def add(self, data: bytes) -> Iterator[dict[str, Any] | None]:
        """Takes the next bytes in and yields the events that they complete, ``None`` for one that can't be read."""
        self._rest += data
        if b"\n" in data:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                yield from self._line(line.decode("utf-8", "replace"))

    def end(self) -> Iterator[dict[str, Any] | None]:
        """What is left when nothing more will come."""
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
            if len(self._pending) == 1 and (read := _parsed(text)) is not None:  # no empty line needs to follow
                yield from self._read(read)

    def _whole(self) -> Iterator[dict[str, Any] | None]:
        """What several lines make together."""
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
    """The JSON in a text, ``null`` as an empty list; ``None`` where the text is no JSON."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [] if read is None else read


def text_of(told: object, depth: int = _DEPTH) -> str:
    """The text of a content: a string, parts in a list, or an object that holds one of them."""
    if isinstance(told, str):
        return told
    if depth and isinstance(told, list):
        return "".join(text_of(part, depth - 1) for part in told)
    if depth and isinstance(told, dict) and (told.get("type") or "text") in _TEXTUAL:
        return next((text for key in ("content", "text", "value") if (text := text_of(told.get(key), depth - 1))), "")
    return ""


def thought_of(told: object, depth: int = _DEPTH) -> str:
    """The reasoning beside a content or among its parts."""
    if depth and isinstance(told, list):
        return "".join(thought_of(part, depth - 1) for part in told)
    if depth and isinstance(told, dict):
        keys = _THOUGHTS if (told.get("type") or "text") in _TEXTUAL else (*_THOUGHTS, "text")
        own = next((found for key in keys if (found := text_of(told.get(key)))), "")
        return own or thought_of(told.get("content"), depth - 1)
    return ""


def usage_of(told: object, sent: str = "prompt_tokens", written: str = "completion_tokens") -> Usage | None:
    """What a call took, by the names of its counts, as far as these can be right; ``None`` where nothing is known."""
    if not isinstance(told, dict):
        return None
    prompt, completion = _number(told.get(sent)), _number(told.get(written))
    usage = Usage(
        None if prompt is None else int(prompt),
        None if completion is None else int(completion),
        _number(told.get("cost")),  # OpenRouter tells it, in US dollars
        calls=1,
    )
    return None if usage == Usage(calls=1) else usage


def _number(told: object) -> float | None:
    if isinstance(told, bool) or not isinstance(told, int | float) or not 0 <= told < _MOST:
        return None
    return float(told)


def finish_of(told: object) -> str:
    """Why a reply ended, in the protocol's words, as servers have others; empty while it goes on.

    Raises:
        Failed: By an error, or before it was whole.
    """
    word = told.lower() if isinstance(told, str) else "stop" if told else ""
    if word == "error":
        raise Failed("no reason given")
    if word in _FAILURES:
        raise Failed(word)
    if word in _FILTERS:
        return "content_filter"
    if word in _LENGTHS:
        return "length"
    return "" if word in ("", "null", "none") else "stop"


def failure_in(told: dict[str, Any]) -> Failed | None:
    """The failure that an event tells of; ``None`` where it tells of none."""
    error = told.get("error") or told.get("errors")
    named = "error" in (told.get("type"), told.get("object"))
    bare = "choices" not in told and (told.get("detail") or isinstance(told.get("message"), str))
    if not (error or named or bare):
        return None
    words = json.dumps(told)
    codes = (holder.get(key) for holder in (error, told) if isinstance(holder, dict) for key in ("code", "status"))
    status = next((int(code) for code in map(str, codes) if re.fullmatch(r"[45]\d\d", code)), 0)
    return Failed(reason_of(error) or reason_of(told) or words, status, words.lower())


def said_in(body: str) -> str:
    """The reason in the body of a refusal; empty where it is a web page."""
    read = _parsed(body)
    if read is None:
        return "" if body.lstrip().startswith("<") else body.strip()
    return reason_of(read)


def reason_of(told: object, depth: int = _DEPTH) -> str:
    """What an error says to people, with the names of the fields that it is about."""
    if isinstance(told, str):
        return told.strip()
    if depth and isinstance(told, list):
        return "; ".join(filter(None, (reason_of(part, depth - 1) for part in told)))
    if depth and isinstance(told, dict):
        reason = next((found for key in _REASONS if (found := reason_of(told.get(key), depth - 1))), "")
        place = told.get("loc")  # FastAPI's
        return f"{'.'.join(map(str, place))}: {reason}" if reason and isinstance(place, list) else reason
    return ""
