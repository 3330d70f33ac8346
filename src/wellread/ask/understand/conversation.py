"""Rewrites a follow-up with the earlier turns of its session and applies the owner's preferences.

A session is identified by its id and its owner; its turns are the answers recorded in it. Text
removed from an answer together with its source is not part of its turn. The filters of a request
(collections, kinds, dates) never come from an earlier turn, but limits in the words of an earlier
question do (``rewrite.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from urllib.parse import quote, unquote

import yaml
from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wellread.ask.understand.planted_orders import find_prompt_injection
from wellread.ask.understand.rewrite import Turn, make_standalone
from wellread.ask.understand.vocabulary import MAX_TITLE_WORDS, Vocabulary, vocabulary_of
from wellread.errors import SettingsError
from wellread.identity import random_id
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import base_of
from wellread.store.catalogue.asking.answer_removal import BLANK
from wellread.store.catalogue.documents.name_records import FILE, cut_key, file_key
from wellread.store.schema.stored_values import REMOVED
from wellread.text.sentences import sentence_spans
from wellread.values.answer_text import plain_text
from wellread.values.answers import LIMITED_PREFIX, NOBODY, Answer, Question, Usage
from wellread.values.question import Analysis, Length, Preferences

_FILE_WORD = re.compile(r"[\w.~(/-]\S*")
_FILE_ENDING = re.compile(r"(?<=\w)\.[A-Za-z]\w{1,5}\b")
MAX_TURNS = 8  # the first turn of a session and the newest ones
# Session ids that clients may choose; they are used in web addresses.
SESSION_NAME = re.compile(r"\w[\w .:@+~-]{0,199}")
MAX_SUPPLIED_CHARS = 4_000  # of a question or an answer in a supplied history


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQuestion:
    """A question within its session, rewritten so that it stands alone.

    Attributes:
        asked: the original wording.
        reasons: descriptions of the replacements; empty when nothing was replaced.
        context: an earlier question that is added to the search only.
        earlier: the turns that it may refer to, oldest first.
    """

    question: Question
    asked: str
    reasons: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    context: str = ""
    earlier: tuple[Turn, ...] = ()
    usage: Usage = field(default_factory=Usage)
    liking: Preferences = field(default_factory=Preferences)

    def add_conversation(self, analysis: Analysis, respelt: tuple[str, ...]) -> Analysis:
        """Add the conversation's context and the owner's preferences to ``analysis``."""
        return replace(analysis, respelt=respelt, context=self.context, liking=self.liking)

    @property
    def rewritten(self) -> bool:
        """Whether the question was rewritten with earlier turns."""
        return bool(self.reasons)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the answer on how the question was rewritten and scoped."""
        rewriting = (f"follow-up: {'; '.join(self.reasons)}",) if self.reasons else ()
        collection = self.liking.collection
        is_default = collection and self.question.filters.collections == (collection,)
        scope = (f"asked of your collection {collection}",) if is_default else ()
        return (*rewriting, *self.failures, *scope)


async def open_session(kb: KnowledgeBase, question: Question) -> tuple[SessionQuestion, Vocabulary]:
    """Resolve ``question`` with its owner's preferences; also return the scope's vocabulary."""
    preferences = await to_thread.run_sync(preferences_for, kb, question.owner)
    scoped = in_default_collection(question, preferences)
    vocabulary = await to_thread.run_sync(vocabulary_of, kb, scoped.filters.collections)
    session = await resolve_follow_up(kb, scoped, vocabulary)
    asked = await to_thread.run_sync(_limited_to_files, kb, session.question, vocabulary)
    return replace(session, question=asked, liking=preferences), vocabulary


