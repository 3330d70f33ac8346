"""One call of a model that reads a question before anything is searched, where patterns may err.

It is asked of a follow-up, of several questions in one, of a question that may be one to the
catalogue or names what that knows, and of one in another language than the material. The model says
what is asked, each question in words that stand alone, within which limits and, where it is one to
the catalogue, by which fields. What it says replaces what the patterns read; every name in it is
looked up in the base, and what is not there is left out, visibly. A call that fails leaves the
patterns' reading.

The model sees no text of a source, only names that the base holds, and may bring none into a
question: the words of a question are those of the conversation (decision 076).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain
from typing import Annotated, Any

import anyio
from anyio import to_thread
from pydantic import (
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from wellread.ask.aggregate.counts import OTHER_PARTS
from wellread.ask.aggregate.execute import CatalogueRequest, RequestPart, WhereBody, query_of
from wellread.ask.aggregate.query import CatalogueQuery, Form, nouns
from wellread.ask.plan import Planned, read_as, read_query
from wellread.ask.understand.analyse import names_kinds
from wellread.ask.understand.conversation import SessionQuestion
from wellread.ask.understand.mentions import people_in
from wellread.ask.understand.planted_orders import find_prompt_injection
from wellread.ask.understand.question_parts import MOST_QUESTIONS, remove_spans, split_questions
from wellread.ask.understand.rewrite import LONGEST, Turn, known_names
from wellread.ask.understand.vocabulary import KeyLookup, Vocabulary, decode_pairs
from wellread.ask.write.drafting import usage_of
from wellread.ask.write.parse_draft import load_object
from wellread.errors import ModelError, ModelTimeoutError, RequestError, SettingsError
from wellread.kb import KnowledgeBase
from wellread.models.base import ModelUsage, Prompt, complete_reply
from wellread.models.prompts import fence_of, fenced, template
from wellread.store.catalogue.documents.name_records import VALUE
from wellread.text.english import STOP_WORDS
from wellread.text.parsed import parse
from wellread.text.periods import window_of
from wellread.text.tokens import key_of
from wellread.types import Filters, Span
from wellread.values.answers import Usage
from wellread.values.calls import PLAN
from wellread.values.question import Analysis, Constraint, ConstraintKind, QuestionType

logger = logging.getLogger(__name__)

SECONDS = 15.0  # a question must not wait longer to be read; patterns take milliseconds
BY_PATTERNS = "the question was read by patterns"
# Types of question that patterns answer from the catalogue, often wrongly in other words.
CATALOGUE: frozenset[QuestionType] = frozenset(
    {"counting", "gap_finding", "meta", "trend", "relational", "exploratory"}
)
TYPES: Mapping[Form, QuestionType] = {
    "count": "counting",
    "list": "counting",
    "exists": "gap_finding",
    "missing": "gap_finding",
    "coverage": "meta",
    "trend": "trend",
    "walk": "relational",
    "path": "relational",
}
ENGLISH = 0.2  # share of function words from which a question is taken for English
KEPT = 0.5  # least share of the words that were asked that the questions of a plan have
OWN = 0.8  # least share of the words put in that earlier questions or names have
MOST_ANSWER, MOST_LISTED = 500, 12  # characters of an answer that are looked at; items shown
MOST_NAMES, MOST_VALUES, LONGEST_NAME = 40, 60, 80  # of the base, that a model is shown
NOWHERE = Span(start=0, end=0)
_ADDRESS = re.compile(r"\w+://|\bwww\.|\bCALL\s*:", re.IGNORECASE)


class PlannedQuestion(RequestPart):
    """One question as the model understood it."""

    question: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST)
    ]
    search: Annotated[str, StringConstraints(strip_whitespace=True, max_length=LONGEST)] = ""
    limits: WhereBody | None = WhereBody()
    query: CatalogueRequest | None = None

    @field_validator("limits", "query", mode="wrap")
    @classmethod
    def _none_if_unreadable(cls, given: object, read: ValidatorFunctionWrapHandler) -> object:
        """A limit or a query that cannot be read takes nothing from the question itself."""
        try:
            return read(given)
        except ValidationError:
            return None


class PlanReply(RequestPart):
    """The model's reply; without questions, the model has no reading to offer."""

    questions: Annotated[tuple[PlannedQuestion, ...], Field(max_length=MOST_QUESTIONS)] = ()


SCHEMA: Mapping[str, object] = PlanReply.model_json_schema()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A question with the model's reading of it."""

    turn: SessionQuestion
    questions: tuple[PlannedQuestion, ...] = ()
    asked: bool = False


