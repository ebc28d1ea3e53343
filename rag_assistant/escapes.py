"""Escape sequences that style or control a terminal: not part of the text that was copied from it."""

from __future__ import annotations

import re

# ECMA-48: a control sequence ("\x1b[31m"), a control string up to its end (a title, a link), and the escapes whose
# second character is no letter. One with a letter, or cut short, can't be distinguished from text after a lone ESC.
_ESCAPE = re.compile(
    r"""\x1b\[[0-?]*[ -/]*[@-~] | \x9b[0-?]+[@-~]
      | (?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\r\n]*(?:\x07|\x1b\\|\x9c)
      | \x1b(?:[ #%()*+./-][0-~]|[78=>])""",
    re.VERBOSE,
)


def without_escapes(text: str) -> str:
    """The text without whole escape sequences; a lone control character stays."""
    return _ESCAPE.sub("", text) if "\x1b" in text or "\x9b" in text or "\x9d" in text else text
