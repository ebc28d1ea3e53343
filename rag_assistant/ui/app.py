"""Assembles the page, and starts the server for it."""

from __future__ import annotations

import os

# Gradio reads this when it is imported: nothing here phones home.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

import gradio as gr
from starlette.middleware import Middleware

from rag_assistant.errors import InputError
from rag_assistant.settings import Settings
from rag_assistant.types import Length
from rag_assistant.ui.api import add_endpoints
from rag_assistant.ui.events import Handlers
from rag_assistant.ui.guard import Guard
from rag_assistant.ui.login import checker, credentials, require_login
from rag_assistant.ui.service import Service

TITLE = "Ask the papers"
STORAGE_KEY = "rag-assistant-chats"
# Fixed, so that chats survive a restart. It is in the page for all to see and protects nothing; Gradio requires one.
_STORAGE_SECRET = "rag-assistant"  # noqa: S105
_FONT = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "DejaVu Sans", "sans-serif")
_MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "DejaVu Sans Mono", "monospace")
_QUEUE = 500


class App:
    """A running page, at ``url``; closing it, or leaving ``with``, stops the server."""

    def __init__(self, blocks: gr.Blocks, service: Service, url: str) -> None:
        self._blocks, self._service = blocks, service
        self.url = url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait(self) -> None:
        """Serves until interrupted."""
        self._blocks.block_thread()

    def close(self) -> None:
        """Stops the server and closes the index."""
        self._blocks.close(verbose=False)
        self._service.close()


def launch(
    settings: Settings,
    host: str = "127.0.0.1",
    port: int | None = 7860,
    *,
    backends: Sequence[str] = (),
    login: Mapping[str, str] | None = None,
    allow_public: bool = False,
    running: int = 4,
    waiting: int = 60,
) -> App:
    """Starts the server and returns; the index opens in the background while the page loads.

    Args:
        settings: The index, the corpus and the backend to answer with.
        host: The address to listen at.
        port: The port; ``None`` takes a free one from 7860 on.
        backends: Further backends that visitors may choose, each ``NAME`` or ``NAME=MODEL``; no others are offered.
        login: Passwords by name; by default ``RAG_UI_USER`` and ``RAG_UI_PASSWORD``, if they are set.
        allow_public: Whether to listen without a login at an address that others can reach.
        running: How many questions are answered at once.
        waiting: How many more may wait; beyond that, visitors get a message that the assistant is busy.

    Raises:
        InputError: A public address without a login, a login that can't be used, or a port that is taken.
    """
    known = credentials() if login is None else login
    require_login(host, known, allow_public=allow_public)
    service = Service(settings, backends=backends, running=running, waiting=waiting)
    blocks = build(service)
    try:
        _, url, _ = blocks.launch(**_options(host, port, known))
    except OSError as error:
        service.close()
        raise InputError(
            f"The page can't be served at {host}:{port}: the port is taken or the address isn't this machine's.",
            hint="choose another with --port or --host",
        ) from error
    service.open()  # only once the page is served, which this would slow down
    return App(blocks, service, url)


def _options(host: str, port: int | None, known: Mapping[str, str]) -> dict[str, Any]:
    return {
        "server_name": host,
        "server_port": port,
        "auth": checker(known) if known else None,
        "share": False,
        "inbrowser": False,
        "quiet": True,
        "prevent_thread_lock": True,
        "show_error": True,
        "footer_links": [],
        "run_history": False,
        "enable_monitoring": False,
        "mcp_server": False,
        "ssr_mode": False,
        "pwa": False,
        "max_file_size": 1,
        "app_kwargs": {"middleware": [Middleware(Guard)], "docs_url": None, "redoc_url": None},
        "theme": _theme(),
        "css": _static("app.css"),
        "head": f"{_katex()}<script>{_static('sources.js')}{_static('app.js')}</script>",
    }


