"""Turns what the OpenAI SDK and HTTP raise into this package's errors: one sentence each, and what mends it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

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
from rag_assistant.escapes import without_escapes
from rag_assistant.models.events import Failed, message_in
from rag_assistant.pauses import duration, retry_after

_TOO_LONG = ("context_length", "context length", "context size", "context window", "maximum context", "too many tokens")
_FILTER = ("content_filter", "content_policy", "content policy", "responsible ai")
_LIMIT = re.compile(
    r"(?:context (?:length|size|window)(?: is| of)?|\bn_ctx\b[\"']?\s*[:=]|max_model_len\D{0,20})\s*\(?(\d{3,8})"
)
_ADDRESS = re.compile(r"(https?://)(?:[^\s/?@]*@)?([^\s?'\"]*)(?:\?[^\s'\"]*)?")
"""An address with a user or a query, either of which may be a key."""
_MAX_DETAIL = 200
_SHORTEST_KEY = 8
"""A shorter one is a filler where no key is needed ("none"); hiding it would hide ordinary words of the server's."""
_END = 4
"""This many characters at the beginning or end of a key give it away."""
_WORD = re.compile(r"[^\s\"'`,;:()\[\]{}]+")


@contextmanager
def typed_errors(server: str, model: str, key_variable: str, key: str = "") -> Iterator[None]:
    """Turns failures of a call into :class:`BackendError`.

    Args:
        server: What a user knows it by, for the sentence.
        model: The model asked for.
        key_variable: The environment variable that holds its key.
        key: The key, which is never shown, though the server may repeat it.
    """
    import httpx
    import openai

    try:
        yield
    except openai.APITimeoutError as error:
        raise out_of_time(server) from error
    except (openai.APIConnectionError, httpx.ConnectError) as error:
        raise BackendUnreachable(
            f"{server} can't be reached.",
            hint="check that it runs, the address in base_url, and the network",
            retry_after=0.0,
        ) from error
    except openai.APIStatusError as error:
        said = error.response.text
        refusal = _ServerRefusal(
            error.status_code, _hidden(key, message_in(said)), said.lower(), error.response.headers
        )
        raise _refused(refusal, server, model, key_variable) from error
    except Failed as error:
        reason = _hidden(key, error.reason)
        if error.status:
            refusal = _ServerRefusal(error.status, reason, error.words, {})
            raise _refused(refusal, server, model, key_variable) from error
        raise broken_off(server, reason, error.words) from error
    except openai.APIError as error:
        raise broken_off(server, _hidden(key, str(error.message)), error.code or "") from error
    except httpx.HTTPStatusError as error:
        raise provider_error(error, server, model, key_variable, key) from error
    except httpx.TimeoutException as error:
        raise out_of_time(server) from error
    except httpx.HTTPError as error:
        raise interrupted(server) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise not_json(server) from error


def out_of_time(server: str) -> BackendError:
    """Nothing arrived within the timeout."""
    return BackendTimeout(f"{server} didn't answer in time.", hint="ask again, or choose a smaller model")


def provider_error(error: Exception, server: str, model: str, key_variable: str, key: str = "") -> BackendError:
    """The error for what any provider's own package raises: by its status code, else by its name and its words. The key
    is never shown, nor are the parts of an address that may hold it."""
    response = getattr(error, "response", None)
    codes = (getattr(error, "status_code", None), getattr(error, "code", None), getattr(response, "status_code", None))
    server_message = _hidden(key, _ADDRESS.sub(r"\1\2", str(error)))
    for code in codes:
        if isinstance(code, int) and 400 <= code < 600:
            headers = getattr(response, "headers", None)
            body = str(getattr(response, "text", ""))
            message = _hidden(key, message_in(body)) or server_message
            refusal = _ServerRefusal(code, message, f"{server_message} {body}".lower(), headers or {})
            return _refused(refusal, server, model, key_variable)
    kind = type(error).__name__
    if re.search(r"auth|permission|credential", kind, re.IGNORECASE):
        return _refused(_ServerRefusal(401, server_message, "", {}), server, model, key_variable)
    if "timeout" in kind.lower():
        return out_of_time(server)
    return error_by_words(server_message.lower(), server) or BackendError(
        _with_reason(f"{server} failed: {kind}", server_message), hint="check its model, its key and the network"
    )


@dataclass(frozen=True, slots=True)
class _ServerRefusal:
    """A refusal over HTTP: its message to people, and all of its words in lower case."""

    code: int
    message: str
    words: str
    headers: Mapping[str, str]


