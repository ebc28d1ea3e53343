"""The chats of one visitor, as they are kept in the browser: plain JSON outside, frozen types inside.

What comes back from a browser is a visitor's to change, so everything read is checked and what can't be read is left
out. A quote that isn't a span of its abstract is dropped, as everywhere.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from rag_assistant.types import (
    Answer,
    Citation,
    Excerpt,
    Paper,
    PromptInfo,
    Quote,
    QuoteRef,
    Statement,
    Status,
    Support,
    Turn,
    Usage,
)

VERSION = 1
MOST_CHARACTERS = 1_500_000
"""A browser keeps about five million characters for a site, and encryption makes them a third longer."""
MOST_CHATS = 100
HISTORY = 6
_NAME = 60


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and what became of it.

    Attributes:
        question: As asked.
        answer: Where there is one.
        raw: The same answer as JSON, with the hits, for export.
        draft: What had been written of it so far, while there is no answer; its statements are checked.
        stopped: Whether it was stopped.
        error: What went wrong, in one sentence.
        hint: What mends it.
        liked: Thumbs up or down; ``None`` is no word on it.
        word: What the visitor added to that.
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
        """Whether nothing has become of it yet; after a reload, whether it was broken off."""
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
        """The answered questions for a follow-up, oldest first."""
        return [(e.question, e.answer.text) for e in self.exchanges if e.answer is not None][-HISTORY:]


@dataclass(frozen=True, slots=True)
class Book:
    """All chats, the newest first, and which one is open."""

    chats: tuple[Chat, ...] = ()
    open_id: str = ""
    shortened: bool = False

    @property
    def chat(self) -> Chat:
        """The open chat; a new one where there is none."""
        return next((chat for chat in self.chats if chat.id == self.open_id), Chat(self.open_id or new_id()))

    def put(self, chat: Chat) -> Book:
        """With the chat in its place, or in front where it is new; it is the open one."""
        known = any(other.id == chat.id for other in self.chats)
        chats = tuple(chat if other.id == chat.id else other for other in self.chats)
        return replace(self, chats=chats if known else (chat, *chats), open_id=chat.id)

    def without(self, chat_id: str) -> Book:
        """Without this chat."""
        chats = tuple(chat for chat in self.chats if chat.id != chat_id)
        return replace(self, chats=chats, open_id=new_id() if chat_id == self.open_id else self.open_id)

    def write(self) -> dict[str, Any]:
        """As JSON; the oldest chats are left out where it would be more than a browser keeps."""
        chats = [_write_chat(chat) for chat in self.chats if chat.exchanges or chat.name][:MOST_CHATS]
        size, kept = 0, 0
        for chat in chats:
            size += len(json.dumps(chat, ensure_ascii=False))
            if size > MOST_CHARACTERS and kept:
                break
            kept += 1
        return {"version": VERSION, "open": self.open_id, "chats": chats[:kept], "shortened": kept < len(chats)}


def new_id() -> str:
    """A name for a chat that no other chat has."""
    return secrets.token_hex(6)


def read(stored: Any) -> Book:
    """The chats that a browser kept; an empty book where it holds none, or none that can be read."""
    if not isinstance(stored, dict) or stored.get("version") != VERSION:
        return Book(open_id=new_id())
    chats = [_read_chat(chat) for chat in _list(stored.get("chats"))[:MOST_CHATS]]
    known = tuple(chat for chat in chats if chat is not None)
    return Book(known, _text(stored.get("open")) or new_id(), stored.get("shortened") is True)


def _write_chat(chat: Chat) -> dict[str, Any]:
    return {"id": chat.id, "name": chat.name, "exchanges": [_write_exchange(e) for e in chat.exchanges]}


def _write_exchange(exchange: Exchange) -> dict[str, Any]:
    plain = {
        "question": exchange.question,
        "answer": dict(exchange.raw) or None,
        "nearest": [paper.to_dict() for paper in exchange.answer.nearest] if exchange.answer else None,
        "draft": exchange.draft.to_dict() if exchange.draft else None,
        "stopped": exchange.stopped,
        "error": exchange.error,
        "hint": exchange.hint,
        "liked": exchange.liked,
        "word": exchange.word,
    }
    return {name: value for name, value in plain.items() if value not in (None, "", False, []) or name == "liked"}


def _read_chat(stored: Any) -> Chat | None:
    if not isinstance(stored, dict) or not _text(stored.get("id")):
        return None
    exchanges = tuple(_read_exchange(e) for e in _list(stored.get("exchanges")) if isinstance(e, dict))
    return Chat(_text(stored["id"]), _text(stored.get("name")), exchanges)


def _read_exchange(stored: Mapping[str, Any]) -> Exchange:
    answer = _read(stored.get("answer"), _list(stored.get("nearest")))
    liked = stored.get("liked")
    return Exchange(
        question=_text(stored.get("question")),
        answer=answer,
        raw=stored["answer"] if answer else {},
        draft=_read(stored.get("draft")),
        stopped=stored.get("stopped") is True,
        error=_text(stored.get("error")),
        hint=_text(stored.get("hint")),
        liked=liked if isinstance(liked, bool) else None,
        word=_text(stored.get("word")),
    )


def _read(raw: Any, nearest: Sequence[Any] = ()) -> Answer | None:
    try:
        return read_answer(raw, nearest) if isinstance(raw, dict) and raw else None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def read_answer(raw: Mapping[str, Any], nearest: Sequence[Any] = ()) -> Answer:
    """The answer that ``Answer.to_dict`` wrote, without its hits.

    Raises:
        KeyError, TypeError, ValueError: It isn't one.
    """
    status = raw["status"]
    if status not in get_args(Status):
        raise ValueError("unknown status")
    prompt = raw.get("prompt")
    usage = raw.get("usage") or {}
    timings = raw.get("timings_ms") or {}
    return Answer(
        question=_text(raw["question"]),
        standalone_question=_text(raw.get("standalone_question")),
        status=status,
        text=_text(raw["text"]),
        statements=tuple(_statement(one, _text(raw["text"])) for one in raw["statements"]),
        citations=tuple(_citation(one) for one in raw["citations"]),
        nearest=tuple(_paper(one) for one in nearest),
        closest=_closest(raw.get("closest"), nearest),
        looked_for=_texts(raw.get("looked_for")),
        considered=int(raw.get("considered") or 0),
        matched=raw["matched"] if isinstance(raw.get("matched"), int) else None,
        confidence=raw["confidence"] if isinstance(raw.get("confidence"), float) else None,
        notices=_texts(raw.get("notices")),
        dropped_markers=int(raw.get("dropped_markers") or 0),
        backend=_text(raw.get("backend")),
        model=_text(raw.get("model")),
        prompt=PromptInfo(*(_text(prompt.get(name)) for name in ("name", "version", "sha256"))) if prompt else None,
        usage=Usage(
            prompt_tokens=_count(usage.get("prompt_tokens")),
            completion_tokens=_count(usage.get("completion_tokens")),
            cost=_number(usage.get("cost")),
            calls=_count(usage.get("calls")) or 0,
        ),
        timings_ms={_text(name): float(value) for name, value in timings.items()},
        draft=_text(raw.get("draft")),
    )


def _statement(raw: Mapping[str, Any], text: str) -> Statement:
    start, end = int(raw["start"]), int(raw["end"])
    if not 0 <= start <= end <= len(text) or raw["support"] not in get_args(Support):
        raise ValueError("not a statement of this text")
    return Statement(
        text=text[start:end],
        start=start,
        end=end,
        citations=tuple(int(number) for number in raw["citations"]),
        support=raw["support"],
        basis="bibliography" if raw.get("basis") == "bibliography" else "abstract",
        reason=_text(raw.get("reason")),
        quotes=tuple(
            QuoteRef(int(ref["citation"]), int(ref["start"]), int(ref["end"])) for ref in _list(raw.get("quotes"))
        ),
    )


def _closest(raw: Any, nearest: Sequence[Any]) -> Excerpt | None:
    """The closest words, whose paper is among the nearest; ``None`` where they are not its words."""
    if not isinstance(raw, dict):
        return None
    paper = next((paper for paper in map(_paper, nearest) if paper.id == raw["paper"]["id"]), None)
    quote = Quote(_text(raw["quote"]["text"]), int(raw["quote"]["start"]), int(raw["quote"]["end"]))
    return Excerpt(paper, quote) if paper and paper.abstract[quote.start : quote.end] == quote.text else None


def _citation(raw: Mapping[str, Any]) -> Citation:
    paper = _paper(raw["paper"])
    spans = [(int(quote["start"]), int(quote["end"]), quote["text"]) for quote in raw["quotes"]]
    quotes = tuple(Quote(text, a, b) for a, b, text in spans if 0 <= a < b and paper.abstract[a:b] == text)
    return Citation(int(raw["number"]), paper, quotes)


def _paper(raw: Mapping[str, Any]) -> Paper:
    year = raw.get("year")
    return Paper(
        id=_text(raw["id"]),
        title=_text(raw["title"]),
        abstract=_text(raw.get("abstract")),
        authors=_texts(raw.get("authors")),
        year=year if isinstance(year, int) else None,
        venue=_text(raw.get("venue")) or None,
        url=_text(raw.get("url")) or None,
        doi=_text(raw.get("doi")) or None,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(one for one in _list(value) if isinstance(one, str))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
