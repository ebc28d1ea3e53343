"""How much of a body is read, and for how long, where the client library would read all of it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from rag_assistant.models.events import MOST_BYTES


class _Bounded(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body cut off after so many seconds or :data:`MOST_BYTES`."""

    def __init__(self, body: Any, seconds: float) -> None:
        self._body = body
        self._until = time.monotonic() + seconds
        self._size = 0

    def __iter__(self) -> Iterator[bytes]:
        for part in self._body:
            yield part
            if self._full(part):
                return

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._body:
            yield part
            if self._full(part):
                return

    def close(self) -> None:
        """Hangs up if not all was read."""
        self._body.close()

    async def aclose(self) -> None:
        """The same."""
        await self._body.aclose()

    def _full(self, part: bytes) -> bool:
        self._size += len(part)
        return self._size >= MOST_BYTES or time.monotonic() > self._until


def limit_body(response: httpx.Response) -> None:
    """An event hook that bounds a refusal, a redirect or a list; a stream of words is bounded by its reader."""
    if not response.is_success or response.request.method == "GET":
        response.stream = _Bounded(response.stream, response.request.extensions["timeout"]["read"])


async def alimit_body(response: httpx.Response) -> None:
    """The same, for async."""
    limit_body(response)
