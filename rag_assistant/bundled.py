"""Where the data that ships with the package is."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rag_assistant.errors import InputError

Bundle = Literal["corpus", "evals", "prompts"]


def bundled(name: Bundle) -> Path:
    """The folder of bundled data with that name.

    In an installed wheel that is ``rag_assistant/data/<name>``. In a checkout or an editable install it is the folder
    ``<name>`` beside the package, so that an edit there takes effect at once.

    Raises:
        InputError: The folder is in neither place; the installation is damaged.
    """
    package = Path(__file__).resolve().parent
    shipped, beside = package / "data" / name, package.parent / name
    if shipped.is_dir():
        return shipped
    # Beside an installed package is site-packages: a folder "evals" there is someone else's.
    if beside.is_dir() and (package.parent / "pyproject.toml").is_file():
        return beside
    raise InputError(
        f"The bundled folder {name!r} is missing: neither {shipped} nor {beside} is there.",
        hint="install the package again",
    )
