"""A question as it is meant: after the earlier turns of its session, and rightly spelt.

A session is known by its id and its owner; its turns are the answers recorded in it. What was
taken out of an answer since, because its source was removed, is no part of its turn. The limits
that an asker sets (collections, kinds, dates) are those of the request: they are never taken over
from an earlier turn. Limits that stand in an earlier question's words are (``followups``).

Only a word without a single passage is taken for misspelt, and only a word that the material has
takes its place, where one letter in five differs at most; the answer says so. Two letters that
changed places count as one difference. Where most words of a question stand nowhere, it is in
another language than the material, and nothing in it is misspelt.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from weakref import WeakKeyDictionary

from anyio import to_thread
from rapidfuzz.distance import OSA

from wellread.answer_text import plain_text
from wellread.answers import LIMITED, NOBODY, Answer, Question, Usage
from wellread.ask.understand.followups.rewrite import standalone
from wellread.ask.understand.followups.rewrite_by_model import SECONDS, by_model, leans
from wellread.ask.understand.followups.turns import Turn, context_of
from wellread.ask.understand.planted_orders import planted_in
from wellread.ask.understand.reader_wishes import in_default_collection, preferences_for
from wellread.ask.understand.vocabulary import MOST_TITLE_WORDS, Vocabulary, vocabulary_of
from wellread.calls import REWRITE
from wellread.errors import ModelError
from wellread.identity import random_id
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import whole_of
from wellread.models.word_pieces import count_tokens
from wellread.questions import Analysis, Preferences
from wellread.store.base import Index
from wellread.store.catalogue.asking.redaction import BLANK
from wellread.store.schema.catalogue_values import REMOVED
from wellread.text.english import STOP_WORDS
from wellread.text.sentences import sentence_spans
from wellread.text.words import stem
from wellread.types import Filters

logger = logging.getLogger(__name__)

MOST_TURNS = 8  # the first one of a session, and the newest
# What a session may be called by who asks: it stands in addresses.
NAME = re.compile(r"\w[\w .:@+~-]{0,199}")
LONGEST_GIVEN = 4_000  # characters of a question or an answer that came with a question


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A question as it is understood within its session.

    Attributes:
        question: with ``text`` in words that need no earlier turn, and the session's id.
        asked: as it was asked.
        reasons: what was put in for what, in words; empty when nothing was.
        failures: a model that failed to rewrite it, in words.
        context: an earlier question that is searched with this one; it is part of nothing else.
        told: the sentences of the answer that it follows; none where it stands alone.
        usage: what it cost to rewrite the question.
        liking: what its owner prefers.
    """

    question: Question
    asked: str
    reasons: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    context: str = ""
    told: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    liking: Preferences = field(default_factory=Preferences)

    def read_as(self, analysis: Analysis, respelt: tuple[str, ...]) -> Analysis:
        """The analysis of its question, with what is known of the conversation and the asker."""
        return replace(
            analysis,
            respelt=respelt,
            context=self.context,
            told=self.told,
            liking=self.liking,
        )

    @property
    def rewritten(self) -> bool:
        """Whether it was read with the turns before it."""
        return bool(self.reasons)

    @property
    def notes(self) -> tuple[str, ...]:
        """What an answer says of it."""
        read = (f"follow-up: {'; '.join(self.reasons)}",) if self.reasons else ()
        usual = self.liking.collection
        placed = usual and self.question.filters.collections == (usual,)
        return (*read, *self.failures, *((f"asked of your collection {usual}",) if placed else ()))


async def begun(kb: KnowledgeBase, question: Question) -> tuple[Opened, Vocabulary]:
    """``opened`` with the preferences of its owner, and the words of where it is asked.

    Raises:
        SettingsError: the persona of its owner cannot be read.
        StoreError: the catalogue cannot be read.
    """
    liked = await to_thread.run_sync(preferences_for, kb, question.owner)
    asked = in_default_collection(question, liked)
    known = await to_thread.run_sync(vocabulary_of, kb, asked.filters.collections)
    return replace(await opened(kb, asked, known), liking=liked), known


