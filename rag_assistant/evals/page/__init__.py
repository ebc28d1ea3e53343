"""Runs as one self-contained web page: it sends no request, and nothing that it shows can run as code.

Jinja escapes everything, and the page's own policy (CSP) lets nothing run or load but its one style sheet and its one
script, by their hashes.
"""

from __future__ import annotations

from rag_assistant.evals.page.page import MOST_RUNS, render_page

__all__ = ["MOST_RUNS", "render_page"]
