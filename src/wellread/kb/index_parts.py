"""Opens search indexes and embedders, and restricts an index to the collections a user may read."""

from __future__ import annotations

import logging
import math
import os
import re
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from rapidfuzz.distance import OSA

from wellread.config import PASSWORD_ENV, EmbeddingSettings, IndexSettings
from wellread.errors import FingerprintError, ModelError, SettingsError, StoreError
from wellread.models.base import Embedder
from wellread.models.embedders.open_embedder import CachedEmbedder
from wellread.models.recording import Record, RecordedEmbedder
from wellread.store.base import Fingerprint, HeldRow, IndexKey, KeptIndex, ServiceAddress
from wellread.store.catalogue.documents.name_records import LANGUAGE
from wellread.store.catalogue.documents.reindexing import LiveIndex
from wellread.store.catalogue.readable_catalogue import ReadableCatalogue
from wellread.store.index import EMBEDDED, backend_of
from wellread.text.english import STOP_WORDS
from wellread.text.parsed import index_text, snowball_stem, unaccented
from wellread.types import Candidate, Filters, Passage

logger = logging.getLogger(__name__)

# The settings recorded with the live index, so that its embedder can be opened again.
OPENS_EMBEDDER = ("backend", "model_path", "url", "model", "api_key_env")
Opener = Callable[[EmbeddingSettings], Embedder]


class Embedders:
    """The embedders of the settings (or ``replacement``) and the live index, each opened once."""

    def __init__(
        self,
        home: Path,
        settings: EmbeddingSettings,
        opener: Opener,
        record: Record,
        replacement: Embedder | None,
    ) -> None:
        self._home = home
        self._settings = settings
        self._opener = opener
        self._record = record
        self._replacement = CachedEmbedder(replacement) if replacement else None
        self._opened: dict[EmbeddingSettings, CachedEmbedder] = {}
        self._lock = threading.Lock()

    def wanted(self) -> CachedEmbedder:
        """Return the embedder of the settings."""
        return self._replacement or self._open(self._settings)

    def record(self) -> dict[str, str]:
        """The settings that open this embedder again; empty when another replaces it."""
        if self._replacement:
            return {}
        return self._settings.model_dump(include=set(OPENS_EMBEDDER))

    def same_as_wanted(self, live: LiveIndex) -> bool | None:
        """Whether the live index and the settings share an embedder; None if unknown unopened."""
        settings = self._settings_of(live)
        if self._replacement or settings is None:
            return None
        if settings.backend == "local" == self._settings.backend:
            # The file's hash identifies the model, not its path.
            return True if settings.model_path == self._settings.model_path else None
        return _embedder_key(settings) == _embedder_key(self._settings)

    def for_index(self, live: LiveIndex) -> CachedEmbedder:
        """Return the embedder that built the live index."""
        identity = live.fingerprint.embedder
        reasons = []
        for settings in dict.fromkeys((self._settings_of(live), None)):
            try:
                embedder = self._open(settings) if settings else self.wanted()
                if embedder.identity == identity:
                    return embedder
                reasons.append(f"the settings name {embedder.identity}")
            except (ModelError, SettingsError) as error:
                if error.retryable:
                    raise
                reasons.append(str(error))
        raise FingerprintError(
            f"the index in {self._home} was built with the embedder {identity}, which can no "
            f"longer be opened: {'; '.join(dict.fromkeys(reasons))}",
            hint="restore the old settings, or run 'wellread reindex' to rebuild the index",
        )

    def close(self) -> None:
        """Close the connections of all embedders."""
        with self._lock:
            opened, self._opened = list(self._opened.values()), {}
        for embedder in [*opened, *([self._replacement] if self._replacement else [])]:
            embedder.close()

    def _open(self, settings: EmbeddingSettings) -> CachedEmbedder:
        with self._lock:
            if settings not in self._opened:
                self._opened[settings] = CachedEmbedder(self._recorded(settings))
            return self._opened[settings]

    def _recorded(self, settings: EmbeddingSettings) -> Embedder:
        """Open the embedder with its calls recorded below the cache, which makes no calls."""
        embedder = self._opener(settings)
        if settings.backend != "http":
            return embedder  # runs on this machine at no cost
        host = urlsplit(settings.url).netloc.rpartition("@")[2]
        return RecordedEmbedder(embedder, self._record, provider=host, model=settings.model)

    def _settings_of(self, live: LiveIndex) -> EmbeddingSettings | None:
        """Return the settings that open the live embedder; None if unrecorded or invalid."""
        if not live.embedder:
            return None
        try:
            return EmbeddingSettings.model_validate(
                {**self._settings.model_dump(), **live.embedder}
            )
        except ValidationError:
            logger.warning("a newer release built the index; using the embedder of the settings")
            return None


