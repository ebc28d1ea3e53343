"""From what the OpenAI SDK and HTTP raise to this package's errors: one sentence each, and what mends it."""

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
from rag_assistant.models.events import Failed, said_in
from rag_assistant.pauses import duration, retry_after

_TOO_LONG = ("context_length", "context length", "context size", "context window", "maximum context", "too many tokens")
_FILTER = ("content_filter", "content_policy", "content policy", "responsible ai")
_LIMIT = re.compile(
    r"(?:context (?:length|size|window)(?: is| of)?|\bn_ctx\b[\"']?\s*[:=]|max_model_len\D{0,20})\s*\(?(\d{3,8})"
)
_ADDRESS = re.compile(r"(https?://)(?:[^\s/?@]*@)?([^\s?'\"]*)(?:\?[^\s'\"]*)?")
"""With a user or a query, which may be a key."""
_MAX_DETAIL = 200
_SHORTEST_KEY = 8
"""What is shorter stands where no key is needed ("none"), and hides words in what a server says."""
_END = 4
"""So many characters of a key, at its beginning or end, tell it."""
_WORD = re.compile(r"[^\s\"'`,;:()\[\]{}]+")


@contextmanager
def typed_errors(server: str, model: str, key_variable: str, key: str = "") -> Iterator[None]:
    """Turns failures of a call into :class:`BackendError`.

    Args:
        server: What a user knows it by, for the sentence.
        model: The model asked for.
        key_variable: The environment variable that holds its key.
        key: The key, which is shown to nobody though the server may repeat it.
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
        refusal = _ServerRefusal(error.status_code, _hidden(key, said_in(said)), said.lower(), error.response.headers)
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
        raise foreign(error, server, model, key_variable, key) from error
    except httpx.TimeoutException as error:
        raise out_of_time(server) from error
    except httpx.HTTPError as error:
        raise interrupted(server) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise not_json(server) from error


def out_of_time(server: str) -> BackendError:
    """Nothing came for longer than is waited."""
    return BackendTimeout(f"{server} didn't answer in time.", hint="ask again, or choose a smaller model")


def foreign(error: Exception, server: str, model: str, key_variable: str, key: str = "") -> BackendError:
    """From what any provider's own package raises: by its status code, else by its name and its words. The key is shown
    to nobody, nor is what of an address may hold it."""
    response = getattr(error, "response", None)
    codes = (getattr(error, "status_code", None), getattr(error, "code", None), getattr(response, "status_code", None))
    told = _hidden(key, _ADDRESS.sub(r"\1\2", str(error)))
    for code in codes:
        if isinstance(code, int) and 400 <= code < 600:
            headers = getattr(response, "headers", None)
            body = str(getattr(response, "text", ""))
            refusal = _ServerRefusal(code, _hidden(key, said_in(body)) or told, f"{told} {body}".lower(), headers or {})
            return _refused(refusal, server, model, key_variable)
    kind = type(error).__name__
    if re.search(r"auth|permission|credential", kind, re.IGNORECASE):
        return _refused(_ServerRefusal(401, told, "", {}), server, model, key_variable)
    if "timeout" in kind.lower():
        return out_of_time(server)
    return by_words(told.lower(), server) or BackendError(
        _told(f"{server} failed: {kind}", told), hint="check its model, its key and the network"
    )


@dataclass(frozen=True, slots=True)
class _ServerRefusal:
    """A refusal over HTTP: what it says to people, and all of its words in lower case."""

    code: int
    message: str
    words: str
    headers: Mapping[str, str]


def _refused(refusal: _ServerRefusal, server: str, model: str, key_variable: str) -> BackendError:
    code = refusal.code
    wait = retry_after(refusal.headers)
    if code in (401, 403):
        return BackendAuthError(
            _told(f"{server} refused the key ({code})", refusal.message),
            hint=f"set {key_variable} to a key that is valid",
        )
    if code == 404:
        return BackendNotFound(
            _told(f"{server} has no model {model!r}, or nothing at this address (404)", refusal.message),
            hint="check RAG_MODEL and RAG_BASE_URL; most addresses end in /v1",
        )
    if code == 429 and "insufficient_quota" in refusal.words:
        return BackendRateLimited(
            _told(f"The quota at {server} is used up (429)", refusal.message),
            hint="raise it, or use --backend extractive",
        )
    if code == 429:
        return BackendRateLimited(
            _told(f"{server} takes no more requests for now (429)", refusal.message),
            hint=f"ask again in {duration(wait)}, or use --backend extractive",
            retry_after=wait,
        )
    if code in (408, 504):
        return out_of_time(server)
    known = by_words(refusal.words, server) if code in (400, 413, 422, 500) else None
    if known is not None:
        return known
    if code >= 500:
        return BackendUnreachable(
            _told(f"{server} has a fault ({code})", refusal.message),
            hint=f"ask again in {duration(wait)}, or look at its log",
            retry_after=wait,
        )
    return BackendProtocolError(
        _told(f"{server} refused the request ({code})", refusal.message),
        hint="change the setting it names, or check RAG_MODEL and RAG_BASE_URL",
    )


def by_words(words: str, server: str) -> BackendError | None:
    """What a failure is by the words that tell of it; ``None`` where they name none that is known."""
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
    """The provider says in its reply that the answer failed."""
    return by_words(f"{message} {code}".lower(), server) or BackendInterrupted(
        _told(f"{server} broke off its answer", message), hint="ask again, or look at its log"
    )


def no_room(server: str, limit: int) -> BackendError:
    """Nothing can be asked of so small a context."""
    return BackendContextTooLong(
        f"A context of {limit:,} tokens at {server} doesn't hold the question and one sentence.",
        hint="start the server with a longer context, or correct context_tokens (RAG_CONTEXT_TOKENS)",
    )


def filtered(server: str, refusal: str = "") -> BackendError:
    """The provider's content filter stopped the answer, or the model refused in these words."""
    told = _told(f"The model at {server} refused to answer", refusal) if refusal.strip() else ""
    return BackendFiltered(
        told or f"The content filter of {server} stopped the answer.", hint="word the question in another way"
    )


