"""From what the OpenAI SDK and HTTP raise to this package's errors: one sentence each, and what mends it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from rag_assistant.errors import (
    BackendAuthError,
    BackendContextTooLong,
    BackendError,
    BackendFiltered,
    BackendInterrupted,
    BackendNotFound,
    BackendProtocolError,
    BackendRateLimited,
    BackendTimeout,
    BackendUnreachable,
)

_TOO_LONG = ("context_length", "context length", "context size", "context window", "maximum context", "too many tokens")
_FILTER = ("content_filter", "content_policy", "content policy", "responsible ai")
_LIMIT = re.compile(
    r"(?:context (?:length|size|window)(?: is| of)?|\bn_ctx\b[\"']?\s*[:=]|max_model_len\D{0,20})\s*\(?(\d{3,8})"
)
_MAX_DETAIL = 200


@contextmanager
def typed_errors(server: str, model: str, key_variable: str) -> Iterator[None]:
    """Turns failures of a call into :class:`BackendError`.

    Args:
        server: What a user knows it by, for the sentence.
        model: The model asked for.
        key_variable: The environment variable that holds its key.
    """
    import httpx
    import openai

    try:
        yield
    except openai.APITimeoutError as error:
        raise _timeout(server) from error
    except (openai.APIConnectionError, httpx.ConnectError) as error:
        raise BackendUnreachable(
            f"{server} can't be reached.",
            hint="check that it runs, the address in base_url, and the network",
            retry_after=0.0,
        ) from error
    except openai.APIStatusError as error:
        words = f"{error.message} {error.code or ''} {error.response.text}".lower()
        refusal = _Refusal(error.status_code, error.message, words, error.response.headers)
        raise _refused(refusal, server, model, key_variable) from error
    except openai.APIError as error:
        raise broken_off(server, str(error.message), error.code or "") from error
    except httpx.HTTPStatusError as error:
        raise foreign(error, server, model, key_variable) from error
    except httpx.TimeoutException as error:
        raise _timeout(server) from error
    except httpx.HTTPError as error:
        raise BackendInterrupted(f"The answer of {server} broke off in the middle.", hint="ask again") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BackendProtocolError(
            f"{server} sent something that is not JSON.", hint="check that base_url is an OpenAI-compatible address"
        ) from error


def _timeout(server: str) -> BackendError:
    return BackendTimeout(f"{server} didn't answer in time.", hint="ask again, or choose a smaller model")


def foreign(error: Exception, server: str, model: str, key_variable: str) -> BackendError:
    """From what any provider's own package raises: by its status code, else by its name and its words."""
    response = getattr(error, "response", None)
    codes = (getattr(error, "status_code", None), getattr(error, "code", None), getattr(response, "status_code", None))
    told = str(error)
    for code in codes:
        if isinstance(code, int) and 400 <= code < 600:
            headers = getattr(response, "headers", None)
            body = str(getattr(response, "text", ""))
            refusal = _Refusal(code, _message(body) or told, f"{told} {body}".lower(), headers or {})
            return _refused(refusal, server, model, key_variable)
    kind = type(error).__name__
    if re.search(r"auth|permission|credential", kind, re.IGNORECASE):
        return _refused(_Refusal(401, told, "", {}), server, model, key_variable)
    if "timeout" in kind.lower():
        return _timeout(server)
    return _by_words(told.lower(), server) or BackendError(
        f"{server} failed: {kind}: {_cut(told)}.", hint="check its model, its key and the network"
    )


def _message(body: str) -> str:
    """What a refusal's JSON says to people, where it has the usual form."""
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, TypeError, KeyError):
        return ""


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A refusal over HTTP: what it says to people, and all of its words in lower case."""

    code: int
    message: str
    words: str
    headers: Mapping[str, str]


def _refused(refusal: _Refusal, server: str, model: str, key_variable: str) -> BackendError:
    code = refusal.code
    if code in (401, 403):
        return BackendAuthError(
            f"{server} refused the key ({code}).", hint=f"set {key_variable} to a key that is valid"
        )
    if code == 404:
        return BackendNotFound(
            f"{server} has no model {model!r}, or nothing at this address (404).",
            hint="check RAG_MODEL and RAG_BASE_URL; most addresses end in /v1",
        )
    if code == 429 and "insufficient_quota" in refusal.words:
        return BackendRateLimited(
            f"The quota at {server} is used up (429).", hint="raise it, or use --backend extractive"
        )
    if code == 429:
        return BackendRateLimited(
            f"{server} takes no more requests for now (429).",
            hint="wait a minute and ask again",
            retry_after=_retry_after(refusal.headers),
        )
    if code in (408, 504):
        return _timeout(server)
    known = _by_words(refusal.words, server) if code in (400, 413, 422, 500) else None
    if known is not None:
        return known
    if code >= 500:
        return BackendUnreachable(
            f"{server} has a fault ({code}).",
            hint="ask again in a while, or look at its log",
            retry_after=_retry_after(refusal.headers),
        )
    return BackendProtocolError(
        f"{server} refused the request ({code}): {_cut(refusal.message)}.", hint="check RAG_MODEL and RAG_BASE_URL"
    )


def _by_words(words: str, server: str) -> BackendError | None:
    if any(sign in words for sign in _TOO_LONG):
        return BackendContextTooLong(
            f"The question and the abstracts are too long for the model at {server}.",
            hint="let it draw on fewer papers (RAG_K=2), or choose a model with a longer context",
            limit=int(stated[1]) if (stated := _LIMIT.search(words)) else None,
        )
    if any(sign in words for sign in _FILTER):
        return filtered(server)
    return None


def broken_off(server: str, message: str, code: str = "") -> BackendError:
    """The provider says in the stream that the answer failed."""
    return _by_words(f"{message} {code}".lower(), server) or BackendInterrupted(
        f"{server} broke off its answer: {_cut(message)}.", hint="ask again"
    )


def no_room(server: str, limit: int) -> BackendError:
    """Nothing can be asked of so small a context."""
    return BackendContextTooLong(
        f"A context of {limit:,} tokens at {server} doesn't hold the question and one sentence.",
        hint="start the server with a longer context, or correct context_tokens (RAG_CONTEXT_TOKENS)",
    )


def filtered(server: str) -> BackendError:
    """The provider's content filter stopped the answer."""
    return BackendFiltered(
        f"The content filter of {server} stopped the answer.", hint="word the question in another way"
    )


def empty(server: str, *, truncated: bool) -> BackendError:
    """Nothing came but white space or reasoning."""
    cure = "raise max_tokens (RAG_MAX_TOKENS): reasoning used it up" if truncated else "ask again"
    return BackendProtocolError(f"{server} sent an empty answer.", hint=f"{cure}, or choose another model")


def interrupted(server: str) -> BackendError:
    """The stream ended before the answer did."""
    return BackendInterrupted(f"The answer of {server} broke off in the middle.", hint="ask again")


def not_a_stream(server: str, kind: str) -> BackendError:
    """A reply of another kind than a stream of events."""
    return BackendProtocolError(
        f"{server} sent {kind} where the protocol wants a stream of events.",
        hint="check that base_url is an OpenAI-compatible address; most end in /v1",
    )


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds, also where the header holds a date; 0 where there is none that can be read."""
    told = headers.get("retry-after", "")
    try:
        return max(0.0, float(told))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def _cut(message: str) -> str:
    return " ".join(message.split())[:_MAX_DETAIL].rstrip(".")
