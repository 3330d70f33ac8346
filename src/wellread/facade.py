"""``Wellread``: the Python interface to add material, ask questions, search, remove and verify.

Each method calls the same function as the command line and the HTTP interface.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypedDict, TypeVar, Unpack

from wellread.ask.answer import final
from wellread.ask.retrieve.search import SearchMode
from wellread.asking import answer_in_mode
from wellread.config import default_home
from wellread.errors import RequestError
from wellread.ingest.integrity.verify import VerifyReport, verify
from wellread.ingest.pipeline import job_log
from wellread.ingest.pipeline.job_log import OnProgress
from wellread.ingest.remove import RemoveReport, remove_named
from wellread.kb import KnowledgeBase, PartOverrides, open_kb
from wellread.learning import asking_again
from wellread.library.searches import Result, find
from wellread.research.research import default_limits, last_report, research
from wellread.types import Filters, Mode
from wellread.values.answers import Answer, Event, Question
from wellread.values.reports import Limits, Report, ResearchEvent, ResearchRequest

T = TypeVar("T")


class AskOptions(TypedDict, total=False):
    """Options of a question; all are optional.

    Attributes:
        collection: the only collection to use.
        filters: limits in addition to those in the question's own words, such as
            ``Filters(collections=("notes",))``.
        mode: how thoroughly to search: ``deep`` is a research run, ``auto`` decides how much one
            search looks for.
        session_id: the conversation that the question belongs to, so that "and in 2024?" is
            understood.
        strict: whether to remove sentences that the sources do not support; by default the
            setting ``citations.strict`` decides.
        max_clusters: the most stories that a news answer uses.
        owner: the user who asks; a session is private to its owner.
        fresh: whether to write a new answer even if the question was answered before.
    """

    collection: str
    filters: Filters
    mode: Mode
    session_id: str
    strict: bool | None
    max_clusters: int | None
    owner: str
    fresh: bool


class ResearchOptions(TypedDict, total=False):
    """Options of a research run; all are optional.

    Attributes:
        collection: the only collection to use.
        filters: limits in addition to those in the question's own words.
        limits: the most rounds, seconds, searches and dollars; by default those of the settings.
        session_id: the conversation that the question belongs to.
        owner: the user who asks.
    """

    collection: str
    filters: Filters
    limits: Limits
    session_id: str
    owner: str


class Wellread:
    """A knowledge base in a folder, its home.

    ::

        with Wellread("my-home") as wr:
            wr.add("notes", "talk.vtt")
            print(wr.ask("Who runs the tool library?").text)

    Args:
        home: the folder, created when it is missing; by default ``$WELLREAD_HOME``, or else
            ``~/.wellread``.
        settings: settings that override the home's own, as ``{section: {name: value}}``.
        parts: an embedder, language models or a reader that replace those of the settings.

    Raises:
        SettingsError: a setting is unknown or out of range.
        StoreError: the home cannot be created.
    """

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        **parts: Unpack[PartOverrides],
    ) -> None:
        self._kb: KnowledgeBase | None = open_kb(
            Path(home) if home is not None else default_home(), overrides=settings, **parts
        )

    @property
    def kb(self) -> KnowledgeBase:
        """The knowledge base that all methods work on.

        Raises:
            RequestError: this object was closed.
        """
        if self._kb is None:
            raise RequestError("this Wellread is closed", hint="open another: Wellread(home)")
        return self._kb

    def add(
        self,
        *inputs: str | Path,
        collection: str = "default",
        settings_file: str | Path | None = None,
        on_progress: OnProgress | None = None,
    ) -> job_log.Report:
        """Add files, folders, globs, web pages and feeds to a collection.

        Unchanged sources are not read again. One bad source never stops the others: its row of
        the report says why it failed. Open questions that the new documents could answer are
        asked again (docs/coverage.md).

        Args:
            inputs: paths, globs and addresses.
            collection: where the documents go; questions can be limited to it.
            settings_file: the mapping of a foreign archive's fields and links
                (docs/collections.md).
            on_progress: called now and then with the progress of the run.

        Returns:
            The result for every source.

        Raises:
            SettingsError: a settings file is invalid, or excludes files without confirmation.
            StoreError: a store failed (disk full); everything written before is kept.
            ModelError: the embedder failed; what was written can be found by its words.
        """
        return asking_again.add(
            self.kb,
            [str(source) for source in inputs],
            collection=collection,
            settings=Path(settings_file) if settings_file is not None else None,
            on_progress=on_progress,
        )

    def ask(self, question: str, **how: Unpack[AskOptions]) -> Answer:
        """Answer a question, with a citation and a verdict for each sentence.

        Args:
            question: the question as text.
            how: the fields of ``AskOptions``.

        Returns:
            The answer. If the material has none, it says so and ``answered_by`` is ``none``.

        Raises:
            RequestError: the question is empty or too long, or this object was closed.
            UnknownCollectionError: a filter names an unknown collection.
            FingerprintError, StoreError, ModelError: a part of the home cannot be used.
        """
        return _run_to_end(self.ask_async(question, **how))

    async def ask_async(self, question: str, **how: Unpack[AskOptions]) -> Answer:
        """Answer a question like ``ask``, for async code; never blocks the event loop.

        Args:
            question: the question as text.
            how: the fields of ``AskOptions``.

        Returns:
            The answer.

        Raises:
            RequestError, UnknownCollectionError: as ``ask``.
            FingerprintError, StoreError, ModelError: as ``ask``.
        """
        return await final(self.stream(question, **how))

    def stream(self, question: str, **how: Unpack[AskOptions]) -> AsyncIterator[Event]:
        """Answer a question and yield events on the way.

        Args:
            question: the question as text.
            how: the fields of ``AskOptions``.

        Returns:
            Events for finished steps, pieces of a model's draft and sentences with their verdicts;
            the last is a ``FinalEvent`` with the answer.

        Raises:
            RequestError, UnknownCollectionError: as ``ask``.
            FingerprintError, StoreError, ModelError: as ``ask``.
        """
        options: dict[str, Any] = {"mode": "auto", **how, "filters": _within(how)}
        options.pop("collection", None)
        return answer_in_mode(self.kb, Question(text=question, **options))

    def research(self, question: str, **how: Unpack[ResearchOptions]) -> Report:
        """Research a question in rounds of searching, and return a report with sources.

        The progress of a run is stored: ``wellread research --list`` lists a run that was killed,
        and ``--resume`` continues it.

        Args:
            question: the question as text.
            how: the fields of ``ResearchOptions``.

        Returns:
            The report; its ``answer`` is Markdown with a verdict for each sentence, and
            ``stopped`` is the reason why the run ended.

        Raises:
            RequestError: as ``ask``.
            UnknownCollectionError: a filter names an unknown collection.
            FingerprintError, StoreError, ModelError: a part of the home cannot be used.
        """
        return _run_to_end(last_report(self.research_stream(question, **how)))

    def research_stream(
        self, question: str, **how: Unpack[ResearchOptions]
    ) -> AsyncIterator[ResearchEvent]:
        """Research a question like ``research``, for async code, and yield events on the way.

        Args:
            question: the question as text.
            how: the fields of ``ResearchOptions``.

        Returns:
            A ``PlanEvent``, then a ``ProgressEvent`` for each search; the last is a
            ``ReportEvent`` with the report.

        Raises:
            RequestError, UnknownCollectionError: as ``research``.
            FingerprintError, StoreError, ModelError: as ``research``.
        """
        query = Question(
            text=question,
            filters=_within(how),
            mode="deep",
            session_id=how.get("session_id", ""),
            owner=how.get("owner", ""),
        )
        request = ResearchRequest(question=query, limits=how.get("limits", default_limits(self.kb)))
        return research(self.kb, request)

    def search(
        self,
        query: str,
        *,
        collection: str = "",
        filters: Filters | None = None,
        mode: SearchMode = "hybrid",
        limit: int = 10,
    ) -> Sequence[Result]:
        """Search for passages by words, by meaning, or both.

        Args:
            query: the words to search for.
            collection: the only collection to search.
            filters: limits of the search; with speakers, only their own words are shown.
            mode: ``text``, ``vector`` or ``hybrid``.
            limit: the most passages to return.

        Returns:
            Passages with their locations, the best first.

        Raises:
            RequestError: the query is empty.
            UnknownCollectionError, UnknownNameError: a filter names something unknown.
            StoreError, ModelError: a part of the home cannot be used.
        """
        within = _within({"collection": collection, "filters": filters or Filters()})
        return find(self.kb, query, within, mode=mode, limit=limit).results

    def remove(
        self, *names: str | Path, collection: str = "default", prove: bool = True
    ) -> RemoveReport:
        """Remove sources and documents from index, graph, stories and stored answers.

        Args:
            names: paths, folders, addresses, document ids or titles.
            collection: their collection.
            prove: whether to erase the bytes from disk and to search every store for traces.

        Returns:
            The removed documents, and any traces that were found.

        Raises:
            SourceError: a name matches nothing or several documents; nothing is removed then.
            StoreError: a store failed.
        """
        return remove_named(self.kb, collection, [str(name) for name in names], prove=prove)

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Compare all stores with each other, row by row.

        Args:
            repair: whether to repair what can be repaired.

        Returns:
            The counts and the problems found.

        Raises:
            StoreError: the catalogue cannot be read, or another run is writing.
            ModelError: rows lack vectors, and the embedder failed.
        """
        return verify(self.kb, repair=repair)

    def close(self) -> None:
        """Close files and connections; may be called twice, but no other method may follow."""
        kb, self._kb = self._kb, None
        if kb is not None:
            kb.close()

    def __enter__(self) -> Self:
        _ = self.kb
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _within(how: AskOptions | ResearchOptions) -> Filters:
    """Return the filters of a question, including its collection.

    Raises:
        RequestError: both name collections.
    """
    filters, collection = how.get("filters", Filters()), how.get("collection", "")
    if collection and filters.collections:
        raise RequestError("collection and filters.collections are both given", hint="give one")
    return replace(filters, collections=(collection,)) if collection else filters


def _run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` and return its result, in a new thread when an event loop runs (notebooks)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []

    async def run_noted() -> T:
        started.append((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    with ThreadPoolExecutor(1, "wellread-ask") as thread:
        future = thread.submit(copy_context().run, asyncio.run, run_noted())
        try:
            return future.result()
        except KeyboardInterrupt:  # cancel the work, which runs in the other thread
            for loop, task in started:
                if task is not None:
                    loop.call_soon_threadsafe(task.cancel)
            raise
