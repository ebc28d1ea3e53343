"""What a user can set, from where each value came, and what is wrong with one that can't be used.

A value comes from the first of: a keyword (the command line's flags are keywords), a ``RAG_*`` environment variable,
``rag.toml``, the default. Secrets come from the environment only.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Mapping
from difflib import SequenceMatcher, get_close_matches
from ipaddress import ip_address
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from rag_assistant.errors import SettingsError
from rag_assistant.types import Length

CONFIG_NAME = "rag.toml"
_PREFIX = "RAG_"
_CONFIG_VARIABLE = "RAG_CONFIG"
_SERVICES = ("RAG_ARXIV_URL", "RAG_DOI_URL", "RAG_OPENREVIEW_URL", "RAG_OPENREVIEW_V1_URL")
_OTHER_VARIABLES = (_CONFIG_VARIABLE, "RAG_UI_USER", "RAG_UI_PASSWORD", *_SERVICES)
FROM_OPENAI = "environment (OPENAI_API_KEY)"
"""The source of a key that is OpenAI's and must reach nobody else."""
_SLIP, _NEAR = 2, 0.8
"""How far a variable's name is from a setting's for it to be that one misspelt: how many letters may be others, and
which share at least is the same."""
_MASK = "********"
_PATHS = ("index", "corpus", "prompts")
_PLACES = frozenset({"index", "collection", "chroma_url"})
_COLLECTION = re.compile(r"[^\W_][\w-]{0,63}")
_USER_INFO = re.compile(r"(?<=//)[^/@]*(?=@)")
_SECRET_NAME = re.compile(r"key|token(?!s)|secret|passw|credential", re.IGNORECASE)


class BudgetSettings(BaseModel):
    """What a model costs and what may be spent; frozen.

    Attributes:
        price_in: US dollars for a million tokens sent.
        price_out: US dollars for a million tokens written.
        max_cost: US dollars that one answer may cost; needs both prices.
        max_session_cost: US dollars that all answers of one assistant may cost; needs both prices.
        max_session_tokens: Tokens, sent and written, that all answers of one assistant may take.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    price_in: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    price_out: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_session_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_session_tokens: int | None = Field(default=None, ge=1)


_TABLES: Mapping[str, type[BaseModel]] = MappingProxyType({"budget": BudgetSettings})
"""Fields that hold other settings. Each of these is given by its own name too, without the table's."""


