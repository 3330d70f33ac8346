"""The search indexes of one home, and the embedders: of the settings, and of the live index."""

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
from wellread.store.catalogue.documents.reindexing import LiveIndex
from wellread.store.catalogue.readable_catalogue import ReadableCatalogue
from wellread.store.index.backends import EMBEDDED, backend_of
from wellread.text.english import STOP_WORDS
from wellread.text.words import snowball_stem, unaccented
from wellread.types import Candidate, Filters, Passage

logger = logging.getLogger(__name__)

# What is kept of the settings with the live index, to open its embedder again.
OPENS_EMBEDDER = ("backend", "model_path", "url", "model", "api_key_env")
Opener = Callable[[EmbeddingSettings], Embedder]


class Embedders:
    """The embedders of one home, each opened once: that of the settings, and that of the index.

    Args:
        opener: opens the one that settings name.
        record: is told every call of one that costs something.
        given: stands in for the one that the settings name.
    """

    def __init__(
        self,
        home: Path,
        settings: EmbeddingSettings,
        opener: Opener,
        record: Record,
        given: Embedder | None,
    ) -> None:
        self._home = home
        self._settings = settings
        self._opener = opener
        self._record = record
        self._given = CachedEmbedder(given) if given else None
        self._opened: dict[EmbeddingSettings, CachedEmbedder] = {}
        self._lock = threading.Lock()

    def wanted(self) -> CachedEmbedder:
        """That of the settings."""
        return self._given or self._open(self._settings)

    def record(self) -> dict[str, str]:
        """How to open that of the settings again; empty when something stands in for it."""
        if self._given:
            return {}
        return self._settings.model_dump(include=set(OPENS_EMBEDDER))

    def same_as_wanted(self, live: LiveIndex) -> bool | None:
        """Whether the live index and the settings name the same embedder; None: open it to see."""
        settings = self._settings_of(live)
        if self._given or settings is None:
            return None
        if settings.backend == "local" == self._settings.backend:
            # A file's hash, not its place, says which model it is.
            return True if settings.model_path == self._settings.model_path else None
        return _named(settings) == _named(self._settings)

    def shaping(self, live: LiveIndex) -> CachedEmbedder:
        """That which shaped the live index."""
        wanted = live.fingerprint.embedder
        reasons = []
        for settings in dict.fromkeys((self._settings_of(live), None)):
            try:
                embedder = self._open(settings) if settings else self.wanted()
                if embedder.identity == wanted:
                    return embedder
                reasons.append(f"the settings give {embedder.identity}")
            except (ModelError, SettingsError) as error:
                if error.retryable:
                    raise
                reasons.append(str(error))
        raise FingerprintError(
            f"the index in {self._home} was made with the embedder {wanted}, which cannot be "
            f"opened any more: {'; '.join(dict.fromkeys(reasons))}",
            hint="set the settings back, or run 'wellread reindex' to make the index anew",
        )

    def close(self) -> None:
        """Let go of connections."""
        with self._lock:
            opened, self._opened = list(self._opened.values()), {}
        for embedder in [*opened, *([self._given] if self._given else [])]:
            embedder.close()

    def _open(self, settings: EmbeddingSettings) -> CachedEmbedder:
        with self._lock:
            if settings not in self._opened:
                self._opened[settings] = CachedEmbedder(self._recorded(settings))
            return self._opened[settings]

    def _recorded(self, settings: EmbeddingSettings) -> Embedder:
        """Its calls are recorded below the cache: what is remembered is no call."""
        embedder = self._opener(settings)
        if settings.backend != "http":
            return embedder  # on this machine, and free
        host = urlsplit(settings.url).netloc.rpartition("@")[2]
        return RecordedEmbedder(embedder, self._record, provider=host, model=settings.model)

    def _settings_of(self, live: LiveIndex) -> EmbeddingSettings | None:
        """How the live index's embedder was opened, where that is known and can be read."""
        if not live.embedder:
            return None
        try:
            return EmbeddingSettings.model_validate(
                {**self._settings.model_dump(), **live.embedder}
            )
        except ValidationError:
            logger.warning("a newer release made the index; taking the embedder of the settings")
            return None


def _named(settings: EmbeddingSettings) -> tuple[str, ...]:
    """What of the settings decides which embedder it is; the built-in ones are one model each."""
    if settings.backend != "http":
        return (settings.backend,)
    return (settings.backend, settings.model, urlsplit(settings.url).netloc.rpartition("@")[2])


