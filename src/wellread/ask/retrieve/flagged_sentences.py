"""Sentences that an expert flagged as harmful: they are not given again, by nobody.

A flag holds for what rests on collections that its giver may edit now: nobody silences the material
of others. A delivered sentence is one of them when its words are the same (case and punctuation do
not count), or when it contains all of it, word for word. Short sentences ("Yes, it is.") only count
as a whole, since others hold their words by chance.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from wellread.identity import Everything, sentence_hash, sentence_words
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import edited_by

SHORTEST = 4  # words of a sentence that is also found inside another
Words = tuple[str, ...]
T = TypeVar("T")


class Held(Generic[T]):
    """One value per knowledge base and what may be read of it, held as long as the feedback stays.

    Args:
        make: reads the value from the catalogue.
        hangs_on: what it hangs on beside the feedback.
    """

    def __init__(
        self,
        make: Callable[[KnowledgeBase], T],
        hangs_on: Callable[[KnowledgeBase], str] = lambda _: "",
    ) -> None:
        self._make = make
        self._hangs_on = hangs_on
        self._values: WeakKeyDictionary[object, tuple[str, T]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, kb: KnowledgeBase) -> T:
        """The value as the feedback stands; one small query while nothing has changed."""
        # The stamp is read first: a change in between makes the value be read again, never late.
        stamp = f"{kb.catalogue.feedback.stamp()} {self._hangs_on(kb)}"
        known = self._values.get(kb.common)
        if known is not None and known[0] == stamp:
            return known[1]
        with self._lock:
            made = self._make(kb)
            self._values[kb.common] = (stamp, made)
            return made


@dataclass(frozen=True, slots=True)
class FlaggedSentences:
    """All of them, to be looked up by the words of what is about to be delivered.

    Attributes:
        hashes: of every one, also of those whose words are kept no more.
        inside: a word, the one that the fewest have, to the sentences with it that may be found
            inside another.
    """

    hashes: frozenset[str] = frozenset()
    inside: Mapping[str, tuple[Words, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.hashes)

    def holds(self, text: str) -> bool:
        """Whether ``text``, a sentence or several, says one of them."""
        return bool(self.places([text]))

    def places(self, texts: Sequence[str]) -> frozenset[int]:
        """Which of ``texts``, that follow each other, say one of them, be it together."""
        if not self.hashes:
            return frozenset()
        found = {at for at, text in enumerate(texts) if sentence_hash(text) in self.hashes}
        each = [sentence_words(text) for text in texts]
        said = tuple(word for words in each for word in words)
        owners = [at for at, words in enumerate(each) for _ in words]
        for flagged in self._candidates(said):
            for start in _runs(flagged, said):
                found.update(owners[start : start + len(flagged)])
        return frozenset(found)

    def without(self, hashes: Collection[str]) -> FlaggedSentences:
        """All but these."""
        left = {
            word: tuple(one for one in some if sentence_hash(" ".join(one)) not in hashes)
            for word, some in self.inside.items()
        }
        return FlaggedSentences(hashes=self.hashes.difference(hashes), inside=left)

    def free(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Those of ``texts`` that say none of them."""
        return tuple(text for text in texts if not self.holds(text))

    def _candidates(self, words: Words) -> list[Words]:
        said = set(words)
        near = [one for word in said & self.inside.keys() for one in self.inside[word]]
        return [one for one in near if said.issuperset(one)]


def _runs(flagged: Words, said: Words) -> list[int]:
    """Where ``flagged`` stands word for word."""
    size = len(flagged)
    return [start for start in range(len(said) - size + 1) if said[start : start + size] == flagged]


def flagged_from(sentences: Mapping[str, str]) -> FlaggedSentences:
    """The sentences, each by its hash; the words may be empty."""
    long = {words for words in map(sentence_words, sentences.values()) if len(words) >= SHORTEST}
    often = Counter(word for words in long for word in set(words))
    inside: dict[str, list[Words]] = defaultdict(list)
    for words in sorted(long):
        inside[min(words, key=lambda word: (often[word], word))].append(words)
    return FlaggedSentences(
        hashes=frozenset(sentences), inside={word: tuple(some) for word, some in inside.items()}
    )


NOTHING_FLAGGED = FlaggedSentences()


@dataclass(frozen=True, slots=True)
class _Flags:
    """Who flagged what; ``joined``: what some of them flagged together, once it was asked for."""

    by: Mapping[str, Mapping[str, str]]
    joined: dict[frozenset[str], FlaggedSentences] = field(default_factory=dict)

    def of(self, givers: frozenset[str]) -> FlaggedSentences:
        made = self.joined.get(givers)
        if made is None:
            sentences: dict[str, str] = {}
            for giver in sorted(givers):
                for key, words in self.by[giver].items():
                    sentences[key] = sentences.get(key) or words
            made = self.joined[givers] = flagged_from(sentences)
        return made


_held = Held(lambda kb: _Flags(kb.catalogue.feedback.harmful_by()))


def flagged_sentences(kb: KnowledgeBase, collections: Iterable[str]) -> FlaggedSentences:
    """What must not be said of these collections: what was flagged by who may edit all of them.

    Of what rests on no collection that is known, only who may edit everything can say it.
    """
    flags, names = _held.of(kb), frozenset(collections)
    givers = (giver for giver in flags.by if _covers(edited_by(kb, giver), names))
    return flags.of(frozenset(givers)) if flags.by else NOTHING_FLAGGED


def flagged_of_documents(
    kb: KnowledgeBase, documents: Sequence[Collection[str]]
) -> list[FlaggedSentences]:
    """What must not be said in texts that rest on these documents, for each text."""
    if not _held.of(kb).by:
        return [NOTHING_FLAGGED] * len(documents)
    facts = kb.catalogue.facts({known for some in documents for known in some})
    within = [
        frozenset(facts[known].collection for known in some if known in facts) for some in documents
    ]
    found = {names: flagged_sentences(kb, names) for names in set(within)}
    return [found[names] for names in within]


def reach_of_flags(kb: KnowledgeBase) -> str:
    """Another one when those who flagged something may edit other collections; mostly empty."""
    reaches = ((giver, edited_by(kb, giver)) for giver in sorted(_held.of(kb).by))
    return "; ".join(
        f"{giver}: {'*' if isinstance(reach, Everything) else sorted(reach)}"
        for giver, reach in reaches
    )


def _covers(edits: frozenset[str] | Everything, names: frozenset[str]) -> bool:
    return isinstance(edits, Everything) or (bool(names) and names <= edits)
