"""How long a server asks to wait, and how to say so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds, also where the header holds a date; 0 where there is none that can be read."""
    told = headers.get("retry-after", "")
    try:
        seconds = float(told)
    except ValueError:
        try:
            date = parsedate_to_datetime(told)
        except (ValueError, TypeError, OverflowError):
            return 0.0
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0


def duration(seconds: float) -> str:
    """For people; rounded up."""
    for size, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes"), (1, "seconds")):
        if seconds > 2 * size:
            return f"{math.ceil(seconds / size):,} {name}"
    return "a moment"
