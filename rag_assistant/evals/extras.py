"""The one place that imports the libraries needed only by evals."""

from __future__ import annotations

from typing import Any

from rag_assistant.errors import InputError


def scipy_stats() -> Any:
    """``scipy.stats``.

    Raises:
        InputError: scipy isn't installed.
    """
    try:
        from scipy import stats
    except ImportError:
        raise InputError(
            "Intervals and significance need scipy, which isn't installed.", hint='pip install "rag-assistant[eval]"'
        ) from None
    return stats
