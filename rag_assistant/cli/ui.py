"""``ui``: serves the chat UI."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.command import command
from rag_assistant.cli.state import State, emit, say


@command
def ui(
    state: State,
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen at.", min=1, max=65535)] = 7860,
    offer: Annotated[
        list[str] | None,
        typer.Option("--offer", metavar="NAME[=MODEL]", help="A further backend that visitors may choose; repeatable."),
    ] = None,
    running: Annotated[int, typer.Option("--running", help="How many questions are answered at once.", min=1)] = 4,
    waiting: Annotated[
        int, typer.Option("--waiting", help="How many more may wait; others get a message.", min=0)
    ] = 60,
    *,
    flags: o.AnswerOptions,
    login: Annotated[
        Path | None,
        typer.Option("--login", metavar="FILE", help="name:password lines; else RAG_UI_USER and RAG_UI_PASSWORD."),
    ] = None,
    allow_public: Annotated[
        bool, typer.Option("--allow-public", help="Listen without a login where others can reach it.")
    ] = False,
) -> None:
    """Serve the chat UI in the browser, until Ctrl-C."""
    from rag_assistant.ui.login import require_login, taken_from_environment

    known = taken_from_environment(login)
    require_login(host, known, allow_public=allow_public)  # before spending seconds on loading Gradio
    settings = flags.settings()
    state.detail("loading the page")
    from rag_assistant.ui import launch

    limits = {"running": running, "waiting": waiting}
    with launch(settings, host, port, backends=offer or (), login=known, allow_public=allow_public, **limits) as page:
        if sys.stdout is not None:  # a service may have no stdout
            emit(page.url, end="\n")
        say("Open this address in a browser; Ctrl-C stops the server.")
        page.wait()
