"""One visitor's chats, as kept in the browser: plain JSON outside, frozen types inside.

Visitors may change what their browser keeps, so everything read is checked, and what can't be read is left out. A quote
that isn't a span of its abstract is dropped, as everywhere.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from rag_assistant.types import Answer, Excerpt, Paper, Quote, Turn

VERSION = 1
MOST_CHARACTERS = 1_500_000
"""A browser keeps about five million characters for a site, and encryption makes them a third longer."""
MOST_CHATS = 100
HISTORY = 6
_NAME = 60
_KEPT = {"question": str, "stopped": bool, "error": str, "hint": str, "liked": bool, "word": str}
"""The fields of an exchange that are stored unchanged."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its outcome.

    Attributes:
        question: As asked.
        answer: The answer, if there is one.
        raw: The same answer as JSON, with the hits, for export.
        draft: What has been written of it so far, while there is no answer; its statements are checked.
        stopped: Whether the visitor stopped it.
        error: What went wrong, in one sentence.
        hint: What mends it.
        liked: Thumbs up or down; ``None`` is neither.
        word: The visitor's comment on that.
    """

    question: str
    answer: Answer | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    draft: Answer | None = None
    stopped: bool = False
    error: str = ""
    hint: str = ""
    liked: bool | None = None
    word: str = ""

    @property
    def pending(self) -> bool:
        """Whether there is no outcome yet; after a reload this means that it was cut short."""
        return self.answer is None and not self.stopped and not self.error


@dataclass(frozen=True, slots=True)
class Chat:
    """One conversation."""

    id: str
    name: str = ""
    exchanges: tuple[Exchange, ...] = ()

    @property
    def title(self) -> str:
        """The name given, or the first question."""
        first = self.exchanges[0].question if self.exchanges else "New chat"
        text = " ".join((self.name or first).split())
        return text if len(text) <= _NAME else f"{text[: _NAME - 1]}…"

    @property
    def history(self) -> list[Turn]:
        """The answered questions that a follow-up may refer to, oldest first."""
        return [(e.question, e.answer.text) for e in self.exchanges if e.answer is not None][-HISTORY:]


@dataclass(frozen=True, slots=True)
class ChatHistory:
    """All chats, the newest first, and which one is open."""

    chats: tuple[Chat, ...] = ()
    open_id: str = ""
    shortened: bool = False

    @property
    def chat(self) -> Chat:
        """The open chat; a new one if there is none."""
        return next((chat for chat in self.chats if chat.id == self.open_id), Chat(self.open_id or new_id()))

    def put(self, chat: Chat) -> ChatHistory:
        """The history with a chat in its place, or in front if it is new; it becomes the open one."""
        known = any(other.id == chat.id for other in self.chats)
        chats = tuple(chat if other.id == chat.id else other for other in self.chats)
        return replace(self, chats=chats if known else (chat, *chats), open_id=chat.id)

    def without(self, chat_id: str) -> ChatHistory:
        """The history without this chat."""
        chats = tuple(chat for chat in self.chats if chat.id != chat_id)
        return replace(self, chats=chats, open_id=new_id() if chat_id == self.open_id else self.open_id)

    def write(self) -> dict[str, Any]:
        """The history as JSON; the oldest chats are left out if it would be more than a browser keeps."""
        chats = [_write_chat(chat) for chat in self.chats if chat.exchanges or chat.name][:MOST_CHATS]
        size, kept = 0, 0
        for chat in chats:
            size += len(json.dumps(chat, ensure_ascii=False))
            if size > MOST_CHARACTERS and kept:
                break
            kept += 1
        return {"version": VERSION, "open": self.open_id, "chats": chats[:kept], "shortened": kept < len(chats)}


def new_id() -> str:
    """A new, unique id for a chat."""
    return secrets.token_hex(6)


def read(stored: Any) -> ChatHistory:
    """The chats that a browser kept; an empty history if there are none, or none that can be read."""
    if not isinstance(stored, dict) or stored.get("version") != VERSION:
        return ChatHistory(open_id=new_id())
    chats = [_read_chat(chat) for chat in _list(stored.get("chats"))[:MOST_CHATS]]
    known = tuple(chat for chat in chats if chat is not None)
    return ChatHistory(known, _text(stored.get("open")) or new_id(), stored.get("shortened") is True)


def _write_chat(chat: Chat) -> dict[str, Any]:
    return {"id": chat.id, "name": chat.name, "exchanges": [_write_exchange(e) for e in chat.exchanges]}


def _write_exchange(exchange: Exchange) -> dict[str, Any]:
    plain = {
        **{name: getattr(exchange, name) for name in _KEPT},
        "answer": dict(exchange.raw) or None,
        "nearest": [paper.to_dict() for paper in exchange.answer.nearest] if exchange.answer else None,
        "draft": exchange.draft.to_dict() if exchange.draft else None,
    }
    return {name: value for name, value in plain.items() if value not in (None, "", False, []) or name == "liked"}


def _read_chat(stored: Any) -> Chat | None:
    if not isinstance(stored, dict) or not _text(stored.get("id")):
        return None
    exchanges = tuple(_read_exchange(e) for e in _list(stored.get("exchanges")) if isinstance(e, dict))
    return Chat(_text(stored["id"]), _text(stored.get("name")), exchanges)


def _read_exchange(stored: Mapping[str, Any]) -> Exchange:
    answer = _read(stored.get("answer"), _list(stored.get("nearest")))
    kept = {name: stored[name] for name, kind in _KEPT.items() if isinstance(stored.get(name), kind)}
    raw = stored["answer"] if answer else {}
    return Exchange(**{"question": "", **kept}, answer=answer, raw=raw, draft=_read(stored.get("draft")))


def _read(raw: Any, nearest: Sequence[Any] = ()) -> Answer | None:
    try:
        return read_answer(raw, nearest) if isinstance(raw, dict) and raw else None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def read_answer(raw: Mapping[str, Any], nearest: Sequence[Any] = ()) -> Answer:
    """The answer that ``Answer.to_dict`` wrote, without its hits; ``nearest`` are its nearest papers as whole records.

    Raises:
        KeyError, TypeError, ValueError: This isn't such an answer.
    """
    known = {field.name for field in fields(Answer)} - {"hits", "nearest", "closest"}
    answer = _adapter().validate_python({**{n: raw[n] for n in raw if n in known}, "nearest": list(nearest)})
    text = answer.text
    if any(
        not 0 <= one.start <= one.end <= len(text) or text[one.start : one.end] != one.text for one in answer.statements
    ):
        raise ValueError("not statements of this text")
    citations = tuple(
        replace(one, quotes=tuple(quote for quote in one.quotes if _stands(quote, one.paper)))
        for one in answer.citations
    )
    return replace(answer, citations=citations, closest=_closest(raw.get("closest"), answer.nearest))


@cache
def _adapter() -> TypeAdapter[Answer]:
    return TypeAdapter(Answer)


def _closest(raw: Any, nearest: Sequence[Paper]) -> Excerpt | None:
    """The closest words, whose paper is among the nearest; ``None`` if that paper doesn't have them."""
    if not isinstance(raw, dict):
        return None
    paper = next((paper for paper in nearest if paper.id == raw["paper"]["id"]), None)
    quote = Quote(str(raw["quote"]["text"]), int(raw["quote"]["start"]), int(raw["quote"]["end"]))
    return Excerpt(paper, quote) if paper and _stands(quote, paper) else None


def _stands(quote: Quote, paper: Paper) -> bool:
    return 0 <= quote.start < quote.end and paper.abstract[quote.start : quote.end] == quote.text


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
