"""What can go wrong, as one tree. Every error says what happened in one sentence and, in ``hint``, what mends it.

::

    RagError
    ├── InputError            what the caller gave can't be used (also a ValueError)
    │   ├── SettingsError     an unknown or invalid setting
    │   └── LoadError         a file of papers that can't be read at all
    ├── StoreError           anything about the index, on disk or on a server
    │   ├── IndexMissing      there is none at that place
    │   ├── IndexDamaged      it can't be used and can't be mended from what it holds
    │   ├── IndexLocked       another process is writing it
    │   ├── IndexReadOnly     it can't be written here
    │   └── OutOfSpace        its disk, or a quota on it, is full
    ├── EmbedderError         the embedding model can't be loaded or failed
    ├── ReaderError           the model that judges what an abstract says can't be loaded
    ├── PluginError           a backend, embedder, reader or postprocessor that can't be found or loaded
    └── BackendError          the model that writes answers failed
        ├── BackendAuthError        no key, or a wrong one
        ├── BackendNotFound         no such model
        ├── BackendRateLimited      too many requests, or out of quota
        ├── BackendContextTooLong   the prompt doesn't fit the model
        ├── BackendUnreachable      refused connections and unknown hosts
        ├── BackendTimeout          no answer in time
        ├── BackendInterrupted      the stream broke off
        ├── BackendProtocolError    a reply that isn't what the protocol says, or an empty one
        ├── BackendFiltered         the provider's content filter stopped it
        └── BudgetExceeded          the next call would cost more than the budget allows
"""

from __future__ import annotations

import errno


class RagError(Exception):
    """Base of all errors of this package. ``str(error)`` is one sentence; ``hint`` names the fix, or is empty."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InputError(RagError, ValueError):
    """What the caller gave can't be used."""


class SettingsError(InputError):
    """A setting is unknown or has a value it can't have."""


class LoadError(InputError):
    """A file of papers can't be read at all; a single bad record is a ``Problem`` in the load report instead."""


class StoreError(RagError):
    """Anything about the index, on disk or on a server."""


class IndexMissing(StoreError):
    """There is no index at the place named."""


class IndexDamaged(StoreError):
    """The index can't be used and can't be rebuilt from what it still holds."""


class IndexLocked(StoreError):
    """Another process is writing the index and kept doing so until the time limit."""


class IndexReadOnly(StoreError):
    """The index has to be written but its folder can't be."""


class OutOfSpace(StoreError):
    """The disk under the index, a quota on it or a limit on the size of files leaves too little room."""


class EmbedderError(RagError):
    """The embedding model can't be loaded, or failed on a text."""


class ReaderError(RagError):
    """The model that judges what an abstract says can't be loaded."""


class PluginError(RagError):
    """A plug-in can't be found, can't be loaded or isn't of the right kind."""


class BackendError(RagError):
    """The model that writes answers failed.

    Attributes:
        retry_after: For a failure that may pass, how many seconds the server asks to wait; 0 if it doesn't say.
            ``None`` if asking again is of no use.
    """

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class BackendAuthError(BackendError):
    """No key, or the provider refused it."""


class BackendNotFound(BackendError):
    """The provider has no such model."""


class BackendRateLimited(BackendError):
    """Too many requests, or the account's quota is used up."""


class BackendContextTooLong(BackendError):
    """The prompt doesn't fit into the model's context.

    Attributes:
        limit: How many tokens the server says it takes; ``None`` if it doesn't say.
    """

    def __init__(self, message: str, *, hint: str = "", limit: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.limit = limit


class BackendUnreachable(BackendError):
    """The server refused the connection or its host can't be found."""


class BackendTimeout(BackendError):
    """The server didn't answer in time."""


class BackendInterrupted(BackendError):
    """The answer broke off in the middle."""


class BackendProtocolError(BackendError):
    """The reply was empty or not what the protocol says."""


class BackendFiltered(BackendError):
    """The provider's content filter stopped the answer."""


class BudgetExceeded(BackendError):
    """The next call would exceed the budget; it was not made."""


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SQLITE_FULL = 13


def is_out_of_space(error: BaseException | None) -> bool:
    """Whether an error, or one that caused it, says in any library's words that a disk, a quota or a file is full."""
    while error is not None:
        code = getattr(error, "sqlite_errorcode", None) or 0
        if getattr(error, "errno", None) in _FULL or code & 0xFF == _SQLITE_FULL or "disk is full" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def refusal_of(error: Exception) -> RagError | None:
    """An error of this package or of the operating system as a ``RagError``; ``None`` for a fault of the program."""
    if isinstance(error, RagError):
        return error
    name = getattr(error, "filename", None)
    if is_out_of_space(error):
        place = f" to write {name}" if name else ""
        return RagError(f"There is no space left{place}: a disk or a quota is full.", hint="free some space on it")
    if isinstance(error, OSError) and name and error.strerror:
        return RagError(
            f"{name} can't be used: {error.strerror}.", hint="check that it is there and that you may read and write it"
        )
    return None
