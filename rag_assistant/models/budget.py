"""What models may cost, checked before each call: one limit for each answer and one for the whole session.

A call is assumed to use as much as it may: its prompt, by a careful estimate, and all the tokens that it may write.
What the provider reports afterwards replaces that.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from rag_assistant.errors import BudgetExceeded, SettingsError
from rag_assistant.settings import BudgetSettings
from rag_assistant.types import Usage


@dataclass(frozen=True, slots=True)
class _Amount:
    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: _Amount) -> _Amount:
        return _Amount(self.tokens + other.tokens, self.cost + other.cost)


class Budget:
    """One session's limits and what it has spent; may be used from several threads at once.

    Raises:
        SettingsError: A limit in dollars is set, but a price isn't.
    """

    def __init__(self, settings: BudgetSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._spent = _Amount()
        self._prices = (settings.price_in, settings.price_out)
        limit = next((name for name in ("max_cost", "max_session_cost") if getattr(settings, name) is not None), None)
        if limit is not None and None in self._prices:
            raise SettingsError(
                f"The setting {limit!r} needs to know what tokens cost.",
                hint="set price_in and price_out (RAG_PRICE_IN, RAG_PRICE_OUT), in US dollars for a million tokens",
            )

    def answer(self) -> BudgetLedger:
        """The ledger of one answer."""
        return BudgetLedger(self, "this answer")

    def all_of(self, what: str) -> BudgetLedger:
        """One ledger for several calls that belong together; ``what`` names them in errors."""
        return BudgetLedger(self, what)

    def _amount(self, sent: int, written: int) -> _Amount:
        price_in, price_out = (price or 0.0 for price in self._prices)
        return _Amount(sent + written, (sent * price_in + written * price_out) / 1_000_000)

    def _take(self, need: _Amount, spent: _Amount, what: str) -> None:
        settings = self._settings
        with self._lock:
            whole = self._spent + need
            if settings.max_cost is not None and (spent + need).cost > settings.max_cost:
                raise _exceeded("max_cost", f"${(spent + need).cost:.4f} for {what}", f"${settings.max_cost:g}")
            if settings.max_session_cost is not None and whole.cost > settings.max_session_cost:
                limit = f"${settings.max_session_cost:g}"
                raise _exceeded("max_session_cost", f"${whole.cost:.4f} for this session", limit)
            if settings.max_session_tokens is not None and whole.tokens > settings.max_session_tokens:
                limit = f"{settings.max_session_tokens:,} tokens"
                raise _exceeded("max_session_tokens", f"{whole.tokens:,} tokens for this session", limit)
            self._spent = whole

    def _settle(self, taken: _Amount, used: _Amount) -> None:
        with self._lock:
            self._spent = _Amount(
                self._spent.tokens - taken.tokens + used.tokens, self._spent.cost - taken.cost + used.cost
            )


class BudgetLedger:
    """What one answer has spent: call :meth:`before` each call, and :meth:`after` with the usage reported for it."""

    def __init__(self, budget: Budget, what: str) -> None:
        self._budget = budget
        self._what = what
        self._spent = _Amount()
        self._open: tuple[int, int] | None = None

    def before(self, sent: int, written: int) -> None:
        """Reserves what a call may need. An earlier call that reported no usage counts as having used all it might.

        Args:
            sent: Tokens of the prompt, estimated.
            written: How many tokens the call may write.

        Raises:
            BudgetExceeded: That is more than is left; the call must not be made.
        """
        if self._open is not None:
            self.after(Usage())
        need = self._budget._amount(sent, written)
        self._budget._take(need, self._spent, self._what)
        self._open = (sent, written)

    def after(self, usage: Usage) -> Usage:
        """The usage with its cost, if prices are set; estimates fill in for what the provider doesn't report."""
        sent, written = self._open or (0, 0)
        self._open = None
        used = self._budget._amount(
            sent if usage.prompt_tokens is None else usage.prompt_tokens,
            written if usage.completion_tokens is None else usage.completion_tokens,
        )
        if usage.cost is not None:  # as the provider reports it
            used = replace(used, cost=usage.cost)
        self._budget._settle(self._budget._amount(sent, written), used)
        self._spent += used
        return usage if None in self._budget._prices else replace(usage, cost=used.cost)

    @property
    def summary(self) -> str:
        """What was spent, for people; in dollars if the cost is known."""
        cost = self._spent.cost
        return f"{self._spent.tokens:,} tokens" + (f", ${cost:.4f}" if cost or None not in self._budget._prices else "")


def _exceeded(setting: str, need: str, limit: str) -> BudgetExceeded:
    return BudgetExceeded(
        f"The next call of the model may take {need}, more than {setting} allows ({limit}); it was not made.",
        hint=f"raise {setting} (RAG_{setting.upper()}), lower max_tokens, or use --backend extractive for answers",
    )
