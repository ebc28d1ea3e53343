"""Serves the chat UI with the settings of the environment and ``rag.toml``: ``python app.py``."""

from __future__ import annotations

import sys

from rag_assistant.cli import main

if __name__ == "__main__":
    sys.exit(main(["ui", *sys.argv[1:]]))