def build(service: Service) -> gr.Blocks:
    """The page over one service."""
    events = Handlers(service)
    with gr.Blocks(title=TITLE, fill_width=True, analytics_enabled=False) as blocks:
        store = gr.BrowserState(None, storage_key=STORAGE_KEY, secret=_STORAGE_SECRET)
        corpus = _html("", elem_id="corpus", html_template=_static("header.html"))
        with gr.Row(elem_id="page"):
            with gr.Column(elem_id="talk"):
                conversation = _html(_static("opening.html"), elem_id="conversation")
                live = _html("", elem_id="live")
                composer = _html(_static("composer.html"), elem_id="composer", js_on_load=_TRIGGERS)
            with gr.Column(elem_id="side"):
                sources = _html("", elem_id="sources")
        with gr.Column(elem_id="chats-drawer", elem_classes="drawer"):
            chats = _html("", elem_id="chats")
        with gr.Column(elem_id="settings-drawer", elem_classes="drawer"):
            controls = _settings(service)
            first, last, venues, authors = controls[-4:]
        file = gr.JSON(visible="hidden")
        private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "concurrency_limit": None}
        shown = [store, conversation, live, sources, chats]
        blocks.load(
            events.load,
            [store],
            [conversation, sources, chats, corpus, first, last, venues, authors],
            api_name="page_load",
            **private,
        )
        asking = composer.ask(
            events.ask,
            [store, *controls],
            shown,
            trigger_mode="multiple",
            api_name="page_ask",
            **private,
        )
        asking.then(None, None, None, js="() => window.rag.done()", api_visibility="private")
        composer.halt(
            events.stop, [store], shown, cancels=[asking], trigger_mode="multiple", api_name="page_stop", **private
        )
        acting = composer.act(
            events.act,
            [store],
            [store, conversation, sources, chats, file],
            trigger_mode="multiple",
            api_name="page_act",
            **private,
        )
        acting.then(None, [file], None, js="(file) => window.rag.save(file)", api_visibility="private")
        add_endpoints(service)
    blocks.queue(max_size=_QUEUE, default_concurrency_limit=8, api_open=False)
    return blocks


def _settings(service: Service) -> tuple[Any, ...]:
    gr.HTML(_static("settings.html"), apply_default_css=False, js_on_load=None)
    backend = gr.Dropdown(
        [(service.label(offer), str(offer)) for offer in service.offers],
        value=str(service.offers[0]),
        label="Answers written by",
        info="As set up on the server.",
        visible=len(service.offers) > 1,
    )
    lengths = [(name.capitalize(), name) for name in get_args(Length)]
    length = gr.Radio(lengths, value=service.settings.length, label="Length of answers", elem_id="length")
    k = gr.Slider(1, 20, value=min(20, service.settings.k), step=1, label="Papers to draw on", buttons=[])
    with gr.Column(elem_id="filters"):
        _html("<h3>Filters</h3>")
        with gr.Row():
            first = gr.Dropdown([], value=None, label="From year", allow_custom_value=True, min_width=100)
            last = gr.Dropdown([], value=None, label="To year", allow_custom_value=True, min_width=100)
        venues = gr.Dropdown([], value=[], label="Venues", multiselect=True, allow_custom_value=True)
        authors = gr.Dropdown([], value=[], label="Authors", multiselect=True, allow_custom_value=True)
    clear = gr.Button("Clear filters", size="sm", elem_id="clear")
    clear.click(None, None, [first, last, venues, authors], js="() => [null, null, [], []]", api_visibility="private")
    return backend, k, length, first, last, venues, authors


_TRIGGERS = (
    "window.rag.connect({ask: d => trigger('ask', d), halt: d => trigger('halt', d), act: d => trigger('act', d)})"
)


def _html(value: str, *, js_on_load: str | None = None, **options: Any) -> gr.HTML:
    return gr.HTML(value, apply_default_css=False, js_on_load=js_on_load, **options)


def _static(name: str) -> str:
    return (files("rag_assistant.ui") / "static" / name).read_text(encoding="utf-8")


def _katex() -> str:
    """Links to the KaTeX that Gradio ships; empty if it ships none, and then formulas are shown as source."""
    assets = Path(gr.__file__).parent / "templates" / "frontend" / "assets"
    script = next(assets.glob("katex-*.js"), None)
    style = next(assets.glob("katex-*.css"), None)
    if script is None or style is None:
        return ""
    return f'<link rel="stylesheet" href="assets/{style.name}"><meta name="rag-katex" content="assets/{script.name}">'


def _theme() -> gr.themes.Base:
    return gr.themes.Base(
        primary_hue=gr.themes.colors.indigo,
        neutral_hue=gr.themes.colors.slate,
        radius_size=gr.themes.sizes.radius_md,
        font=_FONT,
        font_mono=_MONO,
    )