async def planned(kb: KnowledgeBase, turn: SessionQuestion, vocabulary: Vocabulary) -> Reading:
    """Let a model read the question of ``turn`` if worthwhile; model errors are not raised."""
    if not await to_thread.run_sync(_is_worth_it, kb, turn, vocabulary):
        return Reading(turn=turn)
    usage, reply, name = Usage(), "", ""
    try:
        short = await to_thread.run_sync(kb.ledger.short_of_money)
        if short:
            raise ModelError(short)
        model = await to_thread.run_sync(kb.models.recorded, "model", PLAN)
        if model is None:
            return Reading(turn=turn)
        name = model.identity
        told = [_told(earlier, vocabulary) for earlier in turn.earlier]
        prompt = await to_thread.run_sync(plan_prompt, kb, turn.asked, told, vocabulary)
        seconds = min(SECONDS, kb.settings.generation.timeout)
        try:
            with anyio.fail_after(seconds):
                reply, spent = await complete_reply(model, prompt)
        except TimeoutError as error:
            raise ModelTimeoutError(f"{name} took longer than {seconds:g} s") from error
        usage = usage_of(spent)
        plan = read_plan(reply, turn.asked, told)
        if plan is None:
            raise ModelError(f"{name} gave what is no reading of the question")
    except (ModelError, SettingsError) as error:
        logger.warning("%s: %s", BY_PATTERNS, error)
        cost = error.cost if isinstance(error, ModelError) else 0.0
        usage += usage_of(ModelUsage(model=name, cost=cost))
        failures = (*turn.failures, f"{BY_PATTERNS}: {error.args[0]}")
        turn = replace(turn, usage=turn.usage + usage, failures=failures)
        return Reading(turn=turn, asked=bool(name))
    questions, unread = plan
    turn = replace(turn, usage=turn.usage + usage, failures=(*turn.failures, *unread))
    return _read(turn, questions, name)


def _is_worth_it(kb: KnowledgeBase, turn: SessionQuestion, vocabulary: Vocabulary) -> bool:
    """Whether to ask a model: always, except for a plain first question about texts."""
    text = turn.question.text
    if not turn.question.models or "model" not in kb.models.names() or len(text) > LONGEST:
        return False
    if (
        turn.earlier
        or text.count("?") > 1
        or len(split_questions(text)) > 1
        or foreign(text, vocabulary)
    ):
        return True
    # What names nothing that the catalogue knows is about texts.
    analysis = read_as(kb, turn.question, vocabulary)
    named = analysis.constraints or analysis.entities or people_in(text, vocabulary)
    about_base = analysis.type in CATALOGUE or names_kinds(text, vocabulary)
    return bool(named) or about_base or read_query(kb, analysis) is not None


def foreign(text: str, vocabulary: Vocabulary) -> bool:
    """Whether ``text`` is in another language than the material, by its share of function words."""
    words = [token.plain for token in parse(text).tokens if token.plain.isalpha()]
    share = sum(word in STOP_WORDS for word in words) / (len(words) or 1)
    asks = text.rstrip().endswith("?") or not text.isascii()
    english = not vocabulary.languages or any(one.startswith("en") for one in vocabulary.languages)
    return english == (share < ENGLISH) and asks


def _read(turn: SessionQuestion, questions: tuple[PlannedQuestion, ...], name: str) -> Reading:
    """A follow-up in the words that the model found; a question that comes first in its own."""
    if not questions:
        return Reading(turn=turn, asked=True)
    if not turn.earlier:
        first, *others = questions
        whole = first if others else first.model_copy(update={"question": turn.question.text})
        return Reading(turn=turn, questions=(whole, *others), asked=True)
    text = " ".join(question.question for question in questions)
    same = text == " ".join(turn.asked.split())
    turn = replace(
        turn,
        question=replace(turn.question, text=turn.asked if same else text),
        reasons=() if same else (f"read by {name}",),
        context="",
    )
    return Reading(turn=turn, questions=questions, asked=True)


# --- what the model is asked -----------------------------------------------------------------


def _told(turn: Turn, vocabulary: Vocabulary) -> Turn:
    """The turn with the names of its answer in place of its text."""
    names = dict.fromkeys([*turn.names, *known_names(turn.answer[:MOST_ANSWER], vocabulary)])
    return replace(turn, answer="", names=tuple(names))


