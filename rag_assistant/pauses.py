"""How long a server asks to wait, and how to say so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after(headers: Mapping[str, str]) -> float:
    """The seconds to wait, even if the header names a date; 0 if there is no readable header."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except (ValueError, TypeError, OverflowError):
            return 0.0
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0


def duration(seconds: float) -> str:
    """A duration in words, rounded up."""
    for size, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes"), (1, "seconds")):
        if seconds > 2 * size:
            return f"{math.ceil(seconds / size):,} {name}"
    return "a moment"