INDEX_FOLDER = "index"


class Indexes:
    """The indexes of one base: in the index folder of its home, or with the server of its settings.

    The embedded back end has the folder itself, every other one that keeps files a folder in it.
    """

    def __init__(self, home: Path, settings: IndexSettings, base_id: Callable[[], str]) -> None:
        self._folder = home / INDEX_FOLDER
        self._settings = settings
        self._base_id = base_id

    def open(self, fingerprint: Fingerprint) -> KeptIndex:
        """The index of ``fingerprint``; made when it is not there."""
        return backend_of(fingerprint.backend).open(self._of(fingerprint.backend), fingerprint)

    def set_aside(self, fingerprint: Fingerprint) -> None:
        """Put what is damaged of an index under another name, so that it can be made anew."""
        backend_of(fingerprint.backend).set_aside(self._of(fingerprint.backend), fingerprint)

    def others(self, kept: Sequence[Fingerprint]) -> list[str]:
        """The names of the indexes that are of none of these fingerprints."""
        names: list[str] = []
        for backend, prints in self._backends(kept).items():
            names += backend_of(backend).others(self._of(backend), *prints)
        return names + [folder.name for folder in self._left(kept)]

    def drop_others(self, kept: Sequence[Fingerprint]) -> list[str]:
        """Drop every index but those of ``kept``; the names of those that went."""
        names: list[str] = []
        for backend, prints in self._backends(kept).items():
            names += backend_of(backend).drop_others(self._of(backend), *prints)
        for folder in self._left(kept):
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise StoreError(f"the old index {folder} cannot be dropped: {error}") from error
            names.append(folder.name)
        return names

    def _of(self, backend: str) -> Path | ServiceAddress:
        if backend == self._settings.service:
            password = os.environ.get(PASSWORD_ENV, "")
            return ServiceAddress(url=self._settings.url, base=self._base_id(), password=password)
        return self._folder if backend == EMBEDDED else self._folder / backend

    def _backends(self, kept: Sequence[Fingerprint]) -> dict[str, list[Fingerprint]]:
        asked = [self._settings.service] if self._settings.service else []
        names = dict.fromkeys([EMBEDDED, *asked, *(made.backend for made in kept)])
        return {name: [made for made in kept if made.backend == name] for name in names}

    def _left(self, kept: Sequence[Fingerprint]) -> list[Path]:
        """Folders of back ends that are in use no more, and may not be installed any more."""
        used = {made.backend for made in kept}
        folders = (path for path in self._folder.glob("*") if path.is_dir())
        return sorted(path for path in folders if not path.suffix and path.name not in used)


K1, B = 1.2, 0.75  # as the back ends have them
DEEPER = 4  # times as many are fetched as are asked for, since another order may come out
LEAST = 400
MOST_COUNTED = 10_000  # passages with a word, from which it counts as one that so many have
MOST_KEPT = 20_000  # words whose counts are kept
LONG_LIST = 2_000  # passages; so many are wanted to be told which they are, and not to be ranked
MOST_DIFFERENCES = 2
_WORD = re.compile(r"[^\W_]+")