def _limited_to_files(kb: KnowledgeBase, question: Question, vocabulary: Vocabulary) -> Question:
    """Limit the question to the documents whose file names it has; titles replace the names."""
    text, ids = question.text, []
    for ending in [] if question.filters.document_ids else [*_FILE_ENDING.finditer(text)][::-1]:
        starts = [word.start() for word in _FILE_WORD.finditer(text, 0, ending.end())]
        for start in starts[-MAX_TITLE_WORDS:]:
            name = text[start : ending.end()]
            key = cut_key(file_key(quote(name)))
            found = kb.catalogue.names.documents(vocabulary.collections, (FILE,), [key])
            facts = [
                document
                for document in kb.catalogue.facts(found).values()
                if f"/{unquote(document.uri)}".casefold().endswith(f"/{name}".casefold())
            ]
            if facts:
                titles = " and ".join(dict.fromkeys(document.title for document in facts))
                text = f"{text[:start]}{titles}{text[ending.end() :]}"
                ids += [document.id for document in facts]
                break
    return (
        replace(question, text=text, filters=replace(question.filters, document_ids=tuple(ids)))
        if ids
        else question
    )


async def resolve_follow_up(
    kb: KnowledgeBase, question: Question, vocabulary: Vocabulary
) -> SessionQuestion:
    """Rewrite ``question`` by rules with the turns of its session or of a sent history.

    An unknown id, or one of another owner, starts a new session with that id; an id that is not
    a valid name (``SESSION_NAME``) starts one with a random id.
    """
    session, earlier = await to_thread.run_sync(_open_turns, kb, question, vocabulary)
    original = question.text
    in_session = replace(question, session_id=session)
    if not earlier or not kb.settings.features.follow_up:
        return SessionQuestion(question=in_session, asked=original)
    rewritten = make_standalone(original, earlier, vocabulary, date.today())
    return SessionQuestion(
        question=replace(in_session, text=rewritten.text),
        asked=original,
        reasons=rewritten.reasons,
        context=rewritten.context,
        earlier=tuple(earlier),
    )


def _open_turns(
    kb: KnowledgeBase, question: Question, vocabulary: Vocabulary
) -> tuple[str, list[Turn]]:
    """The session's id, and the turns so far or those sent with the question, oldest first."""
    session_id, owner = question.session_id, question.owner
    supplied = _supplied_turns(kb, question, vocabulary)
    if session_id and kb.catalogue.sessions.known(session_id, owner):
        if supplied:
            return session_id, supplied
        answers = kb.catalogue.sessions.turns(session_id, owner, MAX_TURNS)
        return session_id, [turn_of(answer) for answer in answers]
    # A key limited to collections cannot see all of its owner's sessions, nor continue hidden ones.
    hidden = kb.asker.limited and base_of(kb).catalogue.sessions.known(session_id, owner)
    is_valid = SESSION_NAME.fullmatch(session_id) and not hidden
    return session_id if is_valid else random_id("ses"), supplied


def _supplied_turns(kb: KnowledgeBase, question: Question, vocabulary: Vocabulary) -> list[Turn]:
    """The turns of the history sent with the question, each rewritten with the turns before it.

    A stored answer replaces the text that was sent, so that forgotten material stays forgotten.
    """
    history = [*question.history[:1], *question.history[1:][-(MAX_TURNS - 1) :]]
    turns: list[Turn] = []
    for turn in history:
        owner = question.owner
        stored = kb.catalogue.sessions.answer(turn.answer_id, owner) if turn.answer_id else None
        if stored is not None:
            turns.append(turn_of(stored[1]))
            continue
        original = turn.question[:MAX_SUPPLIED_CHARS]
        text = make_standalone(original, turns, vocabulary, date.today()).text
        turns.append(Turn(question=text, answer=turn.answer[:MAX_SUPPLIED_CHARS]))
    return turns


MAX_ITEMS = 50
NAME_COLUMNS = ("name", "title", "document", "entity")  # columns that hold the name of a row
# Kinds whose title names their subject, unlike the titles of news and talks.
KINDS_NAMED_BY_TITLE = ("entity", "page", "paper")