def plan_prompt(
    kb: KnowledgeBase, question: str, earlier: Sequence[Turn], vocabulary: Vocabulary
) -> Prompt:
    """Build the planning prompt; the same input and knowledge base give the same prompt."""
    base = list(_held(kb, vocabulary))
    said = [part for turn in earlier for part in (turn.question, *turn.names, *turn.items)]
    fence = fence_of("plan", question, *said, *(value for _, value in base))

    def line(text: str) -> str:
        return " ".join(fenced(text, fence).split())

    turns = [
        {
            "question": line(turn.question),
            "names": line("; ".join(turn.names[:MOST_LISTED])),
            "shown": line("; ".join(turn.items[:MOST_LISTED])),
        }
        for turn in earlier
        if turn.question
    ]
    shown = template("plan.md", "wellread.ask.write")
    return Prompt(
        system=template("plan_system.md", "wellread.ask.write").render(
            fence=fence, most=MOST_QUESTIONS
        ),
        user=shown.render(
            fence=fence,
            base=[(name, line(value)) for name, value in base],
            turns=turns,
            question=line(question),
            today=date.today().isoformat(),
        ),
        temperature=0.0,
        schema=SCHEMA,
    )


def _held(kb: KnowledgeBase, vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    """Names and values that the knowledge base holds, limited in size."""
    scope, graph = vocabulary.collections, kb.catalogue.graph
    kinds = graph.relation_types(scope) if scope else ()
    values = kb.catalogue.names.first_keys(scope, VALUE, MOST_VALUES)
    by_key = kb.catalogue.names.look_up(scope, (VALUE,), values)
    pairs = decode_pairs(one.value for those in by_key.values() for one in those)
    first, last = vocabulary.published or ("", "")
    listed: list[tuple[str, Iterable[str]]] = [
        ("collections", vocabulary.collections),
        ("languages", sorted(vocabulary.languages)),
        ("kinds", sorted(vocabulary.kinds)),
        ("source types", sorted(vocabulary.source_types)),
        ("of (what can be counted)", dict.fromkeys(one.many for one in nouns(vocabulary).values())),
        ("types of entities", sorted(vocabulary.entity_types)),
        ("relations", [one.type for one in kinds if "←" not in one.type]),
        ("by (what it divides by)", (*OTHER_PARTS, *sorted(vocabulary.dimensions))),
        *(
            (f"field {name}", [value for field, value in pairs if field == name])
            for name in sorted(vocabulary.dimensions)
        ),
        ("published", [f"{first} to {last}"] if first else ()),
    ]
    for name, words in listed:
        told = [" ".join(word.split())[:LONGEST_NAME] for word in words]
        more = f"; and {len(told) - MOST_NAMES} more" if len(told) > MOST_NAMES else ""
        if told:
            yield name[:LONGEST_NAME], "; ".join(told[:MOST_NAMES]) + more


# --- what it says ----------------------------------------------------------------------------


def read_plan(
    reply: str, asked: str, earlier: Sequence[Turn]
) -> tuple[tuple[PlannedQuestion, ...], tuple[str, ...]] | None:
    """The questions of a model's reply, and what of them cannot be read, in words.

    None where it is no reading of ``asked``.

    It is one when it keeps most of the words that were asked, and the names, the numbers and nearly
    all words that it puts in stand in the earlier questions or are names.
    """
    found, broken = load_object(reply[reply.find("{") :]) if "{" in reply else (None, True)
    found = _without_nothing(found)
    try:
        plan = PlanReply.model_validate(None if broken else found)
    except ValidationError:
        return None
    questions = plan.questions
    turns = ["\n".join((one.question, *one.names, *one.items)) for one in earlier]
    said = "\n".join([asked, *turns])
    text = "\n".join(one.question for one in questions)
    searches = "\n".join(one.search for one in questions)
    own, made = parse(asked).stem_set, parse(text).stem_set
    put, around = made - own, said.casefold()
    kept = len(own & made) >= KEPT * len(own)
    theirs = len(put & parse(said).stem_set) >= OWN * len(put)
    names = (part for name in parse(text).names for part in parse(name).words)
    invented = any(part.casefold() not in around for part in names)
    numbers = parse(f"{text}\n{searches}").numbers <= parse(said).numbers
    address = _ADDRESS.search(f"{text}\n{searches}") is not None and not _ADDRESS.search(said)
    fits = (
        kept and theirs and numbers and not (invented or address or find_prompt_injection(searches))
    )
    if questions and not fits:
        return None
    given = found["questions"] if found and questions else ()
    unread = [
        f"the {part} that the model gave of the question cannot be read"
        for entry, question in zip(given, questions, strict=True)
        for part in ("limits", "query")
        if entry.get(part) and getattr(question, part) is None
    ]
    return questions, tuple(unread)


def _without_nothing(value: Any) -> Any:
    """``value`` without null and empty entries."""
    nothing: tuple[object, ...] = (None, "", [], {})
    if isinstance(value, dict):
        kept = {key: _without_nothing(part) for key, part in value.items()}
        return {key: part for key, part in kept.items() if part not in nothing}
    if isinstance(value, list):
        return [part for part in map(_without_nothing, value) if part not in nothing]
    return value


def apply_model_plan(
    kb: KnowledgeBase, analysis: Analysis, asked: PlannedQuestion, vocabulary: Vocabulary
) -> tuple[Analysis, Planned]:
    """The analysis with the model's limits and query in place of the patterns'."""
    failures: list[str] = []
    if asked.limits is not None:
        limits, unknown = limits_in(asked.limits, vocabulary)
        failures += [f"nothing here is called “{one}”, so it limits nothing" for one in unknown]
        analysis = _within(analysis, limits)
    query = None
    if asked.query is not None:
        try:
            query = _query(kb, analysis, asked.query, vocabulary)
            analysis = replace(analysis, type=TYPES[query.form])
        except RequestError as error:
            failures.append(f"the catalogue could not be asked, passages were searched: {error}")
    own = asked.question if asked.search and asked.search != asked.question else ""
    analysis = replace(analysis, own_words=own)
    return analysis, Planned(query=query, failures=tuple(failures))


def _query(
    kb: KnowledgeBase, analysis: Analysis, request: CatalogueRequest, vocabulary: Vocabulary
) -> CatalogueQuery:
    """The query within the limits of the question; every name of it is there."""
    limits, unknown = limits_in(request.where, vocabulary)
    if unknown:
        raise RequestError(f"nothing is called {', '.join(f'“{one}”' for one in unknown)}")
    query = query_of(kb, request)
    most = request.limit if "limit" in request.model_fields_set else None
    within = (analysis.filters, *(one.filters for one in (*analysis.constraints, *limits)))
    return replace(query, where=tuple(dict.fromkeys(within)), limit=most)


def _within(analysis: Analysis, limits: Sequence[Constraint]) -> Analysis:
    """The analysis within ``limits``; where the patterns found one too, its words say nothing."""
    there = {one.filters: one for one in analysis.constraints}
    kept = [there.get(one.filters, one) for one in limits]
    if all(one in kept for one in analysis.constraints):
        return replace(analysis, constraints=tuple(kept))
    subject = remove_spans(analysis.question, [one.span for one in kept])
    return replace(analysis, constraints=tuple(kept), subject=subject, terms=parse(subject).terms)


def limits_in(where: WhereBody, vocabulary: Vocabulary) -> tuple[list[Constraint], list[str]]:
    """The model's limits that the knowledge base knows, one by one, and the unknown ones."""
    unknown: list[str] = []

    def named(values: Iterable[str], names: KeyLookup[tuple[Any, ...]]) -> tuple[Any, ...]:
        meant = {value: names.get(key_of(value), ()) for value in values}
        unknown.extend(value for value, those in meant.items() if not those)
        return tuple(dict.fromkeys(chain(*meant.values())))

    def held(values: Iterable[str], known: Iterable[str]) -> tuple[Any, ...]:
        return named(values, {key_of(name): (name,) for name in known})

    since, until = window_of(
        where.from_ or None,
        where.to or None,
        hint="swap where.from and where.to",
        empty="where: the time ends before it begins",
    )
    filters: list[tuple[ConstraintKind, Filters]] = [
        ("collection", Filters(collections=held(where.topics, vocabulary.collections))),
        ("kind", Filters(kinds=held(where.kinds, vocabulary.kinds))),
        ("source_type", Filters(source_types=held(where.source_types, vocabulary.source_types))),
        ("language", Filters(languages=held(where.languages, vocabulary.languages))),
        ("author", Filters(authors=named(where.authors, vocabulary.authors))),
        ("speaker", Filters(speakers=named(where.speakers, vocabulary.speakers))),
        ("time", Filters(published_from=since, published_to=until)),
    ]
    for dimension, values in where.fields.items():
        pairs = [pair for pair in named(values, vocabulary.taxonomy) if pair[0] == dimension]
        unknown += [] if pairs else [dimension]
        filters.append(("taxonomy", Filters(taxonomy=tuple(pairs))))
    limits = [
        Constraint(kind=kind, span=NOWHERE, value=_said(limit), filters=limit)
        for kind, limit in filters
        if limit != Filters()
    ]
    return limits, unknown


def _said(limit: Filters) -> str:
    """A limit in words: its values or its dates."""
    if limit.published_from or limit.published_to:
        days = (limit.published_from, limit.published_to)
        return " to ".join(f"{day:%Y-%m-%d}" if day else "…" for day in days)
    names = (*limit.collections, *limit.kinds, *limit.source_types, *limit.languages)
    pairs = (f"{dimension}: {value}" for dimension, value in limit.taxonomy)
    return ", ".join((*names, *limit.authors, *limit.speakers, *pairs))
