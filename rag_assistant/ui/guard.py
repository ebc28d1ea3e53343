"""What the server lets through: the page, its events and three named endpoints. The page may reach only the server.

Gradio comes with routes for uploads, files, proxying, monitoring and editing. None is needed here, so all but the
listed ones are refused, including any that a later version adds.
"""

from __future__ import annotations

import re
from typing import Any

NAMES = ("ask", "search", "papers")
"""The public endpoints."""

_ALLOWED = re.compile(
    r"/(?:"
    r"(?:config|favicon\.ico|robots\.txt|theme\.css|manifest\.json|pwa_icon(?:/\d+)?|login|logout|login_check|user|app_id|token)/?"
    r"|(?:assets|static|svelte)/.*"
    r"|gradio_api/(?:info|openapi\.json|config|queue/join|queue/data|cancel|reset|login_check|user|app_id|token|startup-events|theme\.css)/?"
    r"|gradio_api/heartbeat/[^/]+"
    rf"|gradio_api/(?:call|run|api)(?:/v2)?/(?:{'|'.join(NAMES)})(?:/[^/]*)?"
    r")?"
)
_UPLOAD = "Uploads are refused here. Add papers on the server: rag-assistant index FILES --add"
_CLOSED = "There is nothing here."

# Gradio's page needs inline scripts and builds functions from strings; what matters is that nothing goes elsewhere.
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    )
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]


class Guard:
    """ASGI middleware; passes streams through as they arrive."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serves one request, or refuses it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *_HEADERS]}
            await send(message)

        path = scope["path"].removeprefix(scope.get("root_path", "")) or "/"
        if _ALLOWED.fullmatch(path):
            await self._app(scope, receive, guarded)
            return
        refusal = _UPLOAD if "upload" in path else _CLOSED
        status = 403 if "upload" in path else 404
        body = f'{{"detail": "{refusal}"}}'.encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await guarded({"type": "http.response.start", "status": status, "headers": headers})
        await guarded({"type": "http.response.body", "body": body})