class ReadableIndex:
    """``store.base.KeptIndex`` over some collections; nothing is written through it.

    Args:
        catalogue: shows the readable passages only.
    """

    def __init__(
        self, whole: KeptIndex, collections: frozenset[str], catalogue: ReadableCatalogue
    ) -> None:
        self._whole = whole
        self._collections = collections
        self._all = Filters(collections=tuple(sorted(collections)))
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self._stamp = ""
        self._counts: dict[str, int] = {}

    def search_text(
        self, query: str, filters: Filters, limit: int, *, differences: int = 0
    ) -> list[Candidate]:
        """See ``Index.search_text``."""
        within = self._within(filters)
        if within is None or limit < 1:
            return []
        if limit >= LONG_LIST:
            every = self._whole.search_text(query, within, limit, differences=differences)
            return sorted((replace(one, score=0.0) for one in every), key=_by_id)
        depth = max(LEAST, DEEPER * limit)
        found = self._whole.search_text(query, within, depth, differences=differences)
        if differences:
            passages = self._catalogue.live_passages([one.passage_id for one in found])
            held = [one for one in found if one.passage_id in passages]
            return _nearest_first(query, held, passages)[:limit]
        words = {snowball_stem(word): word for word in _plain_words(query)}
        counts, weights, mean = self._weights(words)
        if len(found) >= depth:  # all that have a rare word, wherever the whole index ranks them
            for stem, word in words.items():
                if counts[stem] <= LEAST:
                    found += self._whole.search_text(word, within, LEAST)
        known = {one.passage_id: one for one in found}
        passages = self._catalogue.live_passages(known)
        held = [one for name, one in known.items() if name in passages]
        scored = [
            replace(one, score=_score(passages[one.passage_id], weights, mean)) for one in held
        ]
        return sorted(scored, key=lambda one: (-one.score, one.passage_id))[:limit]

    def search_vector(
        self, vector: NDArray[np.float32], filters: Filters, limit: int
    ) -> list[Candidate]:
        """See ``Index.search_vector``."""
        within = self._within(filters)
        return self._whole.search_vector(vector, within, limit) if within else []

    def rows(self) -> int:
        """How many readable passages there are."""
        return self._catalogue.word_counts().passages

    def keys(self) -> Iterator[IndexKey]:
        """See ``Index.keys``: those of readable passages."""
        return self._catalogue.passage_keys()

    def held(self) -> Iterator[HeldRow]:
        """See ``Index.held``: rows of readable collections."""
        return (row for row in self._whole.held() if row.collection in self._collections)

    def purged(self) -> bool:
        """See ``Index.purged``."""
        return self._whole.purged()

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        """Nothing is written in the name of a reader."""
        raise StoreError(
            "the index cannot be changed in the name of a reader",
            hint="changes are made by jobs and by commands on the machine",
        )

    write = set_vectors = remove = _refused
    optimize = rebuild = purge = _refused

    def _within(self, filters: Filters) -> Filters | None:
        """``filters`` within what may be read; None when that leaves nothing."""
        asked = filters.collections
        names = self._collections.intersection(asked) if asked else self._collections
        return replace(filters, collections=tuple(sorted(names))) if names else None

    def _weights(self, words: Mapping[str, str]) -> tuple[dict[str, int], dict[str, float], float]:
        """How many readable passages have each word, how much it tells, and the mean length of
        one in characters.

        Args:
            words: each by its stem.
        """
        counted = self._catalogue.word_counts()
        with self._lock:
            if self._stamp != counted.stamp or len(self._counts) > MOST_KEPT:
                self._stamp, self._counts = counted.stamp, {}
            counts = self._counts
        for stem, word in words.items():
            if stem not in counts:
                counts[stem] = len(self._whole.search_text(word, self._all, MOST_COUNTED))
        total = max(counted.passages, 1)
        weights = {
            stem: math.log(1 + (total - held + 0.5) / (held + 0.5))
            for stem in words
            if (held := min(counts[stem], total))
        }
        return counts, weights, max(counted.characters / total, 1.0)


def _by_id(one: Candidate) -> str:
    return one.passage_id


def words_of(text: str) -> list[str]:
    """The stems of the words of ``text``, in order, without those that tell nothing."""
    return [snowball_stem(word) for word in _plain_words(text)]


def _plain_words(text: str) -> list[str]:
    plain = text.lower() if text.isascii() else unaccented(text.lower())
    return [word for word in _WORD.findall(plain) if word not in STOP_WORDS]


def _score(passage: Passage, weights: dict[str, float], mean: float) -> float:
    """BM25 of a passage with its context."""
    said = f"{passage.context}\n{passage.text}" if passage.context else passage.text
    held = Counter(words_of(said))
    length = K1 * (1 - B + B * len(said) / mean)
    return math.fsum(
        weight * held[word] * (K1 + 1) / (held[word] + length) for word, weight in weights.items()
    )


def _nearest_first(
    query: str, found: Sequence[Candidate], passages: dict[str, Passage]
) -> list[Candidate]:
    """Those in which a word is most like ``query``, one stem, first."""
    wanted = query.lower()

    def distance(one: Candidate) -> int:
        passage = passages[one.passage_id]
        words = set(words_of(f"{passage.context} {passage.text}"))
        near = (
            OSA.distance(wanted, word, score_cutoff=MOST_DIFFERENCES)
            for word in words
            if word[0] == wanted[:1] and abs(len(word) - len(wanted)) <= MOST_DIFFERENCES
        )
        return min(near, default=MOST_DIFFERENCES + 1)

    placed = [replace(one, score=-float(distance(one))) for one in found]
    return sorted(placed, key=lambda one: (-one.score, one.passage_id))
