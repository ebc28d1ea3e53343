"""The bundled folders are found from a checkout and from an installed wheel, and nothing else is taken for them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

from rag_assistant.bundled import Bundle, bundled

ROOT = Path(__file__).parent.parent
ASK = "import sys; from rag_assistant.bundled import bundled; print(bundled(sys.argv[1]))"


def asked_of(site: Path, name: str) -> subprocess.CompletedProcess[str]:
    """What the copy of the package in ``site`` says, in a process of its own and outside any checkout."""
    code = f"import sys; sys.path.insert(0, {str(site)!r}); " + ASK
    return subprocess.run(
        [sys.executable, "-c", code, name], cwd=site.parent, capture_output=True, text=True, check=False
    )


def copy_package(site: Path) -> None:
    ignore = shutil.ignore_patterns("__pycache__", "data")
    shutil.copytree(ROOT / "rag_assistant", site / "rag_assistant", ignore=ignore)


def test_a_checkout_uses_its_own_folders() -> None:
    assert bundled("corpus") == ROOT / "corpus"
    assert (bundled("corpus") / "icml2024" / "nika24a.md").is_file()


def test_the_wheel_takes_every_folder_to_where_it_is_looked_for(tmp_path: Path) -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    site = tmp_path / "site-packages"
    copy_package(site)
    for source, target in wheel["force-include"].items():
        (site / target).mkdir(parents=True)
        (site / target / "from").write_text(source)
        (site / source).mkdir()  # a folder of that name that some other package left there
    assert "corpus" in wheel["force-include"]
    assert set(wheel["force-include"]) <= set(get_args(Bundle))
    for name in wheel["force-include"]:
        assert asked_of(site, name).stdout.strip() == str(site / "rag_assistant" / "data" / name)


def test_another_package_s_folder_is_not_taken_for_it(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    copy_package(site)
    (site / "corpus").mkdir()
    told = asked_of(site, "corpus")
    assert "The bundled folder 'corpus' is missing" in told.stderr
    assert "install the package again" in told.stderr
