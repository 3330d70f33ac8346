"""``Wellread``: one object to add material, ask it, search it and remove from it, in Python.

Each method is one call of what the command line and the HTTP interface call as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypedDict, TypeVar, Unpack

from wellread.ask.answer import answer, final
from wellread.ask.retrieve.search import SearchMode
from wellread.config import default_home
from wellread.errors import RequestError
from wellread.ingest.integrity.verify import VerifyReport, verify
from wellread.ingest.pipeline import job_log
from wellread.ingest.pipeline.job_log import OnProgress
from wellread.ingest.remove import RemoveReport, remove_named
from wellread.kb import Given, KnowledgeBase, open_kb
from wellread.learning import asking_again
from wellread.library.searches import Result, find
from wellread.research.research import last_report, research, usual_limits
from wellread.types import Filters, Mode
from wellread.values.answers import Answer, Event, Question
from wellread.values.reports import Facet, Limits, Report, ResearchEvent, ResearchRequest

T = TypeVar("T")


class Asking(TypedDict, total=False):
    """How a question is asked; every field may be left out.

    Attributes:
        collection: the only one that is asked.
        filters: limits beside those in the question's own words, such as
            ``Filters(collections=("notes",))``.
        mode: how thoroughly to look; ``auto`` decides by the question.
        session_id: the conversation that the question belongs to, so that "and in 2024?" is
            understood.
        strict: whether sentences that the sources do not support are taken out; without it the
            setting ``citations.strict`` decides.
        max_clusters: most stories that news is told from.
        owner: whose question it is; a session is private to its owner.
        fresh: whether to write anew what was answered before.
    """

    collection: str
    filters: Filters
    mode: Mode
    session_id: str
    strict: bool | None
    max_clusters: int | None
    owner: str
    fresh: bool


class Researching(TypedDict, total=False):
    """How a question is researched; every field may be left out.

    Attributes:
        collection: the only one that is researched.
        filters: limits beside those in the question's own words.
        limits: rounds, seconds, searches and dollars that it may take; else as in the settings.
        facets: what to look for; else what a first look proposes.
        session_id: the conversation that the question belongs to.
        owner: whose question it is.
    """

    collection: str
    filters: Filters
    limits: Limits
    facets: Sequence[Facet]
    session_id: str
    owner: str


class Wellread:
    """A knowledge base in a folder, its home.

    ::

        with Wellread("my-home") as wr:
            wr.add("notes", "talk.vtt")
            print(wr.ask("Who runs the tool library?").text)

    Args:
        home: the folder, made when it is not there; without it ``$WELLREAD_HOME``, or else
            ``~/.wellread``.
        settings: settings that stand above the home's own, as ``{section: {name: value}}``.
        parts: an embedder, language models or a reader in place of those that the settings name.

    Raises:
        SettingsError: a setting is unknown or out of range.
        StoreError: the home cannot be made.
    """

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        **parts: Unpack[Given],
    ) -> None:
        self._kb: KnowledgeBase | None = open_kb(
            Path(home) if home is not None else default_home(), overrides=settings, **parts
        )

    @property
    def kb(self) -> KnowledgeBase:
        """The knowledge base that all methods work on.

        Raises:
            RequestError: it was closed.
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
        """Read files, folders, globs, web pages and feeds into a collection.

        What is unchanged since the last time is not read again. One bad source never stops the
        others: its row of the report says why it failed. Questions that stayed open and that the
        new documents could answer are asked again (docs/coverage.md).

        Args:
            inputs: paths, globs and addresses.
            collection: where the documents go; questions can be limited to it.
            settings_file: how fields and links of a foreign archive map to Wellread's
                (docs/collections.md).
            on_progress: is told now and then how far the run is.

        Returns:
            How every source fared.

        Raises:
            SettingsError: a settings file cannot be understood, or leaves out files and nobody
                agreed.
            StoreError: a store refused (disk full); what was written before stays.
            ModelError: the embedder failed; what was written is found by its words.
        """
        return asking_again.add(
            self.kb,
            [str(given) for given in inputs],
            collection=collection,
            settings=Path(settings_file) if settings_file is not None else None,
            on_progress=on_progress,
        )

    def ask(self, question: str, **how: Unpack[Asking]) -> Answer:
        """Answer a question, with a citation and a verdict for each sentence.

        Args:
            question: in words.
            how: the fields of ``Asking``.

        Returns:
            The answer. Where the material holds none, it says so: ``answered_by`` is ``none``.

        Raises:
            RequestError: the question is empty or too long, or the base was closed.
            UnknownCollectionError: a filter names a collection that is not there.
            FingerprintError, StoreError, ModelError: a part of the home cannot be used.
        """
        return _finished(self.ask_async(question, **how))

    async def ask_async(self, question: str, **how: Unpack[Asking]) -> Answer:
        """``ask`` for async code: nothing blocks the event loop.

        Args:
            question: in words.
            how: the fields of ``Asking``.

        Returns:
            The answer.

        Raises:
            RequestError, UnknownCollectionError: as ``ask``.
            FingerprintError, StoreError, ModelError: as ``ask``.
        """
        return await final(self.stream(question, **how))

    def stream(self, question: str, **how: Unpack[Asking]) -> AsyncIterator[Event]:
        """Answer a question and tell of it on the way.

        Args:
            question: in words.
            how: the fields of ``Asking``.

        Returns:
            Steps as they end, pieces of a model's draft as they are written, sentences with their
            verdicts; a ``FinalEvent`` with the answer is the last.

        Raises:
            RequestError, UnknownCollectionError: as ``ask``.
            FingerprintError, StoreError, ModelError: as ``ask``.
        """
        asked = Question(
            text=question,
            filters=_within(how),
            mode=how.get("mode", "auto"),
            session_id=how.get("session_id", ""),
            strict=how.get("strict"),
            max_clusters=how.get("max_clusters"),
            owner=how.get("owner", ""),
            fresh=how.get("fresh", False),
        )
        return answer(self.kb, asked)

    def research(self, question: str, **how: Unpack[Researching]) -> Report:
        """Look for everything on a question, in rounds, and report it with its sources.

        A run is kept on the way: one that was killed is listed by ``wellread research --list`` and
        goes on with ``--resume``.

        Args:
            question: in words.
            how: the fields of ``Researching``.

        Returns:
            The report; its ``answer`` is Markdown with a verdict for each sentence, and
            ``stopped`` says why it ended.

        Raises:
            RequestError: as ``ask``, or too many facets are given.
            UnknownCollectionError: a filter names a collection that is not there.
            FingerprintError, StoreError, ModelError: a part of the home cannot be used.
        """
        return _finished(last_report(self.research_stream(question, **how)))

    def research_stream(
        self, question: str, **how: Unpack[Researching]
    ) -> AsyncIterator[ResearchEvent]:
        """``research`` for async code, which is told of each search on the way.

        Args:
            question: in words.
            how: the fields of ``Researching``.

        Returns:
            A ``PlanEvent``, then a ``ProgressEvent`` for what was looked for and found; a
            ``ReportEvent`` with the report is the last.

        Raises:
            RequestError, UnknownCollectionError: as ``research``.
            FingerprintError, StoreError, ModelError: as ``research``.
        """
        asked = Question(
            text=question,
            filters=_within(how),
            mode="deep",
            session_id=how.get("session_id", ""),
            owner=how.get("owner", ""),
        )
        facets = how.get("facets")
        request = ResearchRequest(
            question=asked,
            limits=how.get("limits", usual_limits(self.kb)),
            facets=None if facets is None else tuple(facets),
        )
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
        """Find passages by their words, their meaning, or both.

        Args:
            query: words to look for.
            collection: the only one that is searched.
            filters: what the search is limited to; of speakers, only their own words are shown.
            mode: ``text``, ``vector`` or ``hybrid``.
            limit: most passages.

        Returns:
            Passages with their places, the best first.

        Raises:
            RequestError: the query is empty.
            UnknownCollectionError, UnknownNameError: a filter names what is not there.
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
            collection: where they are.
            prove: whether to take the bytes off the disk and to look for traces in every store.

        Returns:
            What went, and the traces that were found.

        Raises:
            SourceError: a name fits nothing, or several documents; then nothing is removed.
            StoreError: a store refused.
        """
        return remove_named(self.kb, collection, [str(name) for name in names], prove=prove)

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Compare all stores with each other, row by row.

        Args:
            repair: whether to mend what can be mended.

        Returns:
            Counts and problems.

        Raises:
            StoreError: the catalogue cannot be read, or another run is writing.
            ModelError: rows lack vectors, and the embedder failed.
        """
        return verify(self.kb, repair=repair)

    def close(self) -> None:
        """Let go of files and connections. Closing twice is no error; all else is one."""
        held, self._kb = self._kb, None
        if held is not None:
            held.close()

    def __enter__(self) -> Self:
        _ = self.kb
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _within(how: Asking | Researching) -> Filters:
    """The limits of a question, the collection among them.

    Raises:
        RequestError: collections are named twice.
    """
    filters, collection = how.get("filters", Filters()), how.get("collection", "")
    if collection and filters.collections:
        raise RequestError("collection and filters.collections are both given", hint="give one")
    return replace(filters, collections=(collection,)) if collection else filters


def _finished(work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` comes to; in a thread of its own where an event loop runs, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    begun: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []

    async def noted() -> T:
        begun.append((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    with ThreadPoolExecutor(1, "wellread-ask") as thread:
        done = thread.submit(copy_context().run, asyncio.run, noted())
        try:
            return done.result()
        except KeyboardInterrupt:  # of a person who does not want to wait
            for loop, task in begun:
                if task is not None:
                    loop.call_soon_threadsafe(task.cancel)
            raise
