"""Backends that write what tests need, chosen by ``module:Class`` like any plug-in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

from rag_assistant.drafts import Draft, Frame, Label, Piece
from rag_assistant.types import Usage
from rag_assistant.writers.base import Prompt
from tests.browser.payloads import PAYLOADS


class _Both:
    model = "test"

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        for piece in self.pieces(prompt):
            time.sleep(self.pause)
            yield piece

    async def astream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        for piece in self.pieces(prompt):
            await asyncio.sleep(self.pause)
            yield piece

    pause = 0.0

    def pieces(self, prompt: Prompt) -> Iterator[Piece]:
        raise NotImplementedError


class Slow(_Both):
    """Streams a word at a time for longer than any test waits, with mathematics and money."""

    name = "slow"
    pause = 0.15

    def pieces(self, prompt: Prompt) -> Iterator[Piece]:
        yield Frame("The rate is $\\frac{1}{T}$ and it costs ")
        yield Frame("$5 and $6 a token. ")
        for number in range(400):
            yield Frame(f"word{number} ")


class Steady(_Both):
    """Two sentences of the best paper in other words, each with its own quote, and then on and on."""

    name = "steady"
    pause = 0.15

    def pieces(self, prompt: Prompt) -> Iterator[Piece]:
        for place in (0, 1):
            said = prompt.evidence.papers[0].sentences[place].passage.text
            yield Draft(f"The authors say: {said[:1].lower()}{said[1:]}", (Label(0, place),))
        for number in range(400):
            yield Frame(f" word{number}")


class Inventing(_Both):
    """Says what no abstract says, cites one for it, and tells what that cost."""

    name = "inventing"

    def pieces(self, prompt: Prompt) -> Iterator[Piece]:
        yield Draft(f"Astronauts bake bread on Mars {PAYLOADS[2]}.", (Label(0, 0),))
        yield Usage(1200, 34, 0.0012, calls=1)


class Hostile(_Both):
    """Cites every paper, and adds every payload as sentences of its own."""

    name = "hostile"

    def pieces(self, prompt: Prompt) -> Iterator[Piece]:
        for place, paper in enumerate(prompt.evidence.papers):
            yield Draft(paper.sentences[0].passage.text, (Label(place, 0),))
        for payload in PAYLOADS:
            yield Draft(payload)


class Broken(_Both):
    """A plug-in with a bug."""

    name = "broken"

    def pieces(self, prompt: Prompt) -> Iterator[Piece]:
        raise KeyError("a secret path /etc/passwd")