def empty(server: str, *, truncated: bool, reasoned: bool) -> BackendError:
    """Nothing came but white space or reasoning."""
    cure = "raise max_tokens (RAG_MAX_TOKENS): it was used up before a whole sentence" if truncated else "ask again"
    came = "its reasoning and an empty answer" if reasoned else "an empty answer"
    return BackendProtocolError(f"{server} sent {came}.", hint=f"{cure}, or choose another model")


def interrupted(server: str) -> BackendError:
    """The stream ended before the answer did."""
    return BackendInterrupted(f"The answer of {server} broke off in the middle.", hint="ask again")


def not_a_stream(server: str, kind: str) -> BackendError:
    """A reply of another kind than a stream of events."""
    return BackendProtocolError(
        f"{server} sent {kind} where the protocol wants a stream of events.",
        hint="check that base_url is an OpenAI-compatible address; most end in /v1",
    )


def not_json(server: str) -> BackendError:
    """A reply, or a part of one, that can't be read."""
    return BackendProtocolError(
        f"{server} sent something that is not JSON.", hint="check that base_url is an OpenAI-compatible address"
    )


def _hidden(key: str, text: str) -> str:
    """Without the key, also where a server repeats its beginning or its end."""
    if len(key) < _SHORTEST_KEY:
        return text

    def hidden(found: re.Match[str]) -> str:
        word = found[0].rstrip(".")
        shows = not word.isalpha() and (word.startswith(key[:_END]) or word.endswith(key[-_END:]))
        return f"(the key){found[0][len(word) :]}" if shows else found[0]

    return _WORD.sub(hidden, text.replace(key, "(the key)"))


def _told(what: str, reason: str) -> str:
    """A sentence with the server's reason, of which nothing acts on a terminal."""
    words = " ".join("".join(c if c.isprintable() else " " for c in without_escapes(reason)).split())[
        :_MAX_DETAIL
    ].rstrip(". ")
    return f"{what}: {words}." if words else f"{what}."
