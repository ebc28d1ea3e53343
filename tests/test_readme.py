"""What the README shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rag_assistant.cli import main
from rag_assistant.cli.app import app, evals
from rag_assistant.evals import Dataset
from rag_assistant.settings import Settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
_BLOCKS = [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", README, re.MULTILINE)]


def test_the_first_screen_shows_real_output(tmp_path: Path) -> None:
    found = re.search(r'rag-assistant ask "(.*?)"\n\n```\n(.*?)```', README, re.DOTALL)
    assert found is not None
    question, shown = found.groups()
    done = subprocess.run(
        [sys.executable, "-m", "rag_assistant.cli", "ask", question], cwd=tmp_path, capture_output=True, timeout=180
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().split() == shown.split()  # the README wraps its lines


def test_the_python_example_runs(tmp_path: Path) -> None:
    code = next(block for block in _BLOCKS if block.lstrip().startswith("from rag_assistant import Assistant"))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=180)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().startswith("answered ")
    assert "\n1 " in done.stdout.decode()


def test_every_command_is_in_the_table() -> None:
    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    commands |= {group.name for group in app.registered_groups if group.name}
    told = set(re.findall(r"^\| `(\w+)", README.split("## The commands")[1].split("##")[0], re.MULTILINE))
    assert told == commands


def test_every_verb_of_eval_is_named() -> None:
    (row,) = re.findall(r"^\| `eval` \| (.*) \|$", README, re.MULTILINE)
    verbs = {command.name or command.callback.__name__ for command in evals.registered_commands if command.callback}
    assert {name.split()[0] for name in re.findall(r"`([a-z]+)[^`]*`", row)} == verbs


def test_every_setting_is_in_the_table() -> None:
    told = set(re.findall(r"^\| `(\w+)` \| `RAG_", README, re.MULTILINE))
    assert told == set(Settings().sources) - {"api_key"}


def test_the_table_of_numbers_is_that_of_the_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    section = README.split("## How good it is")[1].split("\n## ")[0]
    shown = "".join(re.findall(r"^\|.*\n", section, re.MULTILINE))
    (command,) = re.findall(r"`rag-assistant (eval show \S+ --markdown)`", section)
    arguments = [str(ROOT / word) if word.endswith(".json") else word for word in command.split()]
    assert main(arguments) == 0
    assert shown == capsys.readouterr().out, f"to be made again by: rag-assistant {command}"
    questions = len(Dataset.load())
    assert f"asks the {questions} questions" in section
