"""The page's event handlers: from what the browser sends to what it shows next. Nothing is kept between events."""

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
        """What a page shows when it has loaded: the chats that the browser kept, examples, and values to filter by."""
        history = read(stored)
        try:
            assistant = await self._service.assistant()
            papers = assistant.papers()
        except Exception as error:
            message, hint = _message_and_hint(error)
            shown = views.conversation(history.chat) if history.chat.exchanges else views.trouble(message, hint)
            return (shown, views.source_sets(history.chat), views.chat_list(history), "", *(gr.skip(),) * 4)
        years = [str(year) for year in sorted({paper.year for paper in papers if paper.year is not None})]
        venues = sorted({paper.venue for paper in papers if paper.venue})
        authors = sorted({name for paper in papers for name in paper.authors})
        shown = await self._conversation(history.chat)
        return (
            shown,
            views.source_sets(history.chat),
            views.chat_list(history),
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
        """Answers a question, showing it as it is written; outputs: store, conversation, under way, sources, chats."""
        sent = _data(event)
        history = read(stored)
        chat = history.chat
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
        history = history.put(asked)
        yield (
            history.write(),
            views.conversation(asked, until=place),
            views.under_way(question, place, stage=asking.stage),
            views.source_sets(asked),
            views.chat_list(history),
        )
        try:
            choices = Choices.sent(backend, k, length, first_year, last_year, venues, authors)
            about = str(sent.get("about") or "")
            async for draft, cites in asking.run(self._service, choices, chat.history, about):
                html = views.under_way(question, place, draft, stage=asking.stage, detail=asking.detail)
                if cites:  # stored too, so that neither stopping nor leaving the page loses a source
                    asked = _with(chat, Exchange(question, draft=draft))
                    history = history.put(asked)
                    yield (history.write(), gr.skip(), html, views.source_sets(asked), gr.skip())
                else:
                    yield (gr.skip(), gr.skip(), html, gr.skip(), gr.skip())
            done = asking.finished()
        except Exception as error:
            done = asking.failed(*_message_and_hint(error))
        asked = _with(chat, done)
        history = history.put(asked)
        yield (history.write(), views.conversation(asked), "", views.source_sets(asked), views.chat_list(history))

    def stop(self, stored: Any, event: gr.EventData) -> tuple[Any, ...]:
        """Keeps what had been written when the visitor stopped it; outputs as :meth:`ask`."""
        history = read(stored)
        chat = history.chat
        if not chat.exchanges or not chat.exchanges[-1].pending:
            return (gr.skip(), gr.skip(), "", gr.skip(), gr.skip())
        last = chat.exchanges[-1]
        written = str(_data(event).get("text") or "")[: LONGEST_QUESTION * 5]
        draft = last.draft or (Answer(last.question, "", "answered", "") if written else None)
        if draft and written.startswith(draft.text):  # the page has more of it than the store
            draft = replace(draft, text=written)
        chat = replace(chat, exchanges=(*chat.exchanges[:-1], replace(last, draft=draft, stopped=True)))
        history = history.put(chat)
        return (history.write(), views.conversation(chat), "", views.source_sets(chat), views.chat_list(history))

    async def act(self, stored: Any, event: gr.EventData) -> tuple[Any, ...]:
        """Chats and feedback; outputs: store, conversation, sources, chats, file to save."""
        sent = _data(event)
        history = read(stored)
        do = sent.get("do")
        if do == "export":
            return (*(gr.skip(),) * 4, self._file(history.chat, sent))
        if do == "export-chat":
            chosen = next((chat for chat in history.chats if chat.id == sent.get("chat")), history.chat)
            return (*(gr.skip(),) * 4, _chat_file(chosen))
        history = _changed(history, str(do), sent)
        chat = history.chat
        return (
            history.write(),
            await self._conversation(chat),
            views.source_sets(chat),
            views.chat_list(history),
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
            return views.trouble(*_message_and_hint(error))

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


def _changed(history: ChatHistory, do: str, sent: Mapping[str, Any]) -> ChatHistory:
    wanted = str(sent.get("chat") or "")
    known = next((chat for chat in history.chats if chat.id == wanted), None)
    if do == "new":
        return replace(history, open_id=new_id())
    if do == "open" and known:
        return replace(history, open_id=known.id)
    if do == "delete" and known:
        return history.without(known.id)
    if do == "rename" and known:
        name = " ".join(str(sent.get("name") or "").split())[:200]
        chats = tuple(replace(chat, name=name) if chat is known else chat for chat in history.chats)
        return replace(history, chats=chats)
    place = _place(sent.get("turn"), history.chat)
    if do == "feedback" and place is not None:
        chat = history.chat
        exchange = chat.exchanges[place]
        if "word" in sent:
            exchange = replace(exchange, word=str(sent["word"])[:500])
        else:
            liked = sent.get("value") == "up"
            exchange = replace(exchange, liked=None if exchange.liked is liked else liked)
        exchanges = (*chat.exchanges[:place], exchange, *chat.exchanges[place + 1 :])
        return history.put(replace(chat, exchanges=exchanges))
    return history


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


def _message_and_hint(error: Exception) -> tuple[str, str]:
    """A message and a hint for people; an unexpected error goes to the server's log, not to the page."""
    if isinstance(error, RagError):
        return error.message, error.hint
    _log.error("a question failed", exc_info=error)
    return f"Something on the server failed ({type(error).__name__}).", "ask again; the server's log has the details"


def _data(event: gr.EventData) -> dict[str, Any]:
    data = getattr(event, "_data", None)
    return data if isinstance(data, dict) else {}


def _place(value: Any, chat: Chat) -> int | None:
    """The position of an exchange in this chat, as the page sent it; ``None`` if there is no such exchange."""
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(chat.exchanges)
    return value if known else None
