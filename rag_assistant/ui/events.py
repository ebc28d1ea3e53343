"""What happens on the page: from what the browser sent to what it shows next. Nothing is kept between events."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from rag_assistant.errors import InputError, RagError
from rag_assistant.html import to_linked_markdown
from rag_assistant.render import to_bibtex
from rag_assistant.types import Answer, Filters, FinalEvent, StageEvent, TextEvent
from rag_assistant.ui import views
from rag_assistant.ui.book import Book, Chat, Exchange, new_id, read
from rag_assistant.ui.examples import about_corpus, examples
from rag_assistant.ui.service import Service

LONGEST_QUESTION = 20_000
_PAUSE = 0.05
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choices:
    """What the settings drawer holds."""

    backend: str | None
    k: int | None
    first_year: int | None
    last_year: int | None
    venues: tuple[str, ...]
    authors: tuple[str, ...]

    def filters(self, about: str = "") -> Filters | None:
        """The filters that are set; ``about`` is the id of one paper."""
        years = (self.first_year, self.last_year) if self.first_year or self.last_year else None
        return Filters(years, self.venues, self.authors, (about,) if about else ()) or None


class Events:
    """The page's handlers over one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._examples: tuple[str, ...] | None = None

    async def load(self, stored: Any) -> tuple[Any, ...]:
        """What a page shows when it has come: the chats that the browser kept, examples, what can be filtered by."""
        book = read(stored)
        try:
            assistant = await self._service.assistant()
            papers = assistant.papers()
        except Exception as error:
            message, hint = _told(error)
            shown = views.conversation(book.chat) if book.chat.exchanges else views.trouble(message, hint)
            return (shown, views.source_sets(book.chat), views.chat_list(book), "", *(gr.skip(),) * 4)
        years = [str(year) for year in sorted({paper.year for paper in papers if paper.year is not None})]
        venues = sorted({paper.venue for paper in papers if paper.venue})
        authors = sorted({name for paper in papers for name in paper.authors})
        shown = await self._conversation(book.chat)
        return (
            shown,
            views.source_sets(book.chat),
            views.chat_list(book),
            about_corpus(papers),
            gr.update(choices=years),
            gr.update(choices=years),
            gr.update(choices=venues),
            gr.update(choices=authors),
        )

    async def ask(
        self,
        stored: Any,
        backend: str | None,
        k: float | None,
        first_year: str | float | None,
        last_year: str | float | None,
        venues: list[str] | None,
        authors: list[str] | None,
        event: gr.EventData,
    ) -> AsyncIterator[tuple[Any, ...]]:
        """Answers a question as it is being written; outputs: store, conversation, under way, sources, chats."""
        sent = _data(event)
        book = read(stored)
        chat = book.chat
        place = _place(sent.get("edit"), chat)
        if place is not None:
            chat = replace(chat, exchanges=chat.exchanges[:place])
        place = len(chat.exchanges)
        question = str(sent.get("question") or "")[:LONGEST_QUESTION].strip()
        if not question:
            yield (gr.skip(),) * 5
            return
        asked = replace(chat, exchanges=(*chat.exchanges, Exchange(question)))
        book = book.put(asked)
        started = _Started(self._service, question, chat, place)
        yield (
            book.write(),
            views.conversation(asked, until=place),
            views.under_way(question, place, stage="waiting" if self._service.must_wait else "searching"),
            views.source_sets(asked, until=place),
            views.chat_list(book),
        )
        try:
            choices = Choices(backend, _whole(k), _year(first_year), _year(last_year), _named(venues), _named(authors))
            async for html in started.run(choices, str(sent.get("about") or "")):
                yield (gr.skip(), gr.skip(), html, gr.skip(), gr.skip())
            done = started.finished()
        except Exception as error:
            message, hint = _told(error)
            done = Exchange(question, partial=started.text, error=message, hint=hint)
        asked = replace(chat, exchanges=(*chat.exchanges, done))
        book = book.put(asked)
        yield (book.write(), views.conversation(asked), "", views.source_sets(asked), views.chat_list(book))

    def stop(self, stored: Any, event: gr.EventData) -> tuple[Any, ...]:
        """Keeps what had been written when the visitor stopped it; outputs as :meth:`ask`."""
        book = read(stored)
        chat = book.chat
        if not chat.exchanges or not chat.exchanges[-1].pending:
            return (gr.skip(), gr.skip(), "", gr.skip(), gr.skip())
        written = str(_data(event).get("text") or "")[: LONGEST_QUESTION * 5]
        stopped = replace(chat.exchanges[-1], stopped=True, partial=written)
        chat = replace(chat, exchanges=(*chat.exchanges[:-1], stopped))
        book = book.put(chat)
        return (book.write(), views.conversation(chat), "", views.source_sets(chat), views.chat_list(book))

    async def act(self, stored: Any, event: gr.EventData) -> tuple[Any, ...]:
        """Chats and feedback; outputs: store, conversation, sources, chats, file to save."""
        sent = _data(event)
        book = read(stored)
        do = sent.get("do")
        if do == "export":
            return (*(gr.skip(),) * 4, self._file(book.chat, sent))
        if do == "export-chat":
            chosen = next((chat for chat in book.chats if chat.id == sent.get("chat")), book.chat)
            return (*(gr.skip(),) * 4, _chat_file(chosen))
        book = _changed(book, str(do), sent)
        chat = book.chat
        return (
            book.write(),
            await self._conversation(chat),
            views.source_sets(chat),
            views.chat_list(book),
            gr.skip(),
        )

    async def _conversation(self, chat: Chat) -> str:
        if chat.exchanges:
            return views.conversation(chat)
        try:
            assistant = await self._service.assistant()
            if self._examples is None:
                self._examples = await examples(assistant)
            return views.conversation(chat, self._examples, about=about_corpus(assistant.papers()))
        except Exception as error:
            return views.trouble(*_told(error))

    def _file(self, chat: Chat, sent: Mapping[str, Any]) -> dict[str, str]:
        place = _place(sent.get("turn"), chat)
        exchange = chat.exchanges[place] if place is not None else None
        if exchange is None or exchange.answer is None:
            return {"error": "There is no answer to export."}
        answer, kind = exchange.answer, sent.get("kind")
        if kind == "bibtex":
            papers = [citation.paper for citation in answer.citations] or list(answer.nearest)
            return _download("references.bib", "application/x-bibtex", to_bibtex(papers))
        if kind == "json":
            return _download("answer.json", "application/json", json.dumps(exchange.raw, ensure_ascii=False, indent=2))
        return _download("answer.md", "text/markdown", to_linked_markdown(answer))


