"""``doctor`` and ``config``."""

from __future__ import annotations

from typing import Annotated

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.command import command
from rag_assistant.cli.state import State, emit, emit_json

_MARKS = {"ok": "ok  ", "note": "note", "bad": "BAD "}


@command
def config(
    flags: o.SettingsOptions,
    *,
    json: o.Json = False,
) -> None:
    """Show the settings in force and where each comes from; secrets are masked."""
    settings = flags.settings()
    values, sources = settings.masked(), settings.sources
    if json:
        with_sources = {name: {"value": value, "source": sources[name]} for name, value in values.items()}
        emit_json({"settings": with_sources, "index_path": str(settings.index_path)})
        return
    shown = {name: _value(value) for name, value in values.items()}
    if settings.chroma_url is None:
        shown["index"] = str(settings.index_path)
    name_width = max(map(len, shown))
    value_width = min(max(map(len, shown.values())), 60)
    for name, value in shown.items():
        emit(f"{name:{name_width}}  {value:{value_width}}  {sources[name]}", end="\n")


@command
def doctor(
    state: State,
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild a damaged index from its papers.")] = False,
    *,
    flags: o.AnswerOptions,
    json: o.Json = False,
) -> None:
    """Check everything an answer needs, and say what to do about what is wrong. Exits 1 if something is."""
    from rag_assistant.cli.checks import run_checks

    checks = []
    for check in run_checks(state, flags, repair=repair):
        checks.append(check)
        if not json:
            emit(f"{_MARKS[check.status]}  {check.name}: {check.detail}", end="\n")
            if check.hint:
                emit(f"      {check.hint}", end="\n")
    if json:
        results = [{"name": c.name, "status": c.status, "detail": c.detail, "hint": c.hint} for c in checks]
        emit_json({"checks": results, "healthy": all(c.status != "bad" for c in checks)})
    if any(check.status == "bad" for check in checks):
        raise typer.Exit(1)


def _value(value: object) -> str:
    if value is None:
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