def _embedder_key(settings: EmbeddingSettings) -> tuple[str, ...]:
    """The settings that identify the embedder; each built-in back end has one model."""
    if settings.backend != "http":
        return (settings.backend,)
    return (settings.backend, settings.model, urlsplit(settings.url).netloc.rpartition("@")[2])


INDEX_FOLDER = "index"


class Indexes:
    """The indexes of one knowledge base, in its index folder or on the configured server.

    The embedded back end owns the folder itself; other file-based ones get a subfolder.
    """

    def __init__(self, home: Path, settings: IndexSettings, base_id: Callable[[], str]) -> None:
        self._folder = home / INDEX_FOLDER
        self._settings = settings
        self._base_id = base_id

    def open(self, fingerprint: Fingerprint) -> KeptIndex:
        """Open the index of ``fingerprint``, and create it when it is missing."""
        return backend_of(fingerprint.backend).open(self._place(fingerprint.backend), fingerprint)

    def set_aside(self, fingerprint: Fingerprint) -> None:
        """Rename the damaged files of an index, so that it can be rebuilt."""
        backend_of(fingerprint.backend).set_aside(self._place(fingerprint.backend), fingerprint)

    def others(self, kept: Sequence[Fingerprint]) -> list[str]:
        """The names of the indexes whose fingerprint is not in ``kept``."""
        names: list[str] = []
        for backend, fingerprints in self._backends(kept).items():
            names += backend_of(backend).others(self._place(backend), *fingerprints)
        return names + [folder.name for folder in self._unused_folders(kept)]

    def drop_others(self, kept: Sequence[Fingerprint]) -> list[str]:
        """Drop every index except those of ``kept``, and return the names of the dropped ones."""
        names: list[str] = []
        for backend, fingerprints in self._backends(kept).items():
            names += backend_of(backend).drop_others(self._place(backend), *fingerprints)
        for folder in self._unused_folders(kept):
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise StoreError(f"the old index {folder} cannot be dropped: {error}") from error
            names.append(folder.name)
        return names

    def _place(self, backend: str) -> Path | ServiceAddress:
        if backend == self._settings.service:
            password = os.environ.get(PASSWORD_ENV, "")
            return ServiceAddress(url=self._settings.url, base=self._base_id(), password=password)
        return self._folder if backend == EMBEDDED else self._folder / backend

    def _backends(self, kept: Sequence[Fingerprint]) -> dict[str, list[Fingerprint]]:
        configured = [self._settings.service] if self._settings.service else []
        names = dict.fromkeys([EMBEDDED, *configured, *(index.backend for index in kept)])
        return {name: [index for index in kept if index.backend == name] for name in names}

    def _unused_folders(self, kept: Sequence[Fingerprint]) -> list[Path]:
        """Folders of back ends that are no longer used, and perhaps no longer installed."""
        used = {index.backend for index in kept}
        folders = (path for path in self._folder.glob("*") if path.is_dir())
        return sorted(path for path in folders if not path.suffix and path.name not in used)


K1, B = 1.2, 0.75  # the BM25 parameters of the back ends
OVERFETCH = 4  # candidates fetched for each result, because rescoring changes the order
MIN_FETCH = 400  # fewest candidates fetched for one search
MAX_FREQUENCY = 10_000  # passages with one word; more count as this many
MAX_CACHED_WORDS = 20_000  # words in the cache of counts
LONG_LIST = 2_000  # passages: a caller with this limit wants the set of matches, not a ranking
MAX_DIFFERENCES = 2  # letters
_WORD = re.compile(r"[^\W_]+")


