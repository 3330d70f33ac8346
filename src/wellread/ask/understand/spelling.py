"""A question with its misspelt words put right.

Only a word without a single passage is taken for misspelt, and only a word that the material has
takes its place, where one letter in five differs at most; the answer says so. Two letters that
changed places count as one difference. Where most words of a question stand nowhere, it is in
another language than the material, and nothing in it is misspelt.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from dataclasses import replace
from weakref import WeakKeyDictionary

from rapidfuzz.distance import OSA

from wellread.answers import Question
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.kb import KnowledgeBase
from wellread.models.word_pieces import count_tokens
from wellread.store.base import Index
from wellread.text.english import STOP_WORDS
from wellread.text.words import stem
from wellread.types import Filters

SHORTEST, LONGEST = 5, 40  # letters of a word that can be told misspelt
LETTERS = 5  # of which one may differ; two differences are the most
MOST_WORDS = 12  # of a question, that are looked up
LOOKED_AT = 20  # passages in which the nearest word is looked for
MOST_KNOWN = 20_000  # words of a knowledge base that are remembered as being there

_LETTERS = re.compile(r"[^\W\d_]+")
_known: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()
_lock = threading.Lock()


def respelt(
    kb: KnowledgeBase, question: Question, vocabulary: Vocabulary
) -> tuple[Question, tuple[str, ...]]:
    """``question`` with its misspelt words put right, and what was changed, in words.

    Raises:
        FingerprintError, StoreError: the index cannot be used.
    """
    index = kb.live().index
    within = Filters(collections=question.filters.collections)
    text = question.text
    changed: dict[str, str] = {}
    missing: set[str] = set()
    for word in _doubtful(question.text, vocabulary):
        if _is_known(kb, index, word, within):
            continue
        missing.add(word.lower())
        near = _nearest(kb, index, word, within)
        if near:
            changed[word] = near
    if not changed:
        return question, ()
    # Where more than half of the words stand in no passage, the question is in another language.
    words = list(dict.fromkeys(word.lower() for word in _LETTERS.findall(text)))[:MOST_WORDS]
    others = (word for word in words if word not in missing | STOP_WORDS)
    missing |= {word for word in others if not _is_known(kb, index, word, within)}
    if len(words) > 1 and 2 * len(missing.intersection(words)) > len(words):
        return question, ()
    for word, near in changed.items():
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", near, text)
    notes = (f"“{one}” stands nowhere; “{near}” was searched for" for one, near in changed.items())
    return replace(question, text=text), tuple(notes)


def _doubtful(text: str, vocabulary: Vocabulary) -> list[str]:
    """The words of ``text`` that may be misspelt: long enough, plain, and no name."""
    names = (vocabulary.names, vocabulary.speakers, vocabulary.authors)
    found = dict.fromkeys(
        word
        for word in _LETTERS.findall(text)
        if SHORTEST <= len(word) <= LONGEST
        and word.lower() not in STOP_WORDS
        and count_tokens(word.lower()) > 1  # a piece of its own is a common word, rightly spelt
        and not any(word.casefold() in known for known in names)
    )
    return list(found)[:MOST_WORDS]


def _is_known(kb: KnowledgeBase, index: Index, word: str, within: Filters) -> bool:
    """Whether a passage holds the word, in any of its forms."""
    key = f"{'|'.join(within.collections)}:{stem(word)}"
    with _lock:
        known = _known.setdefault(kb.common, set())
        if len(known) > MOST_KNOWN:
            known.clear()
        if key in known:
            return True
    if not index.search_text(word, within, 1):
        return False
    known.add(key)  # it may be forgotten again at once, by a thread that makes room
    return True


def _nearest(kb: KnowledgeBase, index: Index, word: str, within: Filters) -> str:
    """The word of the material that differs least, the most frequent of several; or none."""
    allowed = min(2, len(word) // LETTERS)
    # Letters that changed places are two differences to the index, and one below.
    found = index.search_text(stem(word), within, LOOKED_AT, differences=2)
    passages = kb.catalogue.live_passages([candidate.passage_id for candidate in found])
    held = Counter(
        match.lower()
        for passage in passages.values()
        for match in _LETTERS.findall(f"{passage.context} {passage.text}")
    )
    return _best(word.lower(), held, allowed)


def _best(word: str, held: Counter[str], allowed: int) -> str:
    near = [
        (distance, -times, other)
        for other, times in held.items()
        if other[0] == word[0]
        and abs(len(other) - len(word)) <= allowed
        and 0 < (distance := OSA.distance(word, other, score_cutoff=allowed)) <= allowed
    ]
    return min(near)[2] if near else ""
