"""A question as it is meant after the earlier turns of its session.

A session is known by its id and its owner; its turns are the answers recorded in it. What was
taken out of an answer since, because its source was removed, is no part of its turn. The limits
that an asker sets (collections, kinds, dates) are those of the request: they are never taken over
from an earlier turn. Limits that stand in an earlier question's words are (``followups``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import yaml
from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wellread.ask.understand.planted_orders import planted_in
from wellread.ask.understand.rewrite import Turn, standalone
from wellread.ask.understand.vocabulary import MOST_TITLE_WORDS, Vocabulary, vocabulary_of
from wellread.errors import SettingsError
from wellread.identity import random_id
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import whole_of
from wellread.store.catalogue.asking.answer_rows import BLANK
from wellread.store.schema.stored_values import REMOVED
from wellread.text.sentences import sentence_spans
from wellread.values.answer_text import plain_text
from wellread.values.answers import LIMITED, NOBODY, Answer, Question, Usage
from wellread.values.question import Analysis, Length, Preferences

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
        failures: a model that failed to read it, in words.
        context: an earlier question that is searched with this one; it is part of nothing else.
        earlier: the turns that it may lean on, oldest first.
        usage: what it cost to have a model read it.
        liking: what its owner prefers.
    """

    question: Question
    asked: str
    reasons: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    context: str = ""
    earlier: tuple[Turn, ...] = ()
    usage: Usage = field(default_factory=Usage)
    liking: Preferences = field(default_factory=Preferences)

    def read_as(self, analysis: Analysis, respelt: tuple[str, ...]) -> Analysis:
        """The analysis of its question, with what is known of the conversation and the asker."""
        return replace(
            analysis,
            respelt=respelt,
            context=self.context,
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
    """``opened`` with the preferences of its owner, and the words of where it is asked."""
    liked = await to_thread.run_sync(preferences_for, kb, question.owner)
    asked = in_default_collection(question, liked)
    known = await to_thread.run_sync(vocabulary_of, kb, asked.filters.collections)
    return replace(await opened(kb, asked, known), liking=liked), known


async def opened(kb: KnowledgeBase, question: Question, known: Vocabulary) -> Opened:
    """``question`` as rules read it after the earlier turns of its session, or those given with it.

    An id that is unknown, or somebody else's, starts a new session of the asker by that name; one
    that is no name (``NAME``) a session with a new id.
    """
    session, earlier = await to_thread.run_sync(_session, kb, question, known)
    asked = question.text
    placed = replace(question, session_id=session)
    if not earlier or not kb.settings.features.follow_up:
        return Opened(question=placed, asked=asked)
    rewritten = standalone(asked, earlier, known, date.today())
    return Opened(
        question=replace(placed, text=rewritten.text),
        asked=asked,
        reasons=rewritten.reasons,
        context=rewritten.context,
        earlier=tuple(earlier),
    )


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


# --- the preferences that hold for a question ----------------------------------------------------

FOLDER = "personas"
PERSONA_NAME = re.compile(r"[\w-]{1,60}")


class Persona(BaseModel):
    """For whom answers are written: a file ``personas/NAME.yaml`` in the home."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default="", max_length=100)
    prompt: str = Field(default="", max_length=2_000)
    length: Length = ""


def personas(kb: KnowledgeBase) -> dict[str, Persona]:
    """Every persona of the home by the name of its file."""
    files = sorted((kb.home / FOLDER).glob("*.yaml"))
    return {path.stem: _read(kb, path.stem) for path in files if PERSONA_NAME.fullmatch(path.stem)}


def preferences_for(kb: KnowledgeBase, owner: str) -> Preferences:
    """What holds for the questions of ``owner``, with the persona's wish and length."""
    liked = kb.catalogue.preferences.of(owner).in_force
    if not liked.persona:
        return liked
    persona = _read(kb, liked.persona)
    return replace(liked, wish=persona.prompt, length=liked.length or persona.length)


def in_default_collection(question: Question, liked: Preferences) -> Question:
    """The question, limited to the default collection where it names none and no document."""
    limits = question.filters
    if not liked.collection or limits.collections or limits.document_ids:
        return question
    return replace(question, filters=replace(limits, collections=(liked.collection,)))


def _read(kb: KnowledgeBase, name: str) -> Persona:
    hint = f"put right {FOLDER}/{name}.yaml in the home, or choose another persona"
    if not PERSONA_NAME.fullmatch(name):
        raise SettingsError(f"{name!r} is no name of a persona", hint=hint)
    try:
        text = (kb.home / FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
        return Persona.model_validate(yaml.safe_load(text) or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        raise SettingsError(f"the persona {name!r} cannot be read: {error}", hint=hint) from error