class ReadableIndex:
    """A read-only ``store.base.KeptIndex`` over the collections that a user may read.

    Scores are calculated again here, because those of the whole index depend on what the user may
    not read.
    """

    def __init__(
        self, index: KeptIndex, collections: frozenset[str], catalogue: ReadableCatalogue
    ) -> None:
        self._index = index
        self._collections = collections
        self._all = Filters(collections=tuple(sorted(collections)))
        self._catalogue = catalogue

    def search_text(
        self, query: str, filters: Filters, limit: int, *, differences: int = 0
    ) -> list[Candidate]:
        """See ``Index.search_text``."""
        within = self._within(filters)
        if within is None or limit < 1:
            return []
        if limit >= LONG_LIST:
            candidates = self._index.search_text(query, within, limit, differences=differences)
            return sorted(
                (replace(hit, score=0.0) for hit in candidates), key=attrgetter("passage_id")
            )
        depth = max(MIN_FETCH, OVERFETCH * limit)
        hits = self._index.search_text(query, within, depth, differences=differences)
        if differences:
            passages = self._catalogue.live_passages([hit.passage_id for hit in hits])
            readable = [hit for hit in hits if hit.passage_id in passages]
            return _nearest_first(query, readable, passages)[:limit]
        words_by_stem = {snowball_stem(word): word for word in _plain_words(query)}
        counts, weights, mean = self._weights(words_by_stem)
        if len(hits) >= depth:  # add every passage with a rare word, whatever its rank
            for stem, word in words_by_stem.items():
                if counts[stem] <= MIN_FETCH:
                    hits += self._index.search_text(word, within, MIN_FETCH)
        by_id = {hit.passage_id: hit for hit in hits}
        passages = self._catalogue.live_passages(by_id)
        readable = [hit for passage_id, hit in by_id.items() if passage_id in passages]
        languages = self._catalogue.names.distinct_keys(sorted(self._collections), LANGUAGE)
        scored = [
            replace(hit, score=_score(passages[hit.passage_id], languages, weights, mean))
            for hit in readable
        ]
        return sorted(scored, key=lambda hit: (-hit.score, hit.passage_id))[:limit]

    def search_vector(
        self, vector: NDArray[np.float32], filters: Filters, limit: int
    ) -> list[Candidate]:
        """See ``Index.search_vector``."""
        within = self._within(filters)
        return self._index.search_vector(vector, within, limit) if within else []

    def rows(self) -> int:
        """The number of readable passages."""
        return self._catalogue.word_counts().passages

    def keys(self) -> Iterator[IndexKey]:
        """The keys of readable passages; see ``Index.keys``."""
        return self._catalogue.passage_keys()

    def held(self) -> Iterator[HeldRow]:
        """The rows of readable collections; see ``Index.held``."""
        return (row for row in self._index.held() if row.collection in self._collections)

    def purged(self) -> bool:
        """See ``Index.purged``."""
        return self._index.purged()

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to write."""
        raise StoreError(
            "the index cannot be changed through a user's read-only view",
            hint="use an ingest job, or a command on the machine itself",
        )

    write = set_vectors = remove = _refused
    optimize = rebuild = purge = _refused

    def _within(self, filters: Filters) -> Filters | None:
        """Restrict ``filters`` to readable collections; None when nothing is left."""
        requested = filters.collections
        names = self._collections.intersection(requested) if requested else self._collections
        return replace(filters, collections=tuple(sorted(names))) if names else None

    def _weights(self, stems: Mapping[str, str]) -> tuple[dict[str, int], dict[str, float], float]:
        """Return document frequency and BM25 weight of each stem, and the mean passage length.

        Lengths are in characters; ``stems`` has a word for each stem.
        """
        totals = self._catalogue.word_counts()
        if len(totals.frequencies) > MAX_CACHED_WORDS:
            totals.frequencies.clear()
        counts: dict[str, int] = {}
        for stem, word in stems.items():
            count = totals.frequencies.get(stem)
            if count is None:
                count = len(self._index.search_text(word, self._all, MAX_FREQUENCY))
                totals.frequencies[stem] = count
            counts[stem] = count
        total = max(totals.passages, 1)
        weights = {
            stem: math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))
            for stem in stems
            if (frequency := min(counts[stem], total))
        }
        return counts, weights, max(totals.characters / total, 1.0)


def words_of(text: str) -> list[str]:
    """The stems of the words of ``text`` in order, without stop words."""
    return [snowball_stem(word) for word in _plain_words(text)]


def _plain_words(text: str) -> list[str]:
    plain = text.lower() if text.isascii() else unaccented(text.lower())
    return [word for word in _WORD.findall(plain) if word not in STOP_WORDS]


def _score(
    passage: Passage, languages: Sequence[str], weights: dict[str, float], mean: float
) -> float:
    """The BM25 score of a passage with its context; ``languages`` are those of the material."""
    content = f"{passage.context}\n{passage.text}" if passage.context else passage.text
    counts = Counter(words_of(index_text(content, languages)))
    length = K1 * (1 - B + B * len(content) / mean)
    return math.fsum(
        weight * counts[word] * (K1 + 1) / (counts[word] + length)
        for word, weight in weights.items()
    )


def _nearest_first(
    query: str, candidates: Sequence[Candidate], passages: dict[str, Passage]
) -> list[Candidate]:
    """Sort by the smallest edit distance between ``query`` (one stem) and a passage's words."""
    stem = query.lower()

    def distance(candidate: Candidate) -> int:
        passage = passages[candidate.passage_id]
        words = set(words_of(f"{passage.context} {passage.text}"))
        distances = (
            OSA.distance(stem, word, score_cutoff=MAX_DIFFERENCES)
            for word in words
            if word[0] == stem[:1] and abs(len(word) - len(stem)) <= MAX_DIFFERENCES
        )
        return min(distances, default=MAX_DIFFERENCES + 1)

    scored = [replace(candidate, score=-float(distance(candidate))) for candidate in candidates]
    return sorted(scored, key=lambda candidate: (-candidate.score, candidate.passage_id))
