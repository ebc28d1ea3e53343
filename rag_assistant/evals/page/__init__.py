"""Runs as one web page that stands alone: no request leaves it, and nothing of what it shows can run.

Everything is escaped by Jinja, and the page's own policy (CSP) lets nothing run or load but its one style sheet and its
one script, by their hashes.
"""

from __future__ import annotations

from rag_assistant.evals.page.page import MOST_RUNS, render_page

__all__ = ["MOST_RUNS", "render_page"]
