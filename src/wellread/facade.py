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
from typing import Any, Self, TypeVar, Unpack

from wellread.ask.answer import final
from wellread.ask.retrieve.past_questions import (
    Comparison,
    SimilarityCriteria,
    formatted,
    similar_questions,
)
from wellread.ask.retrieve.search import SearchMode
from wellread.asking import answer_in_mode
from wellread.config import default_home
from wellread.errors import RequestError, UnknownNameError
from wellread.ingest.integrity.verify import VerifyReport, verify
from wellread.ingest.pipeline import job_log
from wellread.ingest.pipeline.job_log import OnProgress
from wellread.ingest.remove import RemoveReport, remove_named
from wellread.kb import KnowledgeBase, PartOverrides, open_kb
from wellread.learning import asking_again
from wellread.learning.feedback_giving import give_feedback
from wellread.library.named_things import Topic, list_documents, topics
from wellread.library.searches import Result, find
from wellread.research.research import default_limits, last_report, research
from wellread.store.catalogue.documents.listings import DocumentPage, Order
from wellread.store.schema.stored_values import Feedback, KindCount
from wellread.types import Filters, Mode
from wellread.values.answers import Answer, Event, Question
from wellread.values.reports import Limits, Report, ResearchEvent, ResearchRequest

T = TypeVar("T")
EVERYTHING = Filters()
MAX_TURNS = 500  # of a conversation that is shown


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

        Unchanged sources are not read again. A bad source does not stop the others; its row of
        the report says why. Open questions that the new documents could answer are asked again.

        Args:
            inputs (str | Path): paths, globs and addresses.
            collection (str): where the documents go; questions can be limited to it.
            settings_file (str | Path): a settings file of the collection (docs/collections.md).
            on_progress (Callable): called now and then with the progress, in place of the bar.

        Returns:
            The result for every source.

        Raises:
            SettingsError: a settings file is invalid, or excludes files without confirmation.
            StoreError: a store failed (disk full); everything written before is kept.
            ModelError: the embedder failed; what was written can be found by its words.

        Example:
            >>> wr.add("ferry.md", "mill.md", collection="notes").counts()["added"]
            2
        """
        settings = Path(settings_file) if settings_file is not None else None
        with job_log.shown_progress(on_progress) as show:
            return asking_again.add(
                self.kb,
                list(map(str, inputs)),
                collection=collection,
                settings=settings,
                on_progress=show,
            )

    def sync(
        self,
        *inputs: str | Path,
        collection: str = "default",
        on_progress: OnProgress | None = None,
    ) -> job_log.Report:
        """Add sources like ``add``, and remove documents whose source is gone.

        Args:
            inputs (str | Path): paths, globs and addresses.
            collection (str): the collection to bring up to date.
            on_progress (Callable): called now and then with the progress, in place of the bar.

        Returns:
            The result for every source.

        Raises:
            SettingsError, StoreError, ModelError: as ``add``.

        Example:
            >>> wr.sync("ferry.md", "mill.md", collection="notes").counts()["unchanged"]
            2
        """
        with job_log.shown_progress(on_progress) as show:
            return asking_again.sync(
                self.kb, list(map(str, inputs)), collection=collection, on_progress=show
            )

    def ask(
        self,
        question: str,
        *,
        collection: str = "",
        filters: Filters = EVERYTHING,
        mode: Mode = "auto",
        session_id: str = "",
        strict: bool | None = None,
        max_clusters: int | None = None,
        owner: str = "",
        fresh: bool = False,
    ) -> Answer:
        """Answer a question, with a citation and a verdict for each sentence.

        Args:
            question (str): the question as text.
            collection (str): the only collection to use.
            filters (Filters): limits in addition to those in the question's own words.
            mode (str): ``deep`` is a research run, ``quick`` one search, ``auto`` chooses.
            session_id (str): the conversation that the question belongs to.
            strict (bool): whether to remove sentences that the sources do not support.
            max_clusters (int): the most stories that a news answer uses.
            owner (str): the user who asks; a conversation is private to its owner.
            fresh (bool): whether to write a new answer even if the question was answered before.

        Returns:
            The answer. If the material has none, it says so and ``answered_by`` is ``none``.

        Raises:
            RequestError: the question is empty or too long, or this object was closed.
            UnknownCollectionError: a filter names an unknown collection.
            FingerprintError, StoreError, ModelError: a part of the home cannot be used.

        Example:
            >>> wr.ask("How many passengers does the ferry Osprey carry?").text
            '**The ferry:** The ferry Osprey carries ninety passengers. [1]'
        """
        return _run_to_end(self.ask_async(**_given(locals())))

    async def ask_async(
        self,
        question: str,
        *,
        collection: str = "",
        filters: Filters = EVERYTHING,
        mode: Mode = "auto",
        session_id: str = "",
        strict: bool | None = None,
        max_clusters: int | None = None,
        owner: str = "",
        fresh: bool = False,
    ) -> Answer:
        """Answer a question like ``ask``, for async code; never blocks the event loop.

        Takes the arguments of ``ask``, and returns and raises the same.

        Example:
            >>> import asyncio
            >>> asyncio.run(wr.ask_async("To whom was the mill sold?")).text
            '**The mill:** The mill was sold to the weavers in 1911. [1]'
        """
        return await final(self.stream(**_given(locals())))

    def stream(
        self,
        question: str,
        *,
        collection: str = "",
        filters: Filters = EVERYTHING,
        mode: Mode = "auto",
        session_id: str = "",
        strict: bool | None = None,
        max_clusters: int | None = None,
        owner: str = "",
        fresh: bool = False,
    ) -> AsyncIterator[Event]:
        """Answer a question and yield events on the way.

        Takes the arguments of ``ask`` and raises the same.

        Returns:
            Steps, pieces of a draft, sentences with their verdicts, and last a ``FinalEvent``.

        Example:
            >>> async def last_event():
            ...     return [event async for event in wr.stream("To whom was the mill sold?")][-1]
            >>> type(asyncio.run(last_event())).__name__
            'FinalEvent'
        """
        options = _given(locals())
        text, filters = options.pop("question"), _within(options.pop("collection"), filters)
        return answer_in_mode(self.kb, Question(text=text, **options | {"filters": filters}))

    def research(
        self,
        question: str,
        *,
        collection: str = "",
        filters: Filters = EVERYTHING,
        limits: Limits | None = None,
        session_id: str = "",
        owner: str = "",
    ) -> Report:
        """Research a question in rounds of searching, and return a report with sources.

        The progress of a run is stored: ``wellread research --list`` lists a run that was killed,
        and ``--resume`` continues it.

        Args:
            question (str): the question as text.
            collection (str): the only collection to use.
            filters (Filters): limits in addition to those in the question's own words.
            limits (Limits): the most rounds, seconds, searches and dollars.
            session_id (str): the conversation that the question belongs to.
            owner (str): the user who asks.

        Returns:
            The report; ``answer`` has a verdict for each sentence, ``stopped`` why it ended.

        Raises:
            RequestError, UnknownCollectionError, FingerprintError, ModelError: as ``ask``.

        Example:
            >>> "weavers" in wr.research("Compare the ferry Osprey and the mill").answer.text
            True
        """
        return _run_to_end(last_report(self.research_stream(**_given(locals()))))

    def research_stream(
        self,
        question: str,
        *,
        collection: str = "",
        filters: Filters = EVERYTHING,
        limits: Limits | None = None,
        session_id: str = "",
        owner: str = "",
    ) -> AsyncIterator[ResearchEvent]:
        """Research a question like ``research``, for async code, and yield events on the way.

        Takes the arguments of ``research`` and raises the same.

        Returns:
            A ``PlanEvent``, a ``ProgressEvent`` for each search, and last a ``ReportEvent``.

        Example:
            >>> async def first_event():
            ...     return await anext(aiter(wr.research_stream("Compare the ferry and the mill")))
            >>> type(asyncio.run(first_event())).__name__
            'PlanEvent'
        """
        query = Question(
            text=question,
            filters=_within(collection, filters),
            mode="deep",
            session_id=session_id,
            owner=owner,
        )
        request = ResearchRequest(question=query, limits=limits or default_limits(self.kb))
        return research(self.kb, request)

    def search(
        self,
        query: str,
        *,
        collection: str = "",
        filters: Filters = EVERYTHING,
        mode: SearchMode = "hybrid",
        limit: int = 10,
    ) -> Sequence[Result]:
        """Search for passages by words, by meaning, or both.

        Args:
            query (str): the words to search for.
            collection (str): the only collection to search.
            filters (Filters): limits of the search; with speakers, only their own words are shown.
            mode (str): ``text``, ``vector`` or ``hybrid``.
            limit (int): the most passages to return.

        Returns:
            Passages with their locations, the best first.

        Raises:
            RequestError: the query is empty.
            UnknownCollectionError, UnknownNameError: a filter names something unknown.
            StoreError, ModelError: a part of the home cannot be used.

        Example:
            >>> [result.hit.document.title for result in wr.search("weavers", limit=1)]
            ['The mill']
        """
        return find(self.kb, query, _within(collection, filters), mode=mode, limit=limit).results

    def similar_questions(
        self,
        question: str,
        k: int = 3,
        threshold: float = 0.8,
        rating: int | None = None,
        comparison: Comparison = "lt",
        language: str | None = None,
    ) -> str:
        """Return past questions like this one with what experts said of their answers.

        Args:
            question (str): the question to compare with.
            k (int): the most past questions.
            threshold (float): the lowest similarity, from 0 to 1.
            rating (int): the number that an expert's score is compared with.
            comparison (str): ``lt``, ``lte`` or ``eq``: less than, at most, or equal to it.
            language (str): the language of the past questions, such as ``en``.

        Returns:
            A text for a prompt; empty when there is none.

        Raises:
            StoreError, ModelError: a part of the home cannot be used.

        Example:
            >>> wr.similar_questions("To whom was the mill sold?")
            ''
        """
        criteria = SimilarityCriteria(
            threshold=threshold,
            most=k,
            rating=rating,
            comparison=comparison,
            language=language or "",
        )
        return formatted(self.kb, similar_questions(self.kb, question, criteria))

    def feedback(
        self,
        answer_id: str,
        *,
        score: int | None = None,
        comment: str | None = None,
        correction: str | None = None,
        citations: Sequence[Mapping[str, Any]] | None = None,
        sentences: Sequence[Mapping[str, Any]] | None = None,
        owner: str = "",
    ) -> Feedback:
        """Store an expert's opinion of an answer; only what is given changes.

        Args:
            answer_id (str): the answer's id, or how it begins.
            score (int): from 0 (wrong) to 100 (right).
            comment (str): what to say about the answer.
            correction (str): the right answer.
            citations (Sequence[Mapping]): better places (docs/learning.md).
            sentences (Sequence[Mapping]): ratings of sentences, which count from 0.
            owner (str): the user who asked and rates.

        Returns:
            The whole feedback that is now stored.

        Raises:
            RequestError: the feedback is empty or not valid.
            UnknownNameError: there is no such answer.

        Example:
            >>> answer = wr.ask("To whom was the mill sold?")
            >>> wr.feedback(answer.id, score=90, comment="Right.").score
            90
        """
        options = _given(locals())
        given = {name: options[name] for name in options if options[name] is not None}
        del given["answer_id"], given["owner"]
        return give_feedback(self.kb, answer_id, given, author=owner)

    def documents(
        self,
        *,
        collection: str = "",
        filters: Filters = EVERYTHING,
        limit: int = 20,
        offset: int = 0,
        order: Order = "newest",
    ) -> DocumentPage:
        """List documents.

        Args:
            collection (str): the only collection to list.
            filters (Filters): limits of the list.
            limit (int): the most documents to return.
            offset (int): how many to leave out before.
            order (str): ``newest``, ``oldest``, ``title`` or ``added``.

        Returns:
            One page of the list, with the number of all documents.

        Raises:
            UnknownCollectionError, UnknownNameError: a filter names something unknown.

        Example:
            >>> [document.facts.title for document in wr.documents(order="title").documents]
            ['The ferry', 'The mill']
        """
        within = _within(collection, filters)
        return list_documents(self.kb, within, limit=limit, offset=offset, order=order)

    def collections(self) -> Sequence[Topic]:
        """List the collections.

        Returns:
            Each collection with the number of its documents, and their first and last date.

        Example:
            >>> [(topic.name, topic.documents) for topic in wr.collections()]
            [('notes', 2)]
        """
        return topics(self.kb, (), entities=0)

    def conversation(self, session_id: str, *, owner: str = "") -> Sequence[Answer]:
        """Return the answers of a conversation.

        Args:
            session_id (str): the conversation, which each of its answers names.
            owner (str): the user whose conversation it is.

        Returns:
            The answers, oldest first.

        Raises:
            UnknownNameError: this user has no such conversation.

        Example:
            >>> [turn.question for turn in wr.conversation(answer.session_id)]
            ['To whom was the mill sold?']
        """
        sessions = self.kb.catalogue.sessions
        if sessions.session(session_id, owner) is None:
            raise UnknownNameError(
                f"there is no conversation {session_id!r}", hint="answers have it as session_id"
            )
        return sessions.turns(session_id, owner, MAX_TURNS)

    def stats(self) -> Sequence[KindCount]:
        """Count documents and passages.

        Returns:
            The counts of each kind of document in each collection.

        Example:
            >>> [(count.kind, count.documents) for count in wr.stats()]
            [('page', 2)]
        """
        return self.kb.catalogue.listings.kinds()

    def remove(
        self, *names: str | Path, collection: str = "default", prove: bool = True
    ) -> RemoveReport:
        """Remove sources and documents from index, graph, stories and stored answers.

        Args:
            names (str | Path): paths, folders, addresses, document ids or titles.
            collection (str): their collection.
            prove (bool): whether to erase the bytes from disk and search all stores for traces.

        Returns:
            The removed documents, and any traces that were found.

        Raises:
            SourceError: a name matches nothing or several documents; nothing is removed then.
            StoreError: a store failed.

        Example:
            >>> wr.remove("mill.md", collection="notes").traces
            ()
        """
        return remove_named(self.kb, collection, [str(name) for name in names], prove=prove)

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Compare all stores with each other, row by row.

        Args:
            repair (bool): whether to repair what can be repaired.

        Returns:
            The counts and the problems found.

        Raises:
            StoreError: the catalogue cannot be read, or another run is writing.
            ModelError: rows lack vectors, and the embedder failed.

        Example:
            >>> wr.verify().clean
            True
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


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a method, to pass them on to another that takes the same."""
    return {name: value for name, value in arguments.items() if name != "self"}


def _within(collection: str, filters: Filters) -> Filters:
    """Return the filters of a question, including its collection.

    Raises:
        RequestError: both name collections.
    """
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