def turn_of(answer: Answer) -> Turn:
    """The turn of a recorded ``answer``.

    A refusal says nothing about the topic, but a follow-up may refer to its related titles.
    """
    question = answer.question
    if answer.standalone and BLANK not in answer.standalone:
        question = answer.standalone
    if answer.answered_by == NOBODY:
        return Turn(question=question, items=_referable(item.title for item in answer.related))
    return Turn(
        question=question,
        answer=_without_removed(plain_text(answer).removeprefix(LIMITED_PREFIX)),
        names=_referable(
            citation.title for citation in answer.citations if citation.kind in KINDS_NAMED_BY_TITLE
        ),
        items=_row_names(answer),
    )


def _row_names(answer: Answer) -> tuple[str, ...]:
    """The names of a table's rows: a column of names, else a column of distinct texts."""
    if answer.table is None or not answer.table.rows:
        return ()
    columns = list(zip(*answer.table.rows[:MAX_ITEMS], strict=False))
    named_columns = zip(answer.table.columns, columns, strict=False)
    ranked = [column for name, column in named_columns if name.casefold() in NAME_COLUMNS]
    ranked += [column for column in columns if _are_distinct(column)]
    return _referable(ranked[0]) if ranked else ()


def _are_distinct(cells: Sequence[str]) -> bool:
    texts = [cell for cell in cells if cell != REMOVED]
    return len(set(texts)) == len(texts) and any(map(str.isalpha, "".join(texts)))


def _referable(titles: Iterable[str]) -> tuple[str, ...]:
    """The titles a follow-up may refer to: short, not removed, and free of prompt injection."""
    referable = (
        title
        for title in titles
        if 0 < len(title.split()) <= MAX_TITLE_WORDS
        and title != REMOVED
        and not find_prompt_injection(title)
    )
    return tuple(dict.fromkeys(title for title in referable if BLANK not in title))


def _without_removed(text: str) -> str:
    """``text`` without the sentences from which words were removed."""
    if BLANK not in text:
        return text
    spans = sentence_spans(text)
    return " ".join(sentence for span in spans if BLANK not in (sentence := span.of(text)))


# --- preferences and personas --------------------------------------------------------------------

PERSONA_FOLDER = "personas"
PERSONA_NAME = re.compile(r"[\w-]{1,60}")


class Persona(BaseModel):
    """An audience for answers, from ``personas/NAME.yaml`` in the knowledge base folder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default="", max_length=100)
    prompt: str = Field(default="", max_length=2_000)
    length: Length = ""


def personas(kb: KnowledgeBase) -> dict[str, Persona]:
    """All personas of the knowledge base, by file name."""
    files = sorted((kb.home / PERSONA_FOLDER).glob("*.yaml"))
    return {
        path.stem: _persona(kb, path.stem) for path in files if PERSONA_NAME.fullmatch(path.stem)
    }


def preferences_for(kb: KnowledgeBase, owner: str) -> Preferences:
    """The preferences of ``owner``, completed with the prompt and length of the persona."""
    preferences = kb.catalogue.preferences.of(owner).effective
    if not preferences.persona:
        return preferences
    persona = _persona(kb, preferences.persona)
    return replace(preferences, wish=persona.prompt, length=preferences.length or persona.length)


def in_default_collection(question: Question, preferences: Preferences) -> Question:
    """Limit the question to the default collection unless it names a collection or document."""
    limits = question.filters
    if not preferences.collection or limits.collections or limits.document_ids:
        return question
    return replace(question, filters=replace(limits, collections=(preferences.collection,)))


def _persona(kb: KnowledgeBase, name: str) -> Persona:
    path = f"{PERSONA_FOLDER}/{name}.yaml"
    hint = f"correct {path} in the knowledge base folder, or choose another persona"
    if not PERSONA_NAME.fullmatch(name):
        raise SettingsError(f"{name!r} is not a valid persona name", hint=hint)
    try:
        text = (kb.home / path).read_text(encoding="utf-8")
        return Persona.model_validate(yaml.safe_load(text) or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        raise SettingsError(f"the persona {name!r} cannot be read: {error}", hint=hint) from error
