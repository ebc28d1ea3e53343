"""The chat UI: ask, watch the answer stream, and check any sentence against its abstract with one click.

Importing this package loads no Gradio; :func:`launch` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_assistant.ui.app import App, launch

__all__ = ["App", "launch"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from rag_assistant.ui import app

        return getattr(app, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
