"""From settings to a reader: each of its heads by a back end of its own, also by a plug-in.

A plug-in is an entry point ``wellread.readers``: a function that takes an ``Opening`` and the head
that it is wanted for, and gives an object with the methods of that head.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from wellread.ask_settings import ReaderSettings
from wellread.calls import FACT_CHECKER, JUDGE, RERANK
from wellread.errors import ModelError, SettingsError
from wellread.models.base import Closeable, LanguageModel
from wellread.models.reader import (
    HEADS,
    Case,
    Checking,
    Entailment,
    Excerpt,
    Head,
    Ranking,
    Scores,
)
from wellread.models.readers.lexical import LexicalReader
from wellread.models.recording import Record, RecordedChecking, RecordedRanking
from wellread.plugins import find

logger = logging.getLogger(__name__)

GROUP = "wellread.readers"
LEXICAL = "lexical"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a back end may need to open itself.

    Attributes:
        lexical: the reader by words, for what another leaves to it.
        model: gives the configured language model, for calls of that purpose.
        record: is told every call that costs something.
        environ: where keys are.
    """

    settings: ReaderSettings
    lexical: LexicalReader
    model: Callable[[str], LanguageModel | None]
    record: Record
    environ: Mapping[str, str]


Back = Ranking | Checking
Factory = Callable[[Opening, Head], Back]


class ReaderByHead:
    """A reader that asks for each relation whoever the settings name."""

    def __init__(
        self, relevance: Ranking, answers: Ranking, entails: Checking, lexical: LexicalReader
    ) -> None:
        self._relevance, self._answers, self._entails = relevance, answers, entails
        self._lexical = lexical
        names = (relevance.identity, answers.identity, entails.identity)
        self.heads: frozenset[Head] = frozenset(
            head for head, name in zip(HEADS, names, strict=True) if name != LEXICAL
        )
        self.identity = " ".join(dict.fromkeys(names))

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """As ``Reader``."""
        return self._relevance.relevance(question, texts)

    def answers(self, question: str, sentences: Sequence[Excerpt]) -> Scores:
        """As ``Reader``; by words where the one that the settings name fails."""
        try:
            return self._answers.answers(question, sentences)
        except ModelError as error:
            if self._answers is self._lexical:
                raise
            logger.warning("sentences are chosen by words, since the reader failed: %s", error)
            return self._lexical.answers(question, sentences)

    def entails(self, cases: Sequence[Case]) -> Sequence[Entailment]:
        """As ``Reader``."""
        return self._entails.entails(cases)

    def close(self) -> None:
        """Let go of connections, where a part holds any."""
        for part in (self._relevance, self._answers, self._entails):
            if isinstance(part, Closeable):
                part.close()


def open_reader(opening: Opening) -> ReaderByHead:
    """The reader that the settings ask for.

    Only the libraries of what is named are imported. No server is called yet.

    Raises:
        SettingsError: there is no such back end, it does not read what it is named for, or a
            setting that it needs is empty.
        ModelError: the extra ``rerank`` is not installed, or a model cannot be opened.
    """
    named = opening.settings
    relevance = _ranking(opening, "relevance", named.relevance)
    same = named.answers == named.relevance
    answers = relevance if same else _ranking(opening, "answers", named.answers)
    entails = _opened(opening, "entails", named.entails)
    if not isinstance(entails, Checking):
        raise _unfit("entails", named.entails)
    return ReaderByHead(relevance, answers, entails, opening.lexical)


def _ranking(opening: Opening, head: Head, name: str) -> Ranking:
    opened = _opened(opening, head, name)
    if not isinstance(opened, Ranking):
        raise _unfit(head, name)
    return opened


def _opened(opening: Opening, head: Head, name: str) -> Back:
    factory = find(GROUP, name, BUILT_IN, f"reader.{head}")
    return factory(opening, head)


def _lexical(opening: Opening, head: Head) -> Back:  # noqa: ARG001 - as all factories
    return opening.lexical


def _onnx(opening: Opening, head: Head) -> Back:
    settings = opening.settings
    path = "entails_path" if head == "entails" else "model_path"
    _needed(head, "onnx", f"reader.{path}", getattr(settings, path))
    with _extra_for(head):
        from wellread.models.readers.onnx_reader import OnnxChecking, OnnxRanking  # noqa: PLC0415
    kind = OnnxChecking if head == "entails" else OnnxRanking
    return kind(getattr(settings, path), threads=settings.threads, timeout=settings.timeout)


def _http(opening: Opening, head: Head) -> Back:
    from wellread.models.readers.http_reader import HttpChecking, HttpReranking  # noqa: PLC0415

    settings = opening.settings
    if head == "entails":
        _needed(head, "http", "reader.entails_url", settings.entails_url)
        key = opening.environ.get(settings.entails_key_env, "") if settings.entails_key_env else ""
        checking = HttpChecking(settings.entails_url, api_key=key, timeout=settings.timeout)
        host = _host(settings.entails_url)
        return RecordedChecking(
            checking, opening.record, purpose=JUDGE, provider=host, model=FACT_CHECKER
        )
    _needed(head, "http", "reader.url", settings.url)
    if settings.format == "jina":
        _needed(head, "http", "reader.model", settings.model)
    reranking = HttpReranking(
        settings.url,
        model=settings.model,
        wire=settings.format,
        api_key=opening.environ.get(settings.api_key_env, "") if settings.api_key_env else "",
        timeout=settings.timeout,
    )
    return RecordedRanking(
        reranking,
        opening.record,
        purpose=RERANK,
        provider=_host(settings.url),
        model=settings.model,
    )


def _llm(opening: Opening, head: Head) -> Back:
    from wellread.models.readers.llm_reader import LlmReader  # noqa: PLC0415

    model = opening.model(JUDGE if head == "entails" else RERANK)
    if model is None:
        raise _missing(head, "llm", "generation.model")
    return LlmReader(model, timeout=opening.settings.timeout)


BUILT_IN: Mapping[str, Callable[[], Factory]] = {
    LEXICAL: lambda: _lexical,
    "onnx": lambda: _onnx,
    "http": lambda: _http,
    "llm": lambda: _llm,
}


@contextmanager
def _extra_for(head: Head) -> Iterator[None]:
    """Turn a failing import inside into an error that says what to install."""
    try:
        yield
    except ImportError as error:
        raise ModelError(
            f"reader.{head} 'onnx' needs the extra 'rerank', which cannot be imported: {error}",
            hint='pip install "wellread[rerank]"',
        ) from error


def _needed(head: Head, backend: str, name: str, value: str) -> None:
    if not value:
        raise _missing(head, backend, name)


def _missing(head: Head, backend: str, name: str) -> SettingsError:
    return SettingsError(
        f"reader.{head} is {backend}, but {name} is not set",
        hint=f"set {name} or WELLREAD_{name.replace('.', '_').upper()}",
    )


def _unfit(head: Head, name: str) -> SettingsError:
    return SettingsError(f"the reader {name!r} has no method for reader.{head}")


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]
