"""Settings: which source wins, what is refused, and that secrets stay secret."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import ValidationError

from rag_assistant.errors import SettingsError
from rag_assistant.settings import BudgetSettings, Settings


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", *(n for n in os.environ if n.startswith("RAG_"))):
        monkeypatch.delenv(name, raising=False)


def test_defaults() -> None:
    loaded = Settings.load()
    assert (loaded.backend, loaded.embedder, loaded.k) == ("extractive", "minilm", 5)
    assert loaded.index is None
    assert loaded.index_path.name == "index"
    assert loaded.index_path.parent.name == "rag-assistant"
    assert set(loaded.sources.values()) == {"default"}
    assert Settings().model_dump() == loaded.model_dump()


def test_each_source_beats_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rag.toml").write_text('k = 2\nbackend = "from-file"\nembedder = "from-file"\n')
    monkeypatch.setenv("RAG_K", "3")
    monkeypatch.setenv("RAG_BACKEND", "from-environment")
    loaded = Settings.load(k=4)
    assert (loaded.k, loaded.backend, loaded.embedder) == (4, "from-environment", "from-file")
    assert loaded.sources["k"] == "given"
    assert loaded.sources["backend"] == "environment (RAG_BACKEND)"
    assert loaded.sources["embedder"] == "rag.toml"
    assert loaded.sources["rerank"] == "default"


def test_none_means_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_MODEL", "m")
    loaded = Settings.load(model=None, k=None)
    assert (loaded.model, loaded.k) == ("m", 5)


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_K", "")
    assert Settings.load().k == 5


def test_settings_can_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_MODEL", "m")
    loaded = Settings.load(k=3)
    changed = loaded.replaced(k=4, timeout=None, base_url="http://127.0.0.1:1/v1")
    assert (changed.k, changed.model, changed.timeout) == (4, "m", 120)
    assert changed.sources["base_url"] == "given"
    assert changed.sources["model"] == "environment (RAG_MODEL)"
    with pytest.raises(SettingsError, match="'k'"):
        loaded.replaced(k=0)
    with pytest.raises(SettingsError, match="did you mean timeout"):
        loaded.replaced(timeuot=3)


def test_tokens_are_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rag.toml").write_text("max_tokens = 256\n")
    monkeypatch.setenv("RAG_CONTEXT_TOKENS", "4096")
    loaded = Settings.load()
    assert (loaded.max_tokens, loaded.context_tokens) == (256, 4096)


@pytest.mark.parametrize(
    ("value", "on"), [("extractive", True), ("yes", True), (True, True), ("false", False), (False, False)]
)
def test_the_fallback_is_a_switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | bool, on: bool) -> None:
    assert Settings(fallback=value).fallback is Settings.load(fallback=value).fallback is on
    (tmp_path / "rag.toml").write_text(f"fallback = {json.dumps(value)}\n")
    assert Settings.load().fallback is on
    assert Settings.load(fallback=not on).fallback is not on
    monkeypatch.setenv("RAG_FALLBACK", str(value))
    loaded = Settings.load(config=tmp_path / "rag.toml")
    assert (loaded.fallback, loaded.sources["fallback"]) == (on, "environment (RAG_FALLBACK)")
    assert loaded.masked()["fallback"] is on


LIMITS = {"price_in": 2.0, "price_out": 8.0, "max_cost": 0.5, "max_session_cost": 3.0, "max_session_tokens": 9000}


@pytest.mark.parametrize("source", ["table", "flat", "environment", "keywords", "keyword", "object"])
def test_a_budget_is_a_table_however_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    lines = "".join(f"{name} = {value}\n" for name, value in LIMITS.items())
    given: dict[str, object] = {}
    if source in ("table", "flat"):
        (tmp_path / "rag.toml").write_text(f"k = 3\n{'[budget]' if source == 'table' else ''}\n{lines}")
    elif source == "environment":
        for name, value in LIMITS.items():
            monkeypatch.setenv(f"RAG_{name.upper()}", str(value))
    else:
        given = {"keywords": LIMITS, "keyword": {"budget": LIMITS}, "object": {"budget": BudgetSettings(**LIMITS)}}[
            source
        ]
        assert Settings(**given).budget.model_dump() == LIMITS
        assert Settings().replaced(**given).budget.model_dump() == LIMITS
    loaded = Settings.load(**given)
    assert loaded.budget.model_dump() == LIMITS
    assert {name: loaded.masked()[name] for name in LIMITS} == LIMITS
    origins = {"table": "rag.toml", "flat": "rag.toml"}
    for name in LIMITS:
        variable = f"environment (RAG_{name.upper()})" if source == "environment" else "given"
        assert loaded.sources[name] == origins.get(source, variable)
    with pytest.raises(ValidationError):
        loaded.budget.max_cost = 1.0


def test_each_limit_comes_from_its_own_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rag.toml").write_text("[budget]\nprice_in = 1\nprice_out = 1\nmax_cost = 1\n")
    monkeypatch.setenv("RAG_PRICE_OUT", "2")
    loaded = Settings.load(max_cost=3).replaced(budget={"max_session_cost": 4})
    assert list(loaded.budget.model_dump().values()) == [1, 2, 3, 4, None]
    told = ["rag.toml", "environment (RAG_PRICE_OUT)", "given", "given", "default"]
    assert [loaded.sources[name] for name in LIMITS] == told
    assert set(loaded.sources) == set(loaded.masked())
    assert Settings(max_cost=3).sources["max_cost"] == "given"
    assert Settings(max_cost=3).sources["max_session_cost"] == "default"


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ("[budget]\nmax_cots = 1", "unknown setting 'max_cots' in [budget]", "did you mean max_cost"),
        ("[budget]\nprice_in = 1\nk = 3", "unknown setting 'k' in [budget]", "put it above [budget]"),
        ("[budget]\nmax_cost = -1", "'max_cost' can't be set to -1", "rag.toml"),
        ("budget = 3", "'budget' can't be set to 3: it should be a table of price_in, price_out, max_cost", "rag.toml"),
        ("[budgets]\nmax_cost = 1", "unknown setting 'budgets'", "did you mean budget"),
        ("max_cost = 1\n[budget]\nmax_cost = 2", "'max_cost' is given twice", "rag.toml"),
        ('[budget]\napi_key = "sk-very-private"', "secret 'api_key' can't be taken from rag.toml", "RAG_API_KEY"),
    ],
)
def test_a_table_that_cannot_be_used(tmp_path: Path, content: str, message: str, hint: str) -> None:
    (tmp_path / "rag.toml").write_text(content)
    with pytest.raises(SettingsError) as caught:
        Settings.load()
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert "sk-very-private" not in str(caught.value)


def test_a_bad_limit_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_MAX_COST", "much")
    with pytest.raises(SettingsError, match=r"'max_cost' can't be set to 'much'.*RAG_MAX_COST"):
        Settings.load()
    monkeypatch.delenv("RAG_MAX_COST")
    monkeypatch.setenv("RAG_MAX_COTS", "1")
    with pytest.raises(SettingsError, match="did you mean RAG_MAX_COST"):
        Settings.load()


def test_the_file_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rag.toml").write_text("k = 2\n")
    (tmp_path / "a.toml").write_text("k = 7\n")
    (tmp_path / "b.toml").write_text("k = 8\n")
    monkeypatch.setenv("RAG_CONFIG", str(tmp_path / "a.toml"))
    assert Settings.load().k == 7
    assert Settings.load(config=tmp_path / "b.toml").k == 8


def test_paths_in_the_file_start_at_the_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    config = tmp_path / "sub" / "rag.toml"
    config.write_text(f'index = "here"\ncorpus = ["papers.txt", {json.dumps(str(tmp_path / "x"))}, "~/mine"]\n')
    loaded = Settings.load(config=config)
    assert loaded.index == tmp_path / "sub" / "here"
    assert loaded.index_path == loaded.index
    assert loaded.corpus == (tmp_path / "sub" / "papers.txt", tmp_path / "x", Path.home() / "mine")


def test_a_corpus_of_several_paths_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_CORPUS", os.pathsep.join(["a.txt", "~/b"]))
    assert Settings.load().corpus == (Path("a.txt"), Path.home() / "b")
    assert Settings.load(corpus=Path("c")).corpus == (Path("c"),)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("k", 0, "'k'"),
        ("k", "many", "'k'"),
        ("lock_timeout", -1, "'lock_timeout'"),
        ("lock_timeout", float("nan"), "'lock_timeout'"),
        ("base_url", "localhost:8000", "http://"),
        ("backend", "", "'backend'"),
        ("corpus", 3, "'corpus'"),
        ("fallback", "openai", "'fallback'"),
        ("temperature", 3, "'temperature'"),
        ("timeout", 0, "'timeout'"),
        ("max_tokens", 0, "'max_tokens'"),
        ("max_cost", -1, "'max_cost'"),
    ],
)
def test_values_that_cannot_be_used(name: str, value: object, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(**{name: value})
    assert said in caught.value.message
    assert caught.value.message.count("\n") == 0
    assert caught.value.hint


def test_a_bad_value_names_where_it_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_K", "lots")
    with pytest.raises(SettingsError) as caught:
        Settings.load()
    assert "'lots'" in caught.value.message
    assert "RAG_K" in caught.value.hint
    monkeypatch.delenv("RAG_K")
    (tmp_path / "rag.toml").write_text("k = -3\n")
    with pytest.raises(SettingsError) as caught:
        Settings.load()
    assert "rag.toml" in caught.value.hint


def test_unknown_names_are_errors_that_name_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="did you mean embedder"):
        Settings.load(embeder="minilm")
    monkeypatch.setenv("RAG_BACKEDN", "extractive")
    with pytest.raises(SettingsError, match=r"RAG_BACKEDN.*did you mean RAG_BACKEND"):
        Settings.load()
    monkeypatch.delenv("RAG_BACKEDN")
    (tmp_path / "rag.toml").write_text("lock_timout = 3\n")
    with pytest.raises(SettingsError, match=r"rag\.toml.*did you mean lock_timeout"):
        Settings.load()


@pytest.mark.parametrize(
    "name", ["EMBEDER", "EMBEDER_MODEL", "BACKEDN", "MODLE", "MAX_TOKEN", "BASEURL", "TIMEOUTS", "APIKEY"]
)
def test_variables_that_are_nearly_settings_are_errors(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(f"RAG_{name}", "x")
    with pytest.raises(SettingsError, match="did you mean RAG_"):
        Settings.load()


def test_variables_of_other_programs_are_passed_over_and_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert Settings.load().notices == ()
    monkeypatch.setenv("RAG_EMBEDDING_MODEL", "x")
    (told,) = Settings.load().notices
    assert told == "The environment variable RAG_EMBEDDING_MODEL is no setting of rag-assistant and changed nothing."
    for name in ("TOP_K", "DATABASE_URL", "OPENAI_API_KEY", "TEMPLATE", "PASSWORD"):
        monkeypatch.setenv(f"RAG_{name}", "x")
    (told,) = Settings.load(k=3).replaced(k=4).notices
    assert "RAG_DATABASE_URL, RAG_EMBEDDING_MODEL, RAG_OPENAI_API_KEY, RAG_PASSWORD, " in told
    (tmp_path / "rag.toml").write_text("top_k = 3\n")
    with pytest.raises(SettingsError, match="unknown setting 'top_k'"):
        Settings.load()


def test_variables_that_are_no_settings_but_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_UI_USER", "me")
    monkeypatch.setenv("RAG_UI_PASSWORD", "pw")
    assert "pw" not in repr(Settings.load())


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="can't be read"):
        Settings.load(config=tmp_path / "absent.toml")
    monkeypatch.setenv("RAG_CONFIG", str(tmp_path))
    with pytest.raises(SettingsError, match="RAG_CONFIG"):
        Settings.load()
    monkeypatch.delenv("RAG_CONFIG")
    (tmp_path / "rag.toml").write_text("k = \n")
    with pytest.raises(SettingsError, match=r"not valid TOML.*line 1"):
        Settings.load()
    (tmp_path / "rag.toml").write_bytes(b"k = '\xff'")
    with pytest.raises(SettingsError, match="UTF-8"):
        Settings.load()


@pytest.mark.parametrize("name", ["api_key", "openai_api_key", "OPENAI_API_KEY", "token", "password", "client_secret"])
def test_secrets_in_the_file_are_refused_and_not_repeated(tmp_path: Path, name: str) -> None:
    (tmp_path / "rag.toml").write_text(f'{name} = "sk-very-private"\n')
    with pytest.raises(SettingsError) as caught:
        Settings.load()
    assert "environment" in caught.value.message
    assert "RAG_API_KEY" in caught.value.hint
    assert "sk-very-private" not in str(caught.value)


def test_secrets_as_keywords_are_refused() -> None:
    with pytest.raises(SettingsError, match="environment"):
        Settings.load(api_key="sk-very-private")


def test_which_key_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    assert _key(Settings.load()) == "sk-openai"
    assert Settings.load().sources["api_key"] == "environment (OPENAI_API_KEY)"
    # OpenAI's key never goes to another server on its own.
    assert _key(Settings.load(base_url="http://localhost:1/v1")) is None
    monkeypatch.setenv("RAG_API_KEY", "sk-mine")
    assert _key(Settings.load()) == "sk-mine"
    assert _key(Settings.load(base_url="http://localhost:1/v1")) == "sk-mine"


def test_a_key_that_nothing_uses_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings.load().unused_key == ""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    assert Settings.load().unused_key.startswith("OPENAI_API_KEY is set and not used")
    assert Settings.load(embedder="openai").unused_key == ""
    assert Settings.load(backend="openai").unused_key == ""
    assert Settings.load(backend="extractive").unused_key == ""
    monkeypatch.setenv("RAG_API_KEY", "sk-mine")
    assert Settings.load(embedder="openai").unused_key.startswith("RAG_API_KEY is set and not used")


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://127.0.0.1.evil.example/v1", False),
        ("http://localhost@evil.example/v1", False),
        ("https://10.0.0.1/v1", False),
        (None, False),
    ],
)
def test_which_servers_are_of_this_machine(address: str | None, local: bool) -> None:
    assert Settings(base_url=address).server_is_local is local


def test_secrets_are_masked_wherever_settings_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_API_KEY", "sk-mine")
    loaded = Settings.load(base_url="https://me:pw@host/v1")
    assert "sk-mine" not in repr(loaded) + str(loaded) + json.dumps(loaded.masked())
    assert loaded.masked()["base_url"] == "https://********@host/v1"
    assert loaded.masked()["api_key"] == "********"
    assert Settings().masked()["api_key"] is None


def test_the_token_of_a_chroma_server_is_masked_and_comes_from_the_environment_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_CHROMA_TOKEN", "tk-mine")
    loaded = Settings.load()
    assert "tk-mine" not in repr(loaded) + str(loaded) + json.dumps(loaded.masked())
    assert loaded.masked()["chroma_token"] == "********"
    monkeypatch.setenv("RAG_CHROMA_TOKEN", "tk-mine\nX-Other: 1")
    with pytest.raises(SettingsError, match=r"'chroma_token' can't be set: .*RAG_CHROMA_TOKEN") as caught:
        Settings.load()
    assert "tk-" not in str(caught.value)
    monkeypatch.delenv("RAG_CHROMA_TOKEN")
    (tmp_path / "rag.toml").write_text('chroma_token = "tk-mine"\n')
    with pytest.raises(SettingsError, match=r"environment only.*RAG_CHROMA_TOKEN"):
        Settings.load()


@pytest.mark.parametrize(
    ("given_url", "used"),
    [
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("http://localhost", "http://localhost:8000"),
        ("https://chroma.example/", "https://chroma.example:443"),
        ("http://[::1]:9000", "http://[::1]:9000"),
    ],
)
def test_a_chroma_server_is_named_by_host_and_port(given_url: str, used: str) -> None:
    assert Settings(chroma_url=given_url).chroma_url == used


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://host", "http://", "http://host/api", "http://host:port"])
def test_what_is_no_address_of_a_chroma_server(url: str) -> None:
    with pytest.raises(SettingsError, match="http://HOST:PORT"):
        Settings.load(chroma_url=url)


def test_a_password_in_the_address_of_a_chroma_server_is_not_repeated() -> None:
    with pytest.raises(SettingsError, match="http://HOST:PORT") as caught:
        Settings.load(chroma_url="http://me:secret-pw@host:8000")
    assert "secret-pw" not in str(caught.value)


def test_of_a_folder_and_a_server_the_one_from_the_nearer_source_holds_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rag.toml").write_text('index = "from-file"\n')
    monkeypatch.setenv("RAG_CHROMA_URL", "http://host:1")
    loaded = Settings.load()
    assert (loaded.index, loaded.chroma_url) == (None, "http://host:1")
    assert (loaded.sources["index"], loaded.sources["chroma_url"]) == ("default", "environment (RAG_CHROMA_URL)")
    assert Settings.load(index="here").chroma_url is None
    assert loaded.replaced(index="here").chroma_url is None
    assert loaded.replaced(collection="other").chroma_url is None
    assert loaded.replaced(index="here").replaced(chroma_url="http://host:2").index is None
    assert loaded.index_path != Settings.load(chroma_database="other").index_path
    with pytest.raises(SettingsError, match="give one of them"):
        Settings.load(index="here", chroma_url="http://host:1")


@given(st.dictionaries(st.sampled_from(["k", "backend", "model", "lock_timeout"]), st.text(max_size=8), max_size=3))
@hypothesis_settings(deadline=None, max_examples=60)
def test_any_keywords_give_settings_or_one_settings_error(given_values: dict[str, str]) -> None:
    try:
        loaded = Settings.load(**given_values)
    except SettingsError:
        return
    assert all(loaded.sources[name] == "given" for name in given_values)


def _key(loaded: Settings) -> str | None:
    return loaded.api_key.get_secret_value() if loaded.api_key else None


@pytest.mark.parametrize("name", ["RAG_MODEl", "rag_backend", "RAG_MODLE", "Rag_K"])
def test_a_variable_that_is_nearly_a_setting_is_an_error(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "x")
    with pytest.raises(SettingsError, match=f"{name} is no setting") as caught:
        Settings.load()
    assert "did you mean RAG_" in caught.value.hint