class Settings(BaseModel):
    """The settings of an assistant; frozen.

    ``Settings(k=3)`` takes keywords and defaults only; :meth:`load` also reads the environment and ``rag.toml``.
    ``max_cost=1`` means ``budget={"max_cost": 1}``, wherever it is given.

    Attributes:
        index: Folder of the index; ``None`` is the user's data folder, see :attr:`index_path`.
        collection: Name of a collection of papers, which has an index of its own in the user's data folder, and its own
            ``rag.toml`` where there is one beside that. ``index``, ``collection`` and ``chroma_url`` exclude each
            other; the one from the nearer source counts.
        corpus: Files or folders of papers; ``None`` is the bundled corpus. In the environment, separated like
            ``PATH``.
        backend: What writes answers: an installed backend's name or ``package.module:Class``.
        embedder: What makes vectors, likewise.
        embedder_model: The model's name, for embedders that offer several.
        model: The model's name, for backends that offer several.
        base_url: An OpenAI-compatible server's address, for backends that use one.
        k: How many papers an answer may draw on.
        timeout: How many seconds to wait for a model's next words; for a Chroma server at most 30.
        max_tokens: How many tokens a model may write for one answer, reasoning included.
        temperature: How freely it writes, from 0 to 2; ``None`` is 0, or the model's own where it takes none.
        context_tokens: How many tokens the model takes in and writes together; ``None`` is what its server tells.
        fallback: Whether the abstracts' own words answer where the model fails; else the failure is told.
        budget: Prices and what may be spent, see :class:`BudgetSettings`.
        length: How long an answer should be: ``short``, ``normal`` or ``long``.
        trust_model: Whether a model's answer stands where the abstracts that it cites don't seem to say what is asked;
            else it is withheld and kept as a draft.
        lock_timeout: How many seconds to wait for another process that writes the index; ``None`` waits as long as it
            takes.
        chroma_url: A Chroma server that holds the index, ``http://HOST:PORT`` or ``https://HOST``; ``None`` is a
            folder.
        chroma_tenant, chroma_database: Where on that server.
        chroma_token: From ``RAG_CHROMA_TOKEN``; sent to that server only.
        prompts: Folder of own prompts for models; one that isn't there is the bundled one.
        reader: What judges whether an abstract answers: ``trained``, an installed reader's name,
            ``package.module:Class``, or ``none``, which judges nothing.
        rerank: A postprocessor that reorders what was found; ``None`` is none.
        check: What else looks at each statement: an installed check's name or ``package.module:Class``.
        api_key: From ``RAG_API_KEY``; from ``OPENAI_API_KEY`` only where ``base_url`` is not set, so that a key for
            one provider never goes to another.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    index: Path | None = None
    collection: str | None = None
    corpus: tuple[Path, ...] | None = None
    backend: str = Field("extractive", min_length=1)
    embedder: str = Field("minilm", min_length=1)
    embedder_model: str | None = Field(None, min_length=1)
    model: str | None = None
    base_url: str | None = None
    k: int = Field(5, ge=1, le=100)
    timeout: float = Field(120.0, gt=0, le=86400, allow_inf_nan=False)
    max_tokens: int = Field(1024, ge=16)
    temperature: float | None = Field(None, ge=0, le=2)
    context_tokens: int | None = Field(None, ge=512)
    fallback: bool = False
    budget: BudgetSettings = BudgetSettings()
    length: Length = "normal"
    trust_model: bool = False
    lock_timeout: float | None = Field(None, ge=0, allow_inf_nan=False)
    chroma_url: str | None = None
    chroma_tenant: str = Field("default_tenant", min_length=1)
    chroma_database: str = Field("default_database", min_length=1)
    chroma_token: SecretStr | None = None
    prompts: Path | None = None
    reader: str = Field("trained", min_length=1)
    rerank: str | None = None
    check: str | None = Field(None, min_length=1)
    api_key: SecretStr | None = None

    _sources: dict[str, str] = PrivateAttr(default_factory=dict)
    _notices: tuple[str, ...] = PrivateAttr(())

    def __init__(self, **given: Any) -> None:
        for table, model in _TABLES.items():
            inner = {name: given.pop(name) for name in model.model_fields if name in given}
            outer = given.get(table, {})
            if inner and isinstance(outer, Mapping | model):
                given[table] = {**dict(outer), **inner}
        super().__init__(**given)

    @classmethod
    def load(cls, *, config: str | os.PathLike[str] | None = None, **overrides: Any) -> Self:
        """Settings from keywords, the environment, ``rag.toml`` and defaults, in this order.

        Args:
            config: The settings file; ``None`` is ``RAG_CONFIG``, or else ``rag.toml`` in the current folder where
                there is one. Relative paths in the file start at the file's folder.
            **overrides: Settings by name; ``None`` means "not given".

        Raises:
            SettingsError: A name is unknown, a value can't be used, the file can't be read or holds a secret. Of a
                variable that is far from every setting only :attr:`notices` tells: it is another program's.
        """
        given = cls._by_name(overrides)
        notices = cls._strangers()
        layers = [
            (dict.fromkeys(given, "given"), given),
            cls._from_environment(),
            cls._from_file(config),
        ]
        chosen = next((layer for _, layer in layers if layer.keys() & _PLACES), {})
        if isinstance(name := chosen.get("collection"), str):
            layers.insert(-1, cls._of_collection(name))
        sources: dict[str, str] = dict.fromkeys(cls._names(), "default")
        values: dict[str, Any] = {}
        for origin, layer in reversed(layers):
            if layer.keys() & _PLACES:
                for place in _PLACES & values.keys():
                    del values[place]
                    sources[place] = "default"
            values.update(layer)
            sources.update(origin)
        fallback = os.environ.get("OPENAI_API_KEY")
        if fallback and "api_key" not in values and values.get("base_url") is None:
            values["api_key"] = fallback
            sources["api_key"] = FROM_OPENAI
        try:
            loaded = cls(**values)
        except ValidationError as error:
            raise _invalid(error, sources) from None
        loaded._sources.update(sources)
        loaded._notices = notices
        return loaded

    def replaced(self, **overrides: Any) -> Self:
        """These settings with others in their place; ``None`` means "not given".

        Raises:
            SettingsError: A name is unknown, or a value can't be used.
        """
        given = self._by_name(overrides)
        others = dict.fromkeys(_PLACES - given.keys()) if given.keys() & _PLACES else {}
        sources = {**self.sources, **dict.fromkeys(others, "default"), **dict.fromkeys(given, "given")}
        try:
            made = type(self)(**{**dict(self), **others, **given})
        except ValidationError as error:
            raise _invalid(error, sources) from None
        made._sources.update(sources)
        made._notices = self._notices
        return made

    @property
    def sources(self) -> Mapping[str, str]:
        """Where each value came from: ``given``, ``environment (RAG_K)``, the file's path, or ``default``. By the
        settings' own names: ``max_cost``, not ``budget``."""
        given = _flat(self.model_dump(exclude_unset=True))
        known = {name: "given" if name in given else "default" for name in self._names()}
        return MappingProxyType({**known, **self._sources})

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know of where these come from, a sentence each."""
        return self._notices

    @property
    def index_path(self) -> Path:
        """The index's folder: the one set, the collection's, or ``index`` in the user's data folder; of an index on a
        Chroma server, the folder of this machine's copy."""
        if self.index is not None:
            return self.index
        if self.chroma_url is not None:
            place = "\n".join((self.chroma_url, self.chroma_tenant, self.chroma_database))
            return data_folder() / "servers" / hashlib.sha256(place.encode()).hexdigest()[:16]
        return (data_folder() if self.collection is None else collection_folder(self.collection)) / "index"

    @property
    def server_is_local(self) -> bool:
        """Whether ``base_url`` is an address of this machine."""
        return is_local(self.base_url or "")

    @property
    def unused_key(self) -> str:
        """What to tell somebody who has a key and didn't say what for; empty otherwise. Nothing is sent with it."""
        source, theirs = self.sources["api_key"], self.sources["api_key"] == FROM_OPENAI
        if source == "default" or self.sources["backend"] != "default" or (theirs and self.embedder == "openai"):
            return ""
        variable = "OPENAI_API_KEY" if theirs else "RAG_API_KEY"
        return f"{variable} is set and not used; --backend openai uses it, RAG_BACKEND=extractive hides this line"

    def masked(self) -> dict[str, Any]:
        """The settings by their own names, as plain JSON types, with secrets, also those inside an address, replaced by
        asterisks."""
        plain = _flat(self.model_dump(mode="json"))
        plain |= {name: _MASK for name, value in self if isinstance(value, SecretStr)}
        if self.base_url is not None:
            plain["base_url"] = _USER_INFO.sub(_MASK, self.base_url)
        return plain

    @field_validator(*_TABLES, mode="before")
    @classmethod
    def _table(cls, value: Any, info: ValidationInfo) -> Any:
        model = _TABLES[str(info.field_name)]
        if not isinstance(value, Mapping | model):
            raise ValueError(f"it should be a table of {', '.join(model.model_fields)}")
        return value

    @field_validator("fallback", mode="before")
    @classmethod
    def _switch(cls, value: Any) -> Any:
        """It once named what answers, and only one backend could."""
        return value == "extractive" or (False if value is None else value)

    @field_validator("corpus", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part for part in value.split(os.pathsep) if part)
        return (value,) if isinstance(value, Path) else value

    @field_validator("collection", mode="after")
    @classmethod
    def _named(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and not _COLLECTION.fullmatch(value):
            raise ValueError("it should be up to 64 letters, digits, hyphens and underscores")
        if value is not None and info.data.get("index") is not None:
            raise ValueError("there is an index set too; give one of both")
        return value

    @field_validator("base_url", mode="after")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not re.match(r"https?://[^\s/]+[^\s]*$", value):
            raise ValueError("it should be an address that starts with http:// or https://")
        return value

    @field_validator("chroma_url", mode="after")
    @classmethod
    def _server(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return None
        if any(info.data.get(place) is not None for place in _PLACES):
            raise ValueError("there is an index or a collection set too; give one of them")
        try:
            parts = urlsplit(value)
            plain = (parts.scheme, parts.netloc, parts.path.rstrip("/"), "", "") == (*parts[:2], "", "", "")
            port = parts.port or (443 if parts.scheme == "https" else 8000)
        except ValueError:
            plain = False
        if not plain or parts.scheme not in ("http", "https") or not parts.hostname or "@" in value:
            raise ValueError("it should be http://HOST:PORT or https://HOST:PORT, and nothing more")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return f"{parts.scheme}://{host}:{port}"

    @field_validator("chroma_token", mode="after")
    @classmethod
    def _header(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not re.fullmatch(r"[!-~]+", value.get_secret_value()):
            raise ValueError("it should be of ASCII letters, digits and punctuation")
        return value

    @field_validator("index", "corpus", "prompts", mode="after")
    @classmethod
    def _expanded(cls, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(path.expanduser() for path in value)
        return value.expanduser() if value is not None else None

    @classmethod
    def _names(cls) -> tuple[str, ...]:
        """Every setting's own name, those of tables too."""
        own = ((_TABLES[field].model_fields if field in _TABLES else (field,)) for field in cls.model_fields)
        return tuple(chain.from_iterable(own))

    @classmethod
    def _by_name(
        cls, values: Mapping[str, Any], *, unknown: str = "There is no setting", origin: str = "a keyword"
    ) -> dict[str, Any]:
        """What is given, by the settings' own names: a table's settings beside the others.

        Raises:
            SettingsError: A name is unknown, a secret's, or given twice.
        """
        top = tuple(name for name in (*cls._names(), *_TABLES) if not _SECRET_NAME.search(name))
        found: dict[str, Any] = {}
        for name, value in values.items():
            if value is None:
                continue
            _check_known(name, top, f"{unknown} {name!r}", origin=origin)
            inner = {name: value}
            if name in _TABLES and isinstance(value, Mapping | BaseModel):
                inner = {key: held for key, held in dict(value).items() if held is not None}
                for key in inner:
                    verb = f"put it above [{name}]" if key in top else "remove it"
                    known = tuple(_TABLES[name].model_fields)
                    _check_known(key, known, f"{unknown} {key!r} in [{name}]", origin=origin, verb=verb)
            for key in inner.keys() & found.keys():
                both = f"The setting {key!r} is given twice, alone and in its table."
                raise SettingsError(both, hint=f"leave one out; both come from: {origin}")
            found |= inner
        return found

    @classmethod
    def _strangers(cls) -> tuple[str, ...]:
        """A word on the variables that look like settings and are none, which may be another program's.

        Raises:
            SettingsError: One is a setting of this program, misspelt.
        """
        known = (*map(_variable, cls._names()), *_OTHER_VARIABLES)
        found = [name for name in sorted(os.environ) if name.upper().startswith(_PREFIX) and name not in known]
        for name in found:
            if any(_is_slip(name.upper().removeprefix(_PREFIX), one.removeprefix(_PREFIX)) for one in known):
                close = get_close_matches(name.upper(), known, n=1)
                raise SettingsError(
                    f"The environment variable {name} is no setting.", hint=f"did you mean {close[0]}? or unset it"
                )
        if not found:
            return ()
        named = (
            f"variable {found[0]} is no setting" if len(found) == 1 else f"variables {', '.join(found)} are no settings"
        )
        return (f"The environment {named} of rag-assistant and changed nothing.",)

    @classmethod
    def _from_environment(cls) -> tuple[dict[str, str], dict[str, Any]]:
        variables = {name: value for name, value in os.environ.items() if value}
        values = {name: variables[_variable(name)] for name in cls._names() if _variable(name) in variables}
        return {name: f"environment ({_variable(name)})" for name in values}, values

    @classmethod
    def _of_collection(cls, name: str) -> tuple[dict[str, str], dict[str, Any]]:
        """A collection's own settings.

        Raises:
            SettingsError: Its file can't be used, or names another place.
        """
        if not _COLLECTION.fullmatch(name):
            return {}, {}  # which the setting's own check refuses
        path = collection_folder(name) / CONFIG_NAME
        origin, values = cls._read_file(path, "check the file") if path.is_file() else ({}, {})
        if place := next((place for place in values if place in _PLACES), None):
            raise SettingsError(f"{path} can't set {place!r}: it is of one collection.", hint="remove it there")
        return origin, values

    @classmethod
    def _from_file(cls, config: str | os.PathLike[str] | None) -> tuple[dict[str, str], dict[str, Any]]:
        chosen = config or os.environ.get(_CONFIG_VARIABLE)
        path = Path(chosen).expanduser() if chosen else Path(CONFIG_NAME)
        if not chosen and not path.is_file():
            return {}, {}
        return cls._read_file(path, f"check the path in --config or {_CONFIG_VARIABLE}" if chosen else "check the file")

    @classmethod
    def _read_file(cls, path: Path, hint: str) -> tuple[dict[str, str], dict[str, Any]]:
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise SettingsError(f"The settings file {path} can't be read: {reason}.", hint=hint) from error
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(
                f"The settings file {path} is not valid TOML: {error}.", hint='for example: backend = "extractive"'
            ) from error
        values = cls._by_name(values, unknown=f"{path} has the unknown setting", origin=str(path))
        for name in _PATHS:
            if name in values:
                values[name] = _relative_to(path.parent, values[name])
        return dict.fromkeys(values, str(path)), values


def is_local(url: str) -> bool:
    """Whether a server's address is one of this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def data_folder() -> Path:
    """The user's folder for what this program keeps."""
    from platformdirs import user_data_path

    return user_data_path("rag-assistant", appauthor=False)


def collection_folder(name: str) -> Path:
    """The folder of a collection: its index in ``index``, its settings in ``rag.toml``."""
    return data_folder() / "collections" / name


def _variable(name: str) -> str:
    return f"{_PREFIX}{name}".upper()


def _is_slip(name: str, meant: str) -> bool:
    # Another word is another name, not a slip: RAG_DATABASE_URL isn't RAG_BASE_URL.
    matcher = SequenceMatcher(None, meant, name)
    same = sum(block.size for block in matcher.get_matching_blocks())
    return max(len(name), len(meant)) - same <= _SLIP and matcher.ratio() >= _NEAR


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values with those of a table in its place."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= value if name in _TABLES else {name: value}
    return flat


def _relative_to(folder: Path, value: Any) -> Any:
    if isinstance(value, list):
        return [_relative_to(folder, item) for item in value]
    return str(folder / Path(value).expanduser()) if isinstance(value, str) else value


def _check_known(name: str, known: tuple[str, ...], what: str, *, origin: str = "", verb: str = "remove it") -> None:
    if name in known:
        return
    if origin and _SECRET_NAME.search(name):
        raise SettingsError(
            f"The secret {name!r} can't be taken from {origin}: secrets are read from the environment only.",
            hint="set RAG_API_KEY, OPENAI_API_KEY or RAG_CHROMA_TOKEN instead, and change it if others could read it",
        )
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    nearest = f"did you mean {close[0]}? " if close else ""
    raise SettingsError(f"{what}.", hint=f"{nearest}{verb}, or use one of {', '.join(known)}")


def _invalid(error: ValidationError, sources: Mapping[str, str]) -> SettingsError:
    """One sentence for the first field that is wrong; a secret's value is never repeated."""
    first = error.errors(include_url=False)[0]
    reason = first["msg"].removeprefix("Value error, ")
    name = str(first["loc"][len(first["loc"]) > 1 and first["loc"][0] in _TABLES])
    source = sources.get(name, "given")
    value = "" if _SECRET_NAME.search(name) else f" to {_USER_INFO.sub(_MASK, repr(first['input']))}"
    return SettingsError(
        f"The setting {name!r} can't be set{value}: {reason[:1].lower()}{reason[1:]}.",
        hint="give another value" if source == "given" else f"it comes from: {source}",
    )