class _Started:
    """One question under way."""

    def __init__(self, service: Service, question: str, chat: Chat, place: int) -> None:
        self._service, self._question, self._chat, self._place = service, question, chat, place
        self._answer: Answer | None = None
        self.text = ""

    async def run(self, choices: Choices, about: str) -> AsyncIterator[str]:
        """What to show of it, whenever there is more, twenty times a second at most."""
        async with self._service.turn():
            assistant = await self._service.assistant(choices.backend)
            stream = assistant.astream(
                self._question, history=self._chat.history, k=choices.k, filters=choices.filters(about)
            )
            stage, detail, shown = "searching", "", 0.0
            async for event in stream.events():
                if isinstance(event, FinalEvent):
                    self._answer = event.answer
                    return
                if isinstance(event, StageEvent):
                    stage, detail = event.stage, event.detail
                elif isinstance(event, TextEvent):
                    self.text += event.text
                    if time.monotonic() - shown < _PAUSE:
                        continue
                else:
                    continue
                shown = time.monotonic()
                yield views.under_way(self._question, self._place, stage=stage, detail=detail, text=self.text)

    def finished(self) -> Exchange:
        """The exchange with its answer."""
        if self._answer is None:
            raise RagError("The answer broke off.", hint="ask again")
        return Exchange(self._question, self._answer, self._answer.to_dict())


def _changed(book: Book, do: str, sent: Mapping[str, Any]) -> Book:
    wanted = str(sent.get("chat") or "")
    known = next((chat for chat in book.chats if chat.id == wanted), None)
    if do == "new":
        return replace(book, open_id=new_id())
    if do == "open" and known:
        return replace(book, open_id=known.id)
    if do == "delete" and known:
        return book.without(known.id)
    if do == "rename" and known:
        name = " ".join(str(sent.get("name") or "").split())[:200]
        chats = tuple(replace(chat, name=name) if chat is known else chat for chat in book.chats)
        return replace(book, chats=chats)
    place = _place(sent.get("turn"), book.chat)
    if do == "feedback" and place is not None:
        chat = book.chat
        exchange = chat.exchanges[place]
        if "word" in sent:
            exchange = replace(exchange, word=str(sent["word"])[:500])
        else:
            liked = sent.get("value") == "up"
            exchange = replace(exchange, liked=None if exchange.liked is liked else liked)
        exchanges = (*chat.exchanges[:place], exchange, *chat.exchanges[place + 1 :])
        return book.put(replace(chat, exchanges=exchanges))
    return book


def _chat_file(chat: Chat) -> dict[str, str]:
    parts = [f"# {' '.join(chat.title.split())}\n"]
    for exchange in chat.exchanges:
        if exchange.answer is not None:
            parts.append(to_linked_markdown(exchange.answer))
            if exchange.liked is not None:
                said = f": {' '.join(exchange.word.split())}" if exchange.word else ""
                parts.append(f"*Marked as {'good' if exchange.liked else 'bad'}{said}*\n")
    return _download("chat.md", "text/markdown", "\n".join(parts))


def _download(name: str, mime: str, text: str) -> dict[str, str]:
    return {"name": name, "mime": mime, "text": text}


def _told(error: Exception) -> tuple[str, str]:
    """A message and a hint for people; what wasn't foreseen goes to the server's log, not to the page."""
    if isinstance(error, RagError):
        return error.message, error.hint
    _log.error("a question failed", exc_info=error)
    return f"Something on the server failed ({type(error).__name__}).", "ask again; the server's log has the details"


def _data(event: gr.EventData) -> dict[str, Any]:
    data = getattr(event, "_data", None)
    return data if isinstance(data, dict) else {}


def _place(value: Any, chat: Chat) -> int | None:
    """A number of an exchange of this chat, as the page sent it; else ``None``."""
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(chat.exchanges)
    return value if known else None


def _named(values: list[str] | None) -> tuple[str, ...]:
    """Without the empty text that a drop-down adds when it loses focus."""
    return tuple(value for value in values or () if value.strip())


def _year(value: str | float | None) -> int | None:
    text = str(value or "").strip()
    if not text:
        return None
    if not text.isdecimal():
        raise InputError(f"{text!r} is not a year.", hint="choose one in the settings, or clear the filters")
    return int(text)


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None else None
