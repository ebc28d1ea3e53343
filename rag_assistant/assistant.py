"""The one entry point: a question in, a checked answer out. Everything else in this package is called from here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

from rag_assistant.answering.batch import Outcome, aask_all, ask_all
from rag_assistant.answering.library import Library, PathLike
from rag_assistant.answering.run import QuestionRun
from rag_assistant.answering.runner import aevents_of, events_of
from rag_assistant.answering.snapshots import Snapshots
from rag_assistant.answering.streams import AnswerStream, AsyncAnswerStream
from rag_assistant.answering.verifying import verify
from rag_assistant.bundled import bundled
from rag_assistant.checks.base import Check
from rag_assistant.checks.resolve import resolve_check
from rag_assistant.embedders.base import Embedder
from rag_assistant.errors import BackendError, InputError
from rag_assistant.index.collections import no_collection
from rag_assistant.index.generations import IndexFolder
from rag_assistant.index.open import OpenIndex, open_index
from rag_assistant.index.server import server_of
from rag_assistant.loaders import OnProgress, load_papers
from rag_assistant.models.budget import Budget
from rag_assistant.plugins import load_plugin
from rag_assistant.questions.form import analyse
from rag_assistant.reader.base import Reader
from rag_assistant.reader.resolve import resolve_reader
from rag_assistant.retrieval.retriever import Query, Retriever, hits_of
from rag_assistant.types import Answer, Event, Filters, Hit, Length, Paper, Turn, Verification
from rag_assistant.writers.base import Backend
from rag_assistant.writers.resolve import resolve_backend

if TYPE_CHECKING:
    from rag_assistant.settings import Settings


class Assistant(Library):
    """Answers questions about the papers of one index.

    Make one with :meth:`open`; use it from as many threads as you like. Its next question sees a rebuilt index, even if
    another process rebuilt it.
    """

    def __init__(
        self,
        settings: Settings,
        embedder: Embedder,
        backend: Backend,
        opened: OpenIndex,
        *,
        fallback: Backend | None = None,
        budget: Budget | None = None,
        check: Check | None = None,
        rerank: Any = None,
        reader: Reader | None = None,
        progress: OnProgress | None = None,
    ) -> None:
        snapshots = Snapshots(
            opened,
            lambda index: Retriever(index, embedder, rerank=rerank, reader=reader),
            # The corpus is only what the index starts with; later changes to the index stay.
            lambda: _open_index(settings, embedder, progress, corpus=False),
        )
        super().__init__(settings, embedder, snapshots, progress)
        self._backend = backend
        self._fallback = fallback
        self._budget = budget or Budget(settings.budget)
        self._check = check
        self._reader = reader

    @classmethod
    def open(
        cls,
        index: PathLike | None = None,
        *,
        corpus: PathLike | Sequence[PathLike] | None = None,
        backend: str | Backend | Any | None = None,
        embedder: str | Embedder | Any | None = None,
        settings: Settings | None = None,
        rerank: Any = None,
        reader: str | Reader | None = None,
        check: str | Check | None = None,
        lock_timeout: float | None = None,
        progress: OnProgress | None = None,
        **others: Any,
    ) -> Self:
        """Opens the index, building or repairing it if needed.

        Args:
            index: Folder of the index; by default the one in the settings, or the user's data folder.
            corpus: Files or folders of papers that the index must have on opening; by default those that it has, or
                the bundled papers if there is no index yet.
            backend: Writes answers: a name, ``module:Class``, an object, or a LlamaIndex ``LLM``; by default
                ``extractive``.
            embedder: Makes vectors: a name, ``module:Class``, an object, or a LlamaIndex ``BaseEmbedding``.
            settings: Used instead of the settings from the environment and ``rag.toml``.
            rerank: A LlamaIndex ``BaseNodePostprocessor``, or ``module:Class`` of one; reorders what was found.
            reader: Judges whether an abstract answers: ``trained``, a name, ``module:Class`` or an object; ``none``
                judges nothing.
            check: A further check of each statement, which can only take support away: a name, ``module:Class`` or an
                object; see :class:`rag_assistant.checks.base.Check`.
            lock_timeout: How many seconds to wait for another process that writes the index.
            progress: Called while the index is built.
            **others: Any other setting by its name, such as ``model``, ``base_url``, ``fallback`` or ``max_cost``.

        Raises:
            SettingsError: A setting is unknown or has a value that it can't have.
            LoadError: The papers can't be read.
            StoreError: The index can't be made because something else is there, is damaged beyond repair, or locked.
            EmbedderError, PluginError: The embedder, backend or check can't be loaded.
            BackendAuthError: The backend has no key, and there is no fallback.
        """
        from rag_assistant.embedders.resolve import resolve_embedder
        from rag_assistant.settings import Settings

        paths = None if corpus is None else [corpus] if isinstance(corpus, str | os.PathLike) else list(corpus)
        given: dict[str, Any] = {
            **others,
            "index": Path(index) if index is not None else None,
            "corpus": tuple(Path(path) for path in paths) if paths is not None else None,
            "backend": backend if isinstance(backend, str) else None,
            "embedder": embedder if isinstance(embedder, str) else None,
            "lock_timeout": lock_timeout,
            "check": check if isinstance(check, str) else None,
            "reader": reader if isinstance(reader, str) else None,
        }
        chosen = settings.replaced(**given) if settings is not None else Settings.load(**given)
        budget = Budget(chosen.budget)
        fallback = resolve_backend("extractive", chosen) if chosen.fallback else None
        notice = ""
        try:
            named = chosen.backend if backend is None or isinstance(backend, str) else backend
            writer = resolve_backend(named, chosen)
        except BackendError as error:
            if fallback is None:
                raise
            writer, notice = (
                fallback,
                f"{error.message.rstrip('.')}, so answers come from the abstracts without a model.",
            )
        vectors = chosen.embedder if embedder is None or isinstance(embedder, str) else embedder
        encoder = resolve_embedder(vectors, model=chosen.embedder_model)
        judging = resolve_reader(chosen.reader if reader is None or isinstance(reader, str) else reader, load_plugin)
        reorder = _resolve_rerank(rerank if rerank is not None else chosen.rerank)
        wanted = chosen.check if check is None or isinstance(check, str) else check
        # If the fallback stands in for a model, that model can't check either; the abstracts' own words need no check.
        further = None if wanted is None or writer is fallback else resolve_check(wanted, chosen, writer)
        opened = _open_index(chosen, encoder, progress)
        made = cls(
            chosen,
            encoder,
            writer,
            opened,
            fallback=fallback,
            budget=budget,
            check=further,
            rerank=reorder,
            reader=judging,
            progress=progress,
        )
        made._snapshots.notices += [*([notice] if notice else ()), *(() if settings is not None else chosen.notices)]
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the index. Questions being answered finish first; later ones raise ``RuntimeError``."""
        self._snapshots.close()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings

    @property
    def notices(self) -> tuple[str, ...]:
        """What has been repaired or done differently so far, one line each."""
        return tuple(self._snapshots.notices)

    def ask(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        k: int | None = None,
        filters: Filters | None = None,
        length: Length | None = None,
    ) -> Answer:
        """Answers a question.

        Args:
            question: Any text. A question that can't be answered gets a refusal, not an error.
            history: Earlier turns as ``(question, answer text)``, oldest first.
            k: How many papers to draw on.
            filters: Which papers to ask.
            length: How long the answer should be.

        Raises:
            InputError: ``length`` is none of ``short``, ``normal`` and ``long``.
            BackendError: The model failed and there is no fallback, or the answer would cost more than it may.
            StoreError: The index broke and can't be repaired.
        """
        return self.stream(question, history=history, k=k, filters=filters, length=length).answer

    def stream(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        k: int | None = None,
        filters: Filters | None = None,
        length: Length | None = None,
    ) -> AnswerStream:
        """As :meth:`ask`, but streams the answer as it is written."""
        return AnswerStream(self._events(question, history, k, filters, length))

    async def aask(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        k: int | None = None,
        filters: Filters | None = None,
        length: Length | None = None,
    ) -> Answer:
        """As :meth:`ask`, but without blocking the event loop."""
        stream = self.astream(question, history=history, k=k, filters=filters, length=length)
        async for _ in stream:
            pass
        return stream.answer

    def astream(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        k: int | None = None,
        filters: Filters | None = None,
        length: Length | None = None,
    ) -> AsyncAnswerStream:
        """As :meth:`stream`, for ``async for``."""
        return AsyncAnswerStream(self._aevents(question, history, k, filters, length))

    def ask_many(
        self,
        questions: Iterable[str],
        *,
        concurrency: int = 8,
        k: int | None = None,
        filters: Filters | None = None,
        length: Length | None = None,
        progress: OnProgress | None = None,
    ) -> tuple[Outcome, ...]:
        """Answers many questions, several at a time; the outcomes are in their order, each an answer or an error.

        A provider's limits are respected: the pause that it asks for holds back all questions, and those that it still
        refuses are asked again at the end, one at a time.

        Args:
            questions: Any texts, each self-contained.
            concurrency: How many are asked at once.
            k: How many papers to draw on.
            filters: Which papers to ask.
            length: How long answers should be.
            progress: Called as ``progress("asking", done, total)`` after each question, in this thread.
        """

        def done(finished: int, total: int) -> None:
            if progress is not None:
                progress("asking", finished, total)

        return ask_all(
            questions,
            lambda one: self.ask(one, k=k, filters=filters, length=length),
            concurrency=concurrency,
            done=done,
        )

    async def aask_many(
        self,
        questions: Iterable[str],
        *,
        concurrency: int = 8,
        k: int | None = None,
        filters: Filters | None = None,
        length: Length | None = None,
        progress: OnProgress | None = None,
    ) -> tuple[Outcome, ...]:
        """As :meth:`ask_many`, but without blocking the event loop; cancelling it cancels what is under way."""

        def done(finished: int, total: int) -> None:
            if progress is not None:
                progress("asking", finished, total)

        return await aask_all(
            questions,
            lambda one: self.aask(one, k=k, filters=filters, length=length),
            concurrency=concurrency,
            done=done,
        )

    def search(self, question: str, k: int = 10, *, filters: Filters | None = None) -> tuple[Hit, ...]:
        """The ``k`` papers that match a question best, without answering it."""
        text = analyse(question).text
        if not text or k < 1:
            return ()
        with self._snapshots.use() as retriever:
            return hits_of(retriever.retrieve(Query(text), k=k, filters=filters))

    def verify(
        self, claim: str, *, paper: str | None = None, k: int | None = None, filters: Filters | None = None
    ) -> Verification:
        """Says whether the papers support a claim, contradict it or don't say, with the words that decide.

        Args:
            claim: One statement.
            paper: Id of the one paper to judge it by; by default those that are found for it.
            k: How many papers to judge it by.
            filters: Which papers to search.

        Raises:
            InputError: The claim is empty or too long, there is no such paper, or there is no reader.
            ReaderError: The reader can't be loaded.
            StoreError: The index broke and can't be mended.
        """
        with self._snapshots.use() as retriever:
            return verify(retriever, self._reader, claim, paper=paper, k=k or self._settings.k, filters=filters)

    async def averify(
        self, claim: str, *, paper: str | None = None, k: int | None = None, filters: Filters | None = None
    ) -> Verification:
        """As :meth:`verify`, but without blocking the event loop."""
        return await asyncio.to_thread(self.verify, claim, paper=paper, k=k, filters=filters)

    def describe(self) -> dict[str, Any]:
        """This assistant as plain JSON types: settings with secrets masked, backend, embedder, index manifest."""
        with self._snapshots.use() as retriever:
            return {
                "settings": self._settings.masked(),
                "backend": {"name": self._backend.name, "model": self._backend.model},
                "embedder": {"name": self._embedder.name, "fingerprint": self._embedder.fingerprint},
                "index": retriever.manifest.to_dict() if retriever.manifest else None,
            }

    def _run(
        self,
        retriever: Retriever,
        question: str,
        history: Sequence[Turn],
        k: int | None,
        filters: Filters | None,
        length: Length | None,
    ) -> QuestionRun:
        wanted = length or self._settings.length
        if wanted not in get_args(Length):
            raise InputError(f"{wanted!r} is no length.", hint=f"use one of {', '.join(get_args(Length))}")
        return QuestionRun(
            retriever=retriever,
            writer=self._backend,
            fallback=self._fallback,
            ledger=self._budget.answer(),
            question=question,
            history=history,
            k=k or self._settings.k,
            filters=filters,
            length=wanted,
            trusts_model=self._settings.trust_model,
            check=self._check,
        )

    def _events(
        self, question: str, history: Sequence[Turn], k: int | None, filters: Filters | None, length: Length | None
    ) -> Iterator[Event]:
        with self._snapshots.use() as retriever:
            yield from events_of(self._run(retriever, question, history, k, filters, length).steps())

    async def _aevents(
        self, question: str, history: Sequence[Turn], k: int | None, filters: Filters | None, length: Length | None
    ) -> AsyncIterator[Event]:
        with await asyncio.to_thread(self._snapshots.use) as retriever:
            steps = self._run(retriever, question, history, k, filters, length).steps()
            async with aclosing(aevents_of(steps)) as events:
                async for event in events:
                    yield event


def _resolve_rerank(chosen: Any) -> Any:
    return load_plugin("reranker", chosen)() if isinstance(chosen, str) else chosen


def _open_index(
    settings: Settings, embedder: Embedder, progress: OnProgress | None, *, corpus: bool = True
) -> OpenIndex:
    report = load_papers(list(settings.corpus)) if settings.corpus and corpus else None
    named = settings.collection
    if named is not None and report is None and not settings.index_path.exists():
        raise no_collection(named)
    return open_index(
        settings.index_path,
        embedder,
        corpus=bundled_papers,
        # A folder of papers named as the index must not be answered from the bundled ones.
        build_missing=named is None and (settings.index is None or not IndexFolder(settings.index).is_taken()),
        papers=report.papers if report else None,
        lock_timeout=settings.lock_timeout,
        progress=progress,
        server=server_of(settings),
        notices=[f"Not loaded: {problem}" for problem in report.problems] if report else (),
    )


def bundled_papers() -> tuple[Paper, ...]:
    """The 19 papers that ship with the package."""
    return load_papers([bundled("corpus")]).papers
