"""What happens on the page: from what the browser sent to what it shows next. Nothing is kept between events."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import gradio as gr

from rag_assistant.errors import RagError
from rag_assistant.html import to_linked_markdown
from rag_assistant.render import to_bibtex
from rag_assistant.types import Answer, Length
from rag_assistant.ui import views
from rag_assistant.ui.asking import Asking, Choices
from rag_assistant.ui.chat_history import Chat, ChatHistory, Exchange, new_id, read
from rag_assistant.ui.examples import about_corpus, examples
from rag_assistant.ui.service import Service

LONGEST_QUESTION = 20_000
_log = logging.getLogger(__name__)


class Handlers:
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
        length: Length | None,
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
        asking = Asking(question, "queued" if self._service.must_wait else "searching")
        asked = _with(chat, Exchange(question))
        book = book.put(asked)
        yield (
            book.write(),
            views.conversation(asked, until=place),
            views.under_way(question, place, stage=asking.stage),
            views.source_sets(asked),
            views.chat_list(book),
        )
        try:
            choices = Choices.sent(backend, k, length, first_year, last_year, venues, authors)
            about = str(sent.get("about") or "")
            async for draft, cites in asking.run(self._service, choices, chat.history, about):
                html = views.under_way(question, place, draft, stage=asking.stage, detail=asking.detail)
                if cites:  # kept as well, so that stopping and leaving the page lose no source
                    asked = _with(chat, Exchange(question, draft=draft))
                    book = book.put(asked)
                    yield (book.write(), gr.skip(), html, views.source_sets(asked), gr.skip())
                else:
                    yield (gr.skip(), gr.skip(), html, gr.skip(), gr.skip())
            done = asking.finished()
        except Exception as error:
            done = asking.failed(*_told(error))
        asked = _with(chat, done)
        book = book.put(asked)
        yield (book.write(), views.conversation(asked), "", views.source_sets(asked), views.chat_list(book))

    def stop(self, stored: Any, event: gr.EventData) -> tuple[Any, ...]:
        """Keeps what had been written when the visitor stopped it; outputs as :meth:`ask`."""
        book = read(stored)
        chat = book.chat
        if not chat.exchanges or not chat.exchanges[-1].pending:
            return (gr.skip(), gr.skip(), "", gr.skip(), gr.skip())
        last = chat.exchanges[-1]
        written = str(_data(event).get("text") or "")[: LONGEST_QUESTION * 5]
        draft = last.draft or (Answer(last.question, "", "answered", "") if written else None)
        if draft and written.startswith(draft.text):  # the page has more of it than the store
            draft = replace(draft, text=written)
        chat = replace(chat, exchanges=(*chat.exchanges[:-1], replace(last, draft=draft, stopped=True)))
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


def _with(chat: Chat, exchange: Exchange) -> Chat:
    return replace(chat, exchanges=(*chat.exchanges, exchange))


def _changed(book: ChatHistory, do: str, sent: Mapping[str, Any]) -> ChatHistory:
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
