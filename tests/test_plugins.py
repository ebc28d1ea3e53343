"""Plug-ins: names, module:Attribute, what is said when there is none, and one installed from another package."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from rag_assistant.errors import PluginError
from rag_assistant.plugins import BUILTINS, load_plugin, plugin_names

ROOT = Path(__file__).parent.parent


def _distribution(folder: Path, name: str, entry_points: str, module: str = "") -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    (folder / f"{name.replace('-', '_')}.py").write_text(module)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_table_is_what_the_project_registers() -> None:
    registered = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    for kind, names in BUILTINS.items():
        assert registered.get(f"rag_assistant.{kind}s", {}) == dict(names)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in BUILTINS.items() for name in names])
def test_every_built_in_loads(kind: str, name: str) -> None:
    assert callable(load_plugin(kind, name))  # type: ignore[arg-type]


def test_an_installed_package_adds_one(site: Path) -> None:
    _distribution(site, "pluga", "[rag_assistant.backends]\nechoes = pluga:Echo\n", "class Echo: pass\n")
    assert load_plugin("backend", "echoes").__name__ == "Echo"
    assert "echoes" in plugin_names("backend")
    assert "echoes" not in plugin_names("embedder")


def test_module_and_attribute(site: Path) -> None:
    (site / "plugb.py").write_text("class Outer:\n    class Inner: pass\n")
    assert load_plugin("embedder", "plugb:Outer").__name__ == "Outer"
    assert load_plugin("embedder", "plugb:Outer.Inner").__name__ == "Inner"


def test_a_built_in_cannot_be_taken_over(site: Path) -> None:
    _distribution(site, "plugc", "[rag_assistant.embedders]\nminilm = plugc:Evil\n", "class Evil: pass\n")
    assert load_plugin("embedder", "minilm").__module__.startswith("rag_assistant.")


def test_two_packages_that_claim_one_name(site: Path) -> None:
    _distribution(site, "plugd", "[rag_assistant.backends]\nsame = plugd:A\n", "class A: pass\n")
    _distribution(site, "pluge", "[rag_assistant.backends]\nsame = pluge:B\n", "class B: pass\n")
    with pytest.raises(PluginError, match="plugd:A, pluge:B"):
        load_plugin("backend", "same")


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("extractiv", "no backend named 'extractiv'", "did you mean 'extractive'?"),
        ("zzz", "no backend named 'zzz'", "installed: extractive"),
        ("", "no backend named ''", "package.module:Attribute"),
        ("no_such_module:X", "no module 'no_such_module'", "install"),
        ("rag_assistant.errors:RagEror", "has no 'RagEror'", "did you mean 'RagError'?"),
        ("rag_assistant.errors:", "is not the name of a backend", "package.module:Attribute"),
        (":X", "is not the name of a backend", "package.module:Attribute"),
        ("a b:X", "is not the name of a backend", "package.module:Attribute"),
        ("a:b:c", "is not the name of a backend", "package.module:Attribute"),
    ],
)
def test_what_is_said_when_there_is_none(name: str, message: str, hint: str) -> None:
    with pytest.raises(PluginError) as caught:
        load_plugin("backend", name)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_module_that_fails_on_import(site: Path) -> None:
    (site / "plugf.py").write_text("raise RuntimeError('no licence')\n")
    with pytest.raises(PluginError, match="RuntimeError: no licence"):
        load_plugin("backend", "plugf:X")
    (site / "plugg.py").write_text("import a_missing_dependency\n")
    with pytest.raises(PluginError, match="no module 'a_missing_dependency'"):
        load_plugin("backend", "plugg:X")
    assert "plugf" not in sys.modules


def test_an_unknown_kind() -> None:
    with pytest.raises(PluginError, match="no kind of plug-in"):
        load_plugin("loder", "x")  # type: ignore[arg-type]
