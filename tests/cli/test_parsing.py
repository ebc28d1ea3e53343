"""What the command line means, and what is said when it can't be understood: in process, without an index."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rag_assistant.cli import main
from rag_assistant.cli.options import FilterOptions, parse_years
from rag_assistant.errors import InputError
from rag_assistant.types import Filters

from .conftest import Run


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("2024", (2024, 2024)),
        ("2020-2024", (2020, 2024)),
        ("2020–2024", (2020, 2024)),
        (" 2020 - 2024 ", (2020, 2024)),
        ("2020-", (2020, None)),
        ("-2024", (None, 2024)),
    ],
)
def test_years(text: str, years: tuple[int | None, int | None]) -> None:
    assert parse_years(text) == years


@pytest.mark.parametrize("text", ["", "-", "24", "20202024", "2020 2024", "2020--2024", "x", "2024-2020", "２０２４a"])
def test_what_is_no_range_of_years(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_years(text)
    assert "--year" in caught.value.hint


@given(st.text(max_size=12))
@hypothesis_settings(deadline=None)
def test_any_years_are_a_range_or_an_input_error(text: str) -> None:
    try:
        first, last = parse_years(text)
    except InputError:
        return
    assert (first is not None) or (last is not None)
    assert first is None or last is None or first <= last


def test_filters() -> None:
    assert FilterOptions().filters() is None
    given = FilterOptions("2024", ["A", "B"], ["ICML"], ["x"]).filters()
    assert given == Filters((2024, 2024), ("ICML",), ("A", "B"), ("x",))


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("rag-assistant")


@pytest.mark.parametrize("command", ["ask", "search", "verify", "index", "papers", "chat", "doctor", "config"])
def test_every_command_has_help_and_json(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    told = capsys.readouterr().out
    assert "--json" in told
    assert "--debug" in told


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    assert main([]) == 0
    assert capsys.readouterr().out == told
    assert all(word in told for word in ("ask", "search", "verify", "index", "papers", "chat", "doctor", "config"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["aks", "x"], "Did you mean 'ask'"),
        (["ask", "--jsn", "x"], "--json"),
        (["search", "-k", "0", "x"], "'-k'"),
        (["search", "-k", "many", "x"], "'-k'"),
    ],
)
def test_a_command_line_that_cannot_be_understood(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    error, hint = told.err.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    assert said in error


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["ask", "--year", "soon", "x"], "'soon' is not a range of years", "--year 2024"),
        (["ask", "-k", "0", "x"], "'k' can't be set to 0", "another value"),
        (["ask", "--json", "--bibtex", "x"], "Only one of", "leave"),
        (["papers", "--json", "--bibtex"], "Only one of", "leave"),
        (["index", "--add"], "--add needs", "PATH"),
        (["ask", "--config", "absent.toml", "x"], "absent.toml can't be read", "--config"),
        (["ask", "--backend", "extractiv", "x"], "no backend named 'extractiv'", "did you mean 'extractive'"),
        (["ask", "--embedder", "minlm", "x"], "no embedder named 'minlm'", "did you mean 'minilm'"),
        (["index", "--embedder", "minlm"], "no embedder named 'minlm'", "did you mean 'minilm'"),
    ],
)
def test_an_error_is_a_sentence_and_a_hint(
    arguments: list[str], error: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    told = capsys.readouterr()
    assert told.out == ""
    first, second = told.err.splitlines()
    assert first.startswith("error: ")
    assert error in first
    assert second.startswith("hint: ")
    assert hint in second


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "--debug", "--year", "soon", "x"]) == 1
    assert "Traceback" in capsys.readouterr().err
    assert main(["--debug", "ask", "--year", "soon", "x"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_no_question_at_all(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["ask"]) == 1
    assert "There is no question" in capsys.readouterr().err


def test_a_question_without_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * 1_000_002)))
    assert main(["ask", "-"]) == 1
    assert "over a million characters" in capsys.readouterr().err


def test_config_shows_values_and_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rag.toml").write_text("k = 7\n")
    monkeypatch.setenv("RAG_MODEL", "some-model")
    monkeypatch.setenv("RAG_API_KEY", "sk-very-private")
    assert main(["config"]) == 0
    told = capsys.readouterr().out
    lines = {line.split()[0]: line.split()[1:] for line in told.splitlines()}
    assert lines["k"] == ["7", "rag.toml"]
    assert lines["model"] == ["some-model", "environment", "(RAG_MODEL)"]
    assert lines["backend"] == ["extractive", "default"]
    assert main(["config", "--json"]) == 0
    as_json = capsys.readouterr().out
    assert json.loads(as_json)["settings"]["k"] == {"value": 7, "source": "rag.toml"}
    assert "sk-very-private" not in told + as_json


def test_a_misspelt_variable_stops_every_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAG_EMBEDER", "minilm")
    for arguments in (["config"], ["ask", "x"], ["papers"], ["index"]):
        assert main(arguments) == 1
        assert "did you mean RAG_EMBEDDER?" in capsys.readouterr().err


def test_a_variable_of_another_program_stops_none(rag: Run) -> None:
    for arguments in (["config"], ["ask", "What is CTMA?"], ["papers"], ["search", "CTMA"]):
        done = rag(*arguments, RAG_TOP_K="4")
        assert (done.code, done.err.count("RAG_TOP_K")) == (0, 1), done.err
        assert done.out
    told = rag("doctor", "--json", RAG_TOP_K="4")
    assert told.code == 0
    (settings,) = [check for check in told.json["checks"] if check["name"] == "settings"]
    assert (settings["status"], "RAG_TOP_K" in settings["detail"]) == ("note", True)