def _refused(refusal: _ServerRefusal, server: str, model: str, key_variable: str) -> BackendError:
    code = refusal.code
    wait = retry_after(refusal.headers)
    if code in (401, 403):
        return BackendAuthError(
            _with_reason(f"{server} refused the key ({code})", refusal.message),
            hint=f"set {key_variable} to a key that is valid",
        )
    if code == 404:
        return BackendNotFound(
            _with_reason(f"{server} has no model {model!r}, or nothing at this address (404)", refusal.message),
            hint="check RAG_MODEL and RAG_BASE_URL; most addresses end in /v1",
        )
    if code == 429 and "insufficient_quota" in refusal.words:
        return BackendRateLimited(
            _with_reason(f"The quota at {server} is used up (429)", refusal.message),
            hint="raise it, or use --backend extractive",
        )
    if code == 429:
        return BackendRateLimited(
            _with_reason(f"{server} takes no more requests for now (429)", refusal.message),
            hint=f"ask again in {duration(wait)}, or use --backend extractive",
            retry_after=wait,
        )
    if code in (408, 504):
        return out_of_time(server)
    known = error_by_words(refusal.words, server) if code in (400, 413, 422, 500) else None
    if known is not None:
        return known
    if code >= 500:
        return BackendUnreachable(
            _with_reason(f"{server} has a fault ({code})", refusal.message),
            hint=f"ask again in {duration(wait)}, or look at its log",
            retry_after=wait,
        )
    return BackendProtocolError(
        _with_reason(f"{server} refused the request ({code})", refusal.message),
        hint="change the setting it names, or check RAG_MODEL and RAG_BASE_URL",
    )


def error_by_words(words: str, server: str) -> BackendError | None:
    """The failure that these words describe; ``None`` if it is none of the known ones."""
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
    """The provider said in its reply that the answer failed."""
    return error_by_words(f"{message} {code}".lower(), server) or BackendInterrupted(
        _with_reason(f"{server} broke off its answer", message), hint="ask again, or look at its log"
    )


def no_room(server: str, limit: int) -> BackendError:
    """The context is too small to ask anything."""
    return BackendContextTooLong(
        f"A context of {limit:,} tokens at {server} doesn't hold the question and one sentence.",
        hint="start the server with a longer context, or correct context_tokens (RAG_CONTEXT_TOKENS)",
    )


def filtered(server: str, refusal: str = "") -> BackendError:
    """The provider's content filter stopped the answer, or the model refused in these words."""
    server_message = _with_reason(f"The model at {server} refused to answer", refusal) if refusal.strip() else ""
    return BackendFiltered(
        server_message or f"The content filter of {server} stopped the answer.", hint="word the question in another way"
    )


def empty(server: str, *, truncated: bool, reasoned: bool) -> BackendError:
    """Nothing arrived but white space or reasoning."""
    cure = "raise max_tokens (RAG_MAX_TOKENS): it was used up before a whole sentence" if truncated else "ask again"
    came = "its reasoning and an empty answer" if reasoned else "an empty answer"
    return BackendProtocolError(f"{server} sent {came}.", hint=f"{cure}, or choose another model")


def interrupted(server: str) -> BackendError:
    """The stream ended before the answer did."""
    return BackendInterrupted(f"The answer of {server} broke off in the middle.", hint="ask again")


def not_a_stream(server: str, kind: str) -> BackendError:
    """The reply is no stream of events."""
    return BackendProtocolError(
        f"{server} sent {kind} where the protocol wants a stream of events.",
        hint="check that base_url is an OpenAI-compatible address; most end in /v1",
    )


def not_json(server: str) -> BackendError:
    """The reply, or a part of it, can't be read."""
    return BackendProtocolError(
        f"{server} sent something that is not JSON.", hint="check that base_url is an OpenAI-compatible address"
    )


def _hidden(key: str, text: str) -> str:
    """The text without the key, even if a server repeats only its beginning or end."""
    if len(key) < _SHORTEST_KEY:
        return text

    def hidden(found: re.Match[str]) -> str:
        word = found[0].rstrip(".")
        shows = not word.isalpha() and (word.startswith(key[:_END]) or word.endswith(key[-_END:]))
        return f"(the key){found[0][len(word) :]}" if shows else found[0]

    return _WORD.sub(hidden, text.replace(key, "(the key)"))


def _with_reason(what: str, reason: str) -> str:
    """A sentence with the server's reason, free of anything that a terminal would act on."""
    words = " ".join("".join(c if c.isprintable() else " " for c in without_escapes(reason)).split())[
        :_MAX_DETAIL
    ].rstrip(". ")
    return f"{what}: {words}." if words else f"{what}."
