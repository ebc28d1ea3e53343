"""What may be asked for, how many at once, and that a failed opening is tried again."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from rag_assistant.errors import InputError, RagError
from rag_assistant.settings import Settings
from rag_assistant.ui.examples import WANTED, examples
from rag_assistant.ui.service import BusyError, Service
from tests.ui.served import CORPUS


async def test_one_more_than_may_wait_is_told_that_it_is_busy(tmp_path: Path) -> None:
    service = Service(Settings(index=tmp_path / "i", corpus=(CORPUS,)), running=2, waiting=3)
    started: list[int] = []
    leave = asyncio.Event()

    async def question(number: int) -> None:
        async with service.turn():
            started.append(number)
            await leave.wait()

    async with AsyncExitStack() as stack:
        tasks = [asyncio.create_task(question(number)) for number in range(5)]
        stack.push_async_callback(asyncio.gather, *tasks)
        await asyncio.sleep(0.05)
        assert started == [0, 1]
        assert service.must_wait
        with pytest.raises(BusyError, match="busy") as refused:
            async with service.turn():
                raise AssertionError("there was no room")
        assert "try again" in refused.value.hint
        leave.set()
    assert sorted(started) == [0, 1, 2, 3, 4]
    assert not service.must_wait
    service.close()


async def test_only_backends_of_the_server_can_be_chosen(tmp_path: Path) -> None:
    service = Service(Settings(index=tmp_path / "i", corpus=(CORPUS,)), backends=["tests.browser.backends:Slow"])
    with pytest.raises(InputError, match="isn't offered"):
        await service.assistant("os:system")
    first = await service.assistant()
    assert await service.assistant("extractive") is first
    assert (await service.assistant("tests.browser.backends:Slow")) is not first
    made = await examples(first)
    assert len(made) == WANTED
    assert all([(await first.aask(question)).status == "answered" for question in made])
    service.close()


async def test_an_index_that_comes_later_is_found(tmp_path: Path) -> None:
    papers = tmp_path / "papers.jsonl"
    service = Service(Settings(index=tmp_path / "i", corpus=(papers,)))
    with pytest.raises(RagError):
        await service.assistant()
    papers.write_text('{"id": "a", "title": "Zebras", "abstract": "Zebras are fast. They run."}\n')
    assert len((await service.assistant()).papers()) == 1
    service.close()
