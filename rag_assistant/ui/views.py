"""The parts of the page as HTML: the conversation, the answer being written, the sources, the list of chats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from rag_assistant.html import answer_html, nearest_html, sources_html
from rag_assistant.inline import escape, inline, stable_prefix
from rag_assistant.render import clean, one_line, to_text
from rag_assistant.types import Answer
from rag_assistant.ui.chat_history import Chat, ChatHistory, Exchange

_LABELS = {
    "partial": "Answered in part",
    "not_in_corpus": "Not in these papers",
    "not_in_abstracts": "The abstracts don't say",
    "clarify": "Please say more",
}
_STAGES = {
    "queued": "Waiting for other questions to finish",
    "waiting": "Waiting:",
    "opening": "Opening the index",
    "searching": "Searching the papers",
    "rewording": "Wording the question in full",
    "reading": "Reading",
    "judging": "Judging",
    "writing": "Writing",
    "checking": "Checking each sentence",
}
_FLAG = re.compile(r"--[a-z][a-z-]*(?: [a-z][a-z-]*(?=[.,;]|$))?")
_EXPORTS = (("markdown", "Markdown"), ("bibtex", "BibTeX"), ("json", "JSON"))


def conversation(chat: Chat, examples: Sequence[str] = (), *, about: str = "", until: int | None = None) -> str:
    """The finished exchanges of a chat; a welcome if there are none.

    Args:
        chat: What to show.
        examples: Questions to offer in an empty chat.
        about: The corpus, in a few words.
        until: How many exchanges to show; ``None`` shows all.
    """
    shown = chat.exchanges[:until]
    if not shown:
        return "" if chat.exchanges else welcome(examples, about)
    return "".join(_exchange(exchange, place) for place, exchange in enumerate(shown))


def welcome(examples: Sequence[str], about: str) -> str:
    """What a new chat shows: what this is, and questions to begin with."""
    buttons = "".join(
        f"<li>{_button('example', inline(question), style='', question=question)}</li>" for question in examples
    )
    offered = f'<ul class="examples" aria-label="Example questions">{buttons}</ul>' if buttons else ""
    return (
        '<section class="welcome"><h2>What would you like to know?</h2>'
        f"<p>{escape(about)} Every sentence of an answer links to the words of the abstract that support it."
        f" Where the papers don’t say, you are told so.</p>{offered}</section>"
    )


def trouble(message: str, hint: str) -> str:
    """What went wrong, and what mends it."""
    advice = f'<p class="hint">{_FLAG.sub(_unbroken, escape(_sentence(hint)))}</p>' if hint else ""
    return f'<div class="trouble" role="alert"><p>{escape(message)}</p>{advice}</div>'


def under_way(question: str, place: int, draft: Answer | None = None, *, stage: str = "", detail: str = "") -> str:
    """The question being answered: its stage, and the text so far, with the markers of finished statements as links.
    ``data-text`` keeps the text in case the visitor stops it."""
    label = _STAGES.get(stage, stage)
    said = f"{label} {detail}" if detail else label
    text = draft.text if draft else ""
    written = answer_html(_stable(draft), prefix=f"t{place}", under_way=True) if draft and text else ""
    body = f'<div class="answer">{written}</div>' if written else ""
    return (
        f'<section class="turn live" data-turn="{place}" data-text="{escape(text)}" data-stage="{escape(said)}">'
        f'{_question(question, place, False)}{body}<p class="stage">'
        f'<span class="dots" aria-hidden="true"><i></i><i></i><i></i></span>{escape(said)}</p></section>'
    )


def source_sets(chat: Chat) -> str:
    """The sources of every exchange; the page shows one set at a time: the last one, until a marker is clicked."""
    answers = [exchange.answer or exchange.draft for exchange in chat.exchanges]
    sets = [_source_set(answer, place) for place, answer in enumerate(answers) if answer]
    sets = [one for one in sets if one]
    if not sets:
        empty = "The sources of an answer appear here, with the quoted words highlighted in each abstract."
        return f'<p class="empty">{empty}</p>'
    return "".join(sets)


def chat_list(history: ChatHistory) -> str:
    """The chats by name, with buttons for each."""
    rows = "".join(_chat_row(chat, chat.id == history.open_id) for chat in history.chats if chat.exchanges or chat.name)
    left_out = "The oldest chats were left out: the browser has no more room."
    note = f'<p class="small">{left_out}</p>' if history.shortened else ""
    listed = f'<ul class="chats">{rows}</ul>' if rows else '<p class="empty">No chats yet.</p>'
    return (
        f'<div class="drawer-head"><h2>Chats</h2>{_button("close", "✕", "Close chats")}</div>'
        '<button type="button" class="primary wide" data-do="new">New chat</button>'
        f'{listed}{note}<p class="small">Chats are kept in this browser only.</p>'
    )


def details(answer: Answer) -> str:
    """Backend, model, time, tokens and cost, as far as they are known."""
    parts = [one_line(" ".join(part for part in (answer.backend, answer.model) if part))]
    total = answer.timings_ms.get("total")
    if total is not None:
        parts.append(f"{total / 1000:.2f} s" if total < 10_000 else f"{total / 1000:.0f} s")
    usage = answer.usage
    if usage.prompt_tokens or usage.completion_tokens:
        parts.append(f"{usage.prompt_tokens or 0:,} tokens sent, {usage.completion_tokens or 0:,} written")
    if usage.cost:
        parts.append(f"${usage.cost:.4f}" if usage.cost >= 0.0001 else "under $0.0001")
    if answer.considered:
        parts.append(f"{answer.considered:,} {'paper' if answer.considered == 1 else 'papers'} searched")
    return " · ".join(part for part in parts if part)


def _exchange(exchange: Exchange, place: int) -> str:
    return (
        f'<section class="turn" id="t{place}" data-turn="{place}">'
        f"{_question(exchange.question, place, True)}{_outcome(exchange, place)}</section>"
    )


def _question(question: str, place: int, editable: bool) -> str:
    edit = _button("edit", "Edit", f"Edit question {place + 1}", turn=place, question=question) if editable else ""
    return f'<header class="question"><h2>{inline(clean(question))}</h2>{edit}</header>'


def _outcome(exchange: Exchange, place: int) -> str:
    if exchange.answer is not None:
        return _answer(exchange, exchange.answer, place)
    draft = exchange.draft
    text = answer_html(draft, prefix=f"t{place}", under_way=True) if draft and draft.text else ""
    body = f'<div class="answer">{text}</div>' if text else ""
    if exchange.error:
        body += trouble(exchange.error, exchange.hint)
    else:
        what = "Stopped" if exchange.stopped else "Broken off"
        left = ": the answer is not complete" if body else ""
        left += ", and its end is not checked" if 'class="unchecked"' in text else ""
        body += f'<p class="note">{what}{left}.</p>'
    return f'{body}<footer class="meta"><span class="facts"></span><div class="actions">{_retry(place)}</div></footer>'


def _answer(exchange: Exchange, answer: Answer, place: int) -> str:
    label = _LABELS.get(answer.status, "")
    status = f'<p class="status">{label}</p>' if label else ""
    searched = ""
    if one_line(answer.standalone_question) not in ("", one_line(exchange.question)):
        searched = f'<p class="small">Searched for: {inline(one_line(answer.standalone_question))}</p>'
    notices = "".join(f'<p class="note">{escape(one_line(notice))}</p>' for notice in answer.notices)
    if answer.dropped_markers:
        notices += (
            f'<p class="note">{answer.dropped_markers} of the model’s citations named no paper; they were dropped.</p>'
        )
    return (
        f'<div class="answer" data-status="{escape(answer.status)}">{status}'
        f"{answer_html(answer, prefix=f't{place}')}{_failed(answer)}</div>"
        f"{searched}{notices}{_meta(exchange, answer, place)}"
    )


def _failed(answer: Answer) -> str:
    """What a model wrote when none of it held, for those who want to see it."""
    if not answer.draft:
        return ""
    written = answer_html(replace(answer, text=answer.draft, statements=(), citations=()))
    return (
        "<details><summary>What the model wrote, which the abstracts don’t support</summary>"
        f'<div class="statement unsupported">{written}</div></details>'
    )


def _meta(exchange: Exchange, answer: Answer, place: int) -> str:
    n = place + 1
    copies = _button("copy", "Copy", f"Copy answer {n}", copy=answer.text)
    files = _button("copy", "Copy with references", copy=to_text(answer))
    files += "".join(_button("export", name, turn=place, kind=kind) for kind, name in _EXPORTS)
    export = (
        f'<details class="menu"><summary aria-label="Export answer {n}">Export</summary><div>{files}</div></details>'
    )
    thumbs = "".join(
        _button(
            "feedback",
            _THUMB[up],
            f"{name} answer {n}",
            style="quiet thumb",
            state=f' aria-pressed="{str(exchange.liked is up).lower()}"',
            turn=place,
            value=value,
        )
        for up, value, name in ((True, "up", "Like"), (False, "down", "Dislike"))
    )
    word = ""
    if exchange.liked is not None:
        word = (
            f'<form class="word" data-turn="{place}"><label>A word on this, if you like'
            f' <input name="word" maxlength="500" value="{escape(exchange.word)}"></label>'
            '<button class="quiet">Keep</button></form>'
        )
    return (
        f'<footer class="meta"><span class="facts">{escape(details(answer))}</span>'
        f'<div class="actions">{copies}{export}{_retry(place)}{thumbs}</div>{word}</footer>'
    )


def _retry(place: int) -> str:
    return _button("retry", "Retry", f"Ask question {place + 1} again", turn=place)


def _source_set(answer: Answer, place: int) -> str:
    cards = sources_html(answer, prefix=f"t{place}", ask_about=True)
    name = "Sources"
    if not cards:
        cards, name = nearest_html(answer, prefix=f"t{place}", ask_about=True), "Nearest papers"
    if not cards:
        return ""
    return (
        f'<section class="set" data-turn="{place}" aria-label="{name} of answer {place + 1}">'
        f'<p class="for">{name} for “{inline(one_line(answer.question))}”</p>{cards}</section>'
    )


def _chat_row(chat: Chat, is_open: bool) -> str:
    title = one_line(chat.title)
    count = len(chat.exchanges)
    name = f"{escape(title)}<small>{count} question{'' if count == 1 else 's'}</small>"
    current = ' aria-current="true"' if is_open else ""
    buttons = (
        _button("rename", "Rename", f"Rename {title}", chat=chat.id, name=title)
        + _button("export-chat", "Export", f"Export {title}", chat=chat.id)
        + _button("delete", "Delete", f"Delete {title}", chat=chat.id)
    )
    return (
        f'<li class="{"open" if is_open else "closed"}">'
        f'{_button("open", name, style="name", state=current, chat=chat.id)}<div class="row">{buttons}</div></li>'
    )


def _button(do: str, html: str, label: str = "", *, style: str = "quiet", state: str = "", **data: str | int) -> str:
    """A button that the page's script acts on; ``html`` is safe already, everything else is escaped here."""
    named = f' aria-label="{escape(label)}"' if label else ""
    held = "".join(f' data-{name}="{escape(str(value))}"' for name, value in data.items())
    return f'<button type="button" class="{style}" data-do="{do}"{named}{state}{held}>{html}</button>'


def _stable(draft: Answer) -> Answer:
    """The draft without text that may look different in a moment; statements are finished and stay as they are."""
    done = max((statement.end for statement in draft.statements), default=0)
    return replace(draft, text=draft.text[:done] + stable_prefix(draft.text[done:]))


def _unbroken(flag: re.Match[str]) -> str:
    return f'<span class="flag">{flag[0]}</span>'


def _sentence(text: str) -> str:
    text = one_line(text)
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"


def _icon(path: str) -> str:
    return f'<svg viewBox="0 0 24 24" width="16" height="16" aria-hidden="true"><path d="{path}"/></svg>'


_THUMB = {
    True: _icon("M7 11v9H4v-9zM7 11l4-8a2 2 0 0 1 2 2v4h5a2 2 0 0 1 2 2.3l-1.2 7a2 2 0 0 1-2 1.7H7"),
    False: _icon("M17 13V4h3v9zM17 13l-4 8a2 2 0 0 1-2-2v-4H6a2 2 0 0 1-2-2.3l1.2-7a2 2 0 0 1 2-1.7H17"),
}
