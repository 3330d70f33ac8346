"""Sentences that an expert flagged as harmful: they are never given again, by nobody.

A delivered sentence is one of them when its words are the same (case and punctuation do not
count), when it contains all of it, or when it says it with words put in between. Words in between
that deny ("is not safe" for "is safe") make it another sentence: most often the right one. Short
sentences ("Yes, it is.") only count as a whole, since others hold their words by chance.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from wellread.ask.retrieve.learned.held import Held
from wellread.identity import sentence_hash, sentence_words
from wellread.kb import KnowledgeBase
from wellread.text.parsed import parse

SHORTEST = 4  # words of a sentence that is also found inside another
Words = tuple[str, ...]


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
        found |= {at for at, words in enumerate(each) if self._says(texts[at], words)}
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

    def _says(self, text: str, words: Words) -> bool:
        denials: int | None = None
        for flagged in self._candidates(words):
            if not _in_order(flagged, words):
                continue
            denials = parse(text).negations if denials is None else denials
            if denials == parse(" ".join(flagged)).negations:
                return True
        return False


def _in_order(flagged: Words, words: Words) -> bool:
    rest = iter(words)
    return all(word in rest for word in flagged)


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
_flagged = Held(lambda kb: flagged_from(kb.catalogue.feedback.harmful_sentences()))

flagged_sentences: Callable[[KnowledgeBase], FlaggedSentences] = _flagged.of
"""What experts flagged in a knowledge base; StoreError when the catalogue cannot be read."""
