"""For every test: no network, no settings of the person who runs it, and a data folder of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

if TYPE_CHECKING:
    from rag_assistant import Assistant

ROOT = Path(__file__).parent.parent
_GUARD = Path(__file__).parent / "offline_guard"
_OWN = Path(tempfile.mkdtemp(prefix="rag-assistant-tests-"))
OFFLINE_LOG = _OWN / "offline.log"


def _stand_guard() -> None:
    """In this process at once, and in every Python that it starts; these find the project without installation too."""
    os.environ["OFFLINE_GUARD_LOG"] = str(OFFLINE_LOG)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_GUARD), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    if getattr(sys.modules.get("sitecustomize"), "__file__", None) != str(_GUARD / "sitecustomize.py"):
        spec = importlib.util.spec_from_file_location("offline_guard", _GUARD / "sitecustomize.py")
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _forget_the_user() -> None:
    for name in list(os.environ):
        if name.startswith(("RAG_", "OPENAI_")):
            del os.environ[name]
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        os.environ[name] = str(_OWN / name.lower())


def _heed_ctrl_c() -> None:
    """A shell's background jobs ignore SIGINT, and so would the commands that tests start and interrupt."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


_forget_the_user()
_stand_guard()
_heed_ctrl_c()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the long forms of tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="run with --slow"))


def pytest_unconfigure() -> None:
    shutil.rmtree(_OWN, ignore_errors=True)


def attempts() -> str:
    """What was attempted since the last call, by this process or by those it started."""
    found = OFFLINE_LOG.read_text(encoding="utf-8") if OFFLINE_LOG.exists() else ""
    OFFLINE_LOG.unlink(missing_ok=True)
    return found


@pytest.fixture(autouse=True)
def _offline() -> Iterator[None]:
    attempts()
    yield
    found = attempts()
    if found:
        pytest.fail(f"the network was tried:\n{found}", pytrace=False)


@pytest.fixture
def offline_attempts() -> Callable[[], str]:
    """Returns, and forgets, the attempts so far: for testing the guard."""
    return attempts


_READINGS: dict[Any, Any] = {}


@pytest.fixture(scope="session", autouse=True)
def _one_model() -> Iterator[None]:
    """What takes longest is done once for all that this process opens: the embedder's network is loaded once, and the
    reader reads a question against an abstract once, since the same input gives the same output."""
    from rag_assistant.embedders import minilm
    from rag_assistant.reader import trained

    class Remembering(trained.TrainedReader):
        def _reading(self, abstract: Any, asked: list[list[int]]) -> Any:
            key = abstract, tuple(map(tuple, asked))
            if key not in _READINGS:
                _READINGS[key] = super()._reading(abstract, asked)
            return _READINGS[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minilm, "_session", cache(minilm._session))
        patch.setattr(minilm, "_tokenizer", cache(minilm._tokenizer))
        patch.setattr(trained, "TrainedReader", Remembering)
        yield


@pytest.fixture
def unread() -> Callable[[], None]:
    """Makes the reader read anew."""
    return _READINGS.clear


@pytest.fixture(scope="session")
def bundled_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the bundled corpus, which one worker makes for all; it is copied, or read only."""
    from rag_assistant import Assistant

    base = tmp_path_factory.getbasetemp()
    made = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "made once" / "index"
    with FileLock(f"{made.parent}.lock"):
        if not (made / "CURRENT").exists():
            Assistant.open(made).close()
    own = tmp_path_factory.mktemp("bundled") / "index"
    shutil.copytree(made, own)
    return own


@pytest.fixture(scope="session")
def assistant(bundled_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    """One assistant over the bundled corpus; tests read it only."""
    from rag_assistant import Assistant

    own = tmp_path_factory.mktemp("assistant") / "index"
    shutil.copytree(bundled_index, own)
    with Assistant.open(own, corpus=ROOT / "corpus") as opened:
        yield opened