async def opened(kb: KnowledgeBase, question: Question, known: Vocabulary) -> Opened:
    """``question`` as it is meant after the earlier turns of its session, or those given with it.

    The model reads it where there is one and the question leans on what was said; else rules do.
    An id that is unknown, or somebody else's, starts a new session of the asker by that name; one
    that is no name (``NAME``) a session with a new id.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    session, earlier = await to_thread.run_sync(_session, kb, question, known)
    asked = question.text
    placed = replace(question, session_id=session)
    if not earlier or not kb.settings.features.follow_up:
        return Opened(question=placed, asked=asked)
    rewritten = standalone(asked, earlier, known, date.today())
    failures: tuple[str, ...] = ()
    usage = Usage()
    model = kb.model_for(REWRITE)
    if model is not None and leans(asked, rewritten, earlier):
        seconds = min(SECONDS, kb.settings.generation.timeout)
        try:
            rewritten, usage = await by_model(model, asked, earlier, known, seconds=seconds)
        except ModelError as error:
            logger.warning("the model did not rewrite a follow-up, rules did: %s", error)
            failures = (f"the follow-up was read by rules: {error.args[0]}",)
    return Opened(
        question=replace(placed, text=rewritten.text),
        asked=asked,
        reasons=rewritten.reasons,
        failures=failures,
        context=context_of(rewritten, earlier),
        told=sentences_of(earlier[-1].answer) if rewritten.reasons else (),
        usage=usage,
    )


def sentences_of(text: str) -> tuple[str, ...]:
    """The sentences of an answer, as they stand."""
    return tuple(span.of(text) for span in sentence_spans(text))


def _session(
    kb: KnowledgeBase, question: Question, vocabulary: Vocabulary
) -> tuple[str, list[Turn]]:
    """The session's id and the turns so far, oldest first; those that came with the question."""
    wanted, owner = question.session_id, question.owner
    given = _given(kb, question, vocabulary)
    if wanted and kb.catalogue.sessions.known(wanted, owner):
        if given:
            return wanted, given
        answers = kb.catalogue.sessions.turns(wanted, owner, MOST_TURNS)
        return wanted, [turn_of(answer) for answer in answers]
    # A key that is limited to collections does not see all of its owner's: none of them is gone on.
    hidden = kb.asker.limited and whole_of(kb).catalogue.sessions.known(wanted, owner)
    named = NAME.fullmatch(wanted) and not hidden
    return wanted if named else random_id("ses"), given


def _given(kb: KnowledgeBase, question: Question, vocabulary: Vocabulary) -> list[Turn]:
    """The turns that came with the question, each read with those before it.

    One whose answer is stored is that of the session, so that what was forgotten since stays so.
    """
    history = [*question.history[:1], *question.history[1:][-(MOST_TURNS - 1) :]]
    turns: list[Turn] = []
    for one in history:
        known = _stored(kb, one.answer_id, question.owner)
        if known is not None:
            turns.append(turn_of(known))
            continue
        asked = one.question[:LONGEST_GIVEN]
        whole = standalone(asked, turns, vocabulary, date.today()).text if turns else asked
        turns.append(Turn(question=whole, answer=one.answer[:LONGEST_GIVEN]))
    return turns


def _stored(kb: KnowledgeBase, answer_id: str, owner: str) -> Answer | None:
    found = kb.catalogue.sessions.answer(answer_id, owner) if answer_id else None
    return found[1] if found else None


MOST_ITEMS = 50
NAMES = ("name", "title", "document", "entity")  # of columns that say what a row is called
# Kinds whose title is the name of what they are about; news and talks are titled otherwise.
NAMING = ("entity", "page", "paper")


def turn_of(answer: Answer) -> Turn:
    """The turn that ``answer`` was.

    The no-data reply says nothing of the question, but what it shows as near can be pointed at.
    """
    question = answer.question
    if answer.standalone and BLANK not in answer.standalone:
        question = answer.standalone
    if answer.answered_by == NOBODY:
        return Turn(question=question, items=_there(one.title for one in answer.related))
    return Turn(
        question=question,
        answer=_whole(plain_text(answer).removeprefix(LIMITED)),
        names=_there(one.title for one in answer.citations if one.kind in NAMING),
        items=_items(answer),
    )


def _items(answer: Answer) -> tuple[str, ...]:
    """What the rows of a list are called: a column of names, or one that tells them apart."""
    if answer.table is None or not answer.table.rows:
        return ()
    columns = list(zip(*answer.table.rows[:MOST_ITEMS], strict=False))
    named = zip(answer.table.columns, columns, strict=False)
    ranked = [column for name, column in named if name.casefold() in NAMES]
    ranked += [column for column in columns if _tells_apart(column)]
    return _there(ranked[0]) if ranked else ()


def _tells_apart(cells: Sequence[str]) -> bool:
    said = [cell for cell in cells if cell != REMOVED]
    return len(set(said)) == len(said) and any(map(str.isalpha, "".join(said)))


def _there(titles: Iterable[str]) -> tuple[str, ...]:
    """The titles that a question can point at: short, still there, no order to who answers."""
    kept = (
        title
        for title in titles
        if 0 < len(title.split()) <= MOST_TITLE_WORDS and title != REMOVED and not planted_in(title)
    )
    return tuple(dict.fromkeys(title for title in kept if BLANK not in title))


def _whole(text: str) -> str:
    """``text`` without the sentences that words were taken out of."""
    if BLANK not in text:
        return text
    spans = sentence_spans(text)
    return " ".join(said for span in spans if BLANK not in (said := span.of(text)))


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
