"""Lets a language model read a difficult question, in one call before the search.

It is called for a follow-up, for several questions in one, for a question that names something in
the catalogue or may be answered from it, and for a question in another language than the material.
The model replies with the questions in words that stand alone, their limits and, for the catalogue,
a query. The reply replaces the reading by patterns. Names that are unknown to the knowledge base
are dropped with a note. If the call fails, the reading by patterns is used.

The model sees no source text, only names from the knowledge base, and cannot add any to a question:
the words of a question come from the conversation (decision 076).
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
from wellread.ask.plan import ModelPlan, analyse_within, read_query
from wellread.ask.understand.analyse import names_kinds
from wellread.ask.understand.conversation import SessionQuestion
from wellread.ask.understand.mentions import people_in
from wellread.ask.understand.planted_orders import find_prompt_injection
from wellread.ask.understand.question_parts import MAX_QUESTIONS, remove_spans, split_questions
from wellread.ask.understand.rewrite import MAX_CHARS, Turn, known_names
from wellread.ask.understand.vocabulary import KeyLookup, Vocabulary, decode_pairs
from wellread.ask.write.drafting import usage_of
from wellread.ask.write.parse_draft import load_object
from wellread.errors import ModelError, ModelTimeoutError, RequestError, SettingsError
from wellread.kb import KnowledgeBase
from wellread.models.base import ModelUsage, Prompt, complete_reply
from wellread.models.prompts import fence_of, fenced, template
from wellread.store.catalogue.documents.name_records import VALUE
from wellread.text.english import STOP_WORDS
from wellread.text.languages import ENGLISH, UNNAMED, document_language
from wellread.text.parsed import parse
from wellread.text.periods import window_of
from wellread.text.tokens import key_of
from wellread.types import Filters, Span
from wellread.values.answers import Usage
from wellread.values.calls import PLAN
from wellread.values.question import Analysis, Constraint, ConstraintKind, QuestionType

logger = logging.getLogger(__name__)

MAX_SECONDS = 15.0  # for the call; patterns take milliseconds
BY_PATTERNS = "the question was read by patterns"
# Question types answered from the catalogue; patterns often misread unusual wordings of them.
CATALOGUE_TYPES: frozenset[QuestionType] = frozenset(
    {"counting", "gap_finding", "meta", "trend", "relational", "exploratory"}
)
TYPE_OF_FORM: Mapping[Form, QuestionType] = {
    "count": "counting",
    "list": "counting",
    "exists": "gap_finding",
    "missing": "gap_finding",
    "coverage": "meta",
    "trend": "trend",
    "walk": "relational",
    "path": "relational",
}
MIN_ENGLISH = 0.2  # of function words; a question with fewer is not English
MIN_KEPT_SHARE = 0.5  # of the words of the question, in the questions of a plan
MIN_KNOWN_SHARE = 0.8  # of the words that a plan adds, in the conversation
MAX_SCANNED_CHARS, MAX_ITEMS = 500, 12  # per earlier answer: searched for names; shown
MAX_NAMES, MAX_VALUES, MAX_NAME_CHARS = 40, 60, 80  # shown to the model, per kind
NO_SPAN = Span(start=0, end=0)
_ADDRESS = re.compile(r"\w+://|\bwww\.|\bCALL\s*:", re.IGNORECASE)


class PlannedQuestion(RequestPart):
    """One question as the model understood it."""

    question: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_CHARS)
    ]
    search: Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_CHARS)] = ""
    limits: WhereBody | None = WhereBody()
    query: CatalogueRequest | None = None

    @field_validator("limits", "query", mode="wrap")
    @classmethod
    def _none_if_unreadable(cls, value: object, parse: ValidatorFunctionWrapHandler) -> object:
        """The limits or the query; None if unreadable, so that the question itself is kept."""
        try:
            return parse(value)
        except ValidationError:
            return None


class PlanReply(RequestPart):
    """The model's reply; no questions if it could not read the question."""

    questions: Annotated[tuple[PlannedQuestion, ...], Field(max_length=MAX_QUESTIONS)] = ()


SCHEMA: Mapping[str, object] = PlanReply.model_json_schema()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A question with the model's reading of it."""

    turn: SessionQuestion
    questions: tuple[PlannedQuestion, ...] = ()
    model_called: bool = False


async def read_turn(kb: KnowledgeBase, turn: SessionQuestion, vocabulary: Vocabulary) -> Reading:
    """Let a model read the question of ``turn`` if worthwhile; model errors are not raised."""
    if not await to_thread.run_sync(_is_worth_it, kb, turn, vocabulary):
        return Reading(turn=turn)
    usage, reply, name = Usage(), "", ""
    try:
        money_error = await to_thread.run_sync(kb.ledger.short_of_money)
        if money_error:
            raise ModelError(money_error)
        model = await to_thread.run_sync(kb.models.recorded, "model", PLAN)
        if model is None:
            return Reading(turn=turn)
        name = model.identity
        earlier_turns = [_without_answer_text(earlier, vocabulary) for earlier in turn.earlier]
        prompt = await to_thread.run_sync(plan_prompt, kb, turn.asked, earlier_turns, vocabulary)
        seconds = min(MAX_SECONDS, kb.settings.generation.timeout)
        try:
            with anyio.fail_after(seconds):
                reply, spent = await complete_reply(model, prompt)
        except TimeoutError as error:
            raise ModelTimeoutError(f"{name} took longer than {seconds:g} s") from error
        usage = usage_of(spent)
        plan = read_plan(reply, turn.asked, earlier_turns)
        if plan is None:
            raise ModelError(f"{name} gave no usable reading of the question")
    except (ModelError, SettingsError) as error:
        logger.warning("%s: %s", BY_PATTERNS, error)
        cost = error.cost if isinstance(error, ModelError) else 0.0
        usage += usage_of(ModelUsage(model=name, cost=cost))
        failures = (*turn.failures, f"{BY_PATTERNS}: {error.args[0]}")
        turn = replace(turn, usage=turn.usage + usage, failures=failures)
        return Reading(turn=turn, model_called=bool(name))
    questions, unread = plan
    turn = replace(turn, usage=turn.usage + usage, failures=(*turn.failures, *unread))
    return _reading(turn, questions, name)


def _is_worth_it(kb: KnowledgeBase, turn: SessionQuestion, vocabulary: Vocabulary) -> bool:
    """Whether to ask a model: always, except for a plain first question about texts."""
    text = turn.question.text
    if not turn.question.models or "model" not in kb.models.names() or len(text) > MAX_CHARS:
        return False
    several = text.count("?") > 1 or len(split_questions(text)) > 1
    if turn.earlier or several or is_foreign(text, vocabulary):
        return True
    # A question that names nothing in the catalogue is about texts.
    analysis = analyse_within(kb, turn.question, vocabulary)
    names_something = analysis.constraints or analysis.entities or people_in(text, vocabulary)
    about_base = analysis.type in CATALOGUE_TYPES or names_kinds(text, vocabulary)
    return bool(names_something) or about_base or read_query(kb, analysis) is not None


def is_foreign(text: str, vocabulary: Vocabulary) -> bool:
    """Whether ``text`` is in another language than the material, by its share of function words."""
    words = [token.plain for token in parse(text).tokens if token.plain.isalpha()]
    share = sum(word in STOP_WORDS for word in words) / (len(words) or 1)
    asks = text.rstrip().endswith("?") or not text.isascii()
    languages = vocabulary.languages
    others = languages - UNNAMED
    if others and document_language(text) in others:
        return False
    english = not languages or any(code.startswith("en") for code in languages)
    return english == (share < MIN_ENGLISH) and asks


def _reading(turn: SessionQuestion, questions: tuple[PlannedQuestion, ...], name: str) -> Reading:
    """Use the model's questions; a first question with a single part keeps its own wording."""
    if not questions:
        return Reading(turn=turn, model_called=True)
    if not turn.earlier:
        first, *others = questions
        plan = first if others else first.model_copy(update={"question": turn.question.text})
        return Reading(turn=turn, questions=(plan, *others), model_called=True)
    text = " ".join(question.question for question in questions)
    is_unchanged = text == " ".join(turn.asked.split())
    turn = replace(
        turn,
        question=replace(turn.question, text=turn.asked if is_unchanged else text),
        reasons=() if is_unchanged else (f"read by {name}",),
        context="",
    )
    return Reading(turn=turn, questions=questions, model_called=True)


# --- the prompt -----------------------------------------------------------------


def _without_answer_text(turn: Turn, vocabulary: Vocabulary) -> Turn:
    """The turn with the names in its answer instead of the answer's text."""
    names = dict.fromkeys([*turn.names, *known_names(turn.answer[:MAX_SCANNED_CHARS], vocabulary)])
    return replace(turn, answer="", names=tuple(names))


def plan_prompt(
    kb: KnowledgeBase, question: str, earlier: Sequence[Turn], vocabulary: Vocabulary
) -> Prompt:
    """Build the planning prompt; the same input and knowledge base give the same prompt."""
    base = list(_known_values(kb, vocabulary))
    texts = [part for turn in earlier for part in (turn.question, *turn.names, *turn.items)]
    fence = fence_of("plan", question, *texts, *(value for _, value in base))

    def line(text: str) -> str:
        return " ".join(fenced(text, fence).split())

    turns = [
        {
            "question": line(turn.question),
            "names": line("; ".join(turn.names[:MAX_ITEMS])),
            "shown": line("; ".join(turn.items[:MAX_ITEMS])),
        }
        for turn in earlier
        if turn.question
    ]
    user_template = template("plan.md", "wellread.ask.write")
    return Prompt(
        system=template("plan_system.md", "wellread.ask.write").render(
            fence=fence, most=MAX_QUESTIONS
        ),
        user=user_template.render(
            fence=fence,
            base=[(name, line(value)) for name, value in base],
            turns=turns,
            question=line(question),
            today=date.today().isoformat(),
        ),
        temperature=0.0,
        schema=SCHEMA,
    )


def _known_values(kb: KnowledgeBase, vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    """The names and values of the knowledge base that the prompt lists, limited in number."""
    scope, graph = vocabulary.collections, kb.catalogue.graph
    kinds = graph.relation_types(scope) if scope else ()
    values = kb.catalogue.names.first_keys(scope, VALUE, MAX_VALUES)
    by_key = kb.catalogue.names.look_up(scope, (VALUE,), values)
    pairs = decode_pairs(record.value for records in by_key.values() for record in records)
    counted = dict.fromkeys(noun.many for noun in nouns(vocabulary).values())
    first, last = vocabulary.published or ("", "")
    listed: list[tuple[str, Iterable[str]]] = [
        ("collections", vocabulary.collections),
        ("languages", sorted(vocabulary.languages) if vocabulary.languages != {ENGLISH} else ()),
        ("kinds", sorted(vocabulary.kinds)),
        ("source types", sorted(vocabulary.source_types)),
        ("of (what can be counted)", counted),
        ("types of entities", sorted(vocabulary.entity_types)),
        ("relations", [kind.type for kind in kinds if "←" not in kind.type]),
        ("by (what it divides by)", (*OTHER_PARTS, *sorted(vocabulary.dimensions))),
        *(
            (f"field {name}", [value for field, value in pairs if field == name])
            for name in sorted(vocabulary.dimensions)
        ),
        ("published", [f"{first} to {last}"] if first else ()),
    ]
    for name, words in listed:
        texts = [" ".join(word.split())[:MAX_NAME_CHARS] for word in words]
        rest = f"; and {len(texts) - MAX_NAMES} more" if len(texts) > MAX_NAMES else ""
        if texts:
            yield name[:MAX_NAME_CHARS], "; ".join(texts[:MAX_NAMES]) + rest


# --- the reply ----------------------------------------------------------------------------


def read_plan(
    reply: str, question_text: str, earlier: Sequence[Turn]
) -> tuple[tuple[PlannedQuestion, ...], tuple[str, ...]] | None:
    """The questions in a model's reply, and notes on their unreadable parts.

    None if the reply is no reading of ``question_text``: a reading keeps most of its words, and all
    names and numbers and nearly all words that it adds are from the conversation.
    """
    reply_fields, broken = load_object(reply)
    reply_fields = _without_empty(reply_fields)
    try:
        plan = PlanReply.model_validate(None if broken else reply_fields)
    except ValidationError:
        return None
    questions = plan.questions
    turns = ["\n".join((turn.question, *turn.names, *turn.items)) for turn in earlier]
    context = "\n".join([question_text, *turns])
    text = "\n".join(question.question for question in questions)
    searches = "\n".join(question.search for question in questions)
    asked_stems, plan_stems = parse(question_text).stem_set, parse(text).stem_set
    added, folded = plan_stems - asked_stems, context.casefold()
    keeps_words = len(asked_stems & plan_stems) >= MIN_KEPT_SHARE * len(asked_stems)
    adds_known = len(added & parse(context).stem_set) >= MIN_KNOWN_SHARE * len(added)
    names = (part for name in parse(text).names for part in parse(name).words)
    invents = any(part.casefold() not in folded for part in names)
    numbers = parse(f"{text}\n{searches}").numbers <= parse(context).numbers
    address = _ADDRESS.search(f"{text}\n{searches}") and not _ADDRESS.search(context)
    invents = bool(invents or address or find_prompt_injection(searches))
    if questions and not (keeps_words and adds_known and numbers and not invents):
        return None
    entries = reply_fields["questions"] if reply_fields and questions else ()
    unread = [
        f"the {part} that the model gave of the question cannot be read"
        for entry, question in zip(entries, questions, strict=True)
        for part in ("limits", "query")
        if entry.get(part) and getattr(question, part) is None
    ]
    return questions, tuple(unread)


def _without_empty(value: Any) -> Any:
    """``value`` without null and empty entries."""
    empty: tuple[object, ...] = (None, "", [], {})
    if isinstance(value, dict):
        cleaned = {key: _without_empty(part) for key, part in value.items()}
        return {key: part for key, part in cleaned.items() if part not in empty}
    if isinstance(value, list):
        return [part for part in map(_without_empty, value) if part not in empty]
    return value


def apply_model_plan(
    kb: KnowledgeBase, analysis: Analysis, planned: PlannedQuestion, vocabulary: Vocabulary
) -> tuple[Analysis, ModelPlan]:
    """The analysis with the model's limits, and the model's query, instead of the patterns'."""
    failures: list[str] = []
    if planned.limits is not None:
        limits, unknown = limits_in(planned.limits, vocabulary)
        failures += [f"nothing here is called “{name}”, so it limits nothing" for name in unknown]
        analysis = _within(analysis, limits)
    query = None
    if planned.query is not None:
        try:
            query = _query(kb, analysis, planned.query, vocabulary)
            analysis = replace(analysis, type=TYPE_OF_FORM[query.form])
        except RequestError as error:
            failures.append(f"the catalogue could not be asked, passages were searched: {error}")
    own_words = planned.question if planned.search and planned.search != planned.question else ""
    analysis = replace(analysis, own_words=own_words)
    return analysis, ModelPlan(query=query, failures=tuple(failures))


def _query(
    kb: KnowledgeBase, analysis: Analysis, request: CatalogueRequest, vocabulary: Vocabulary
) -> CatalogueQuery:
    """The requested query within the limits of the question; unknown names are refused."""
    limits, unknown = limits_in(request.where, vocabulary)
    if unknown:
        raise RequestError(f"nothing is called {', '.join(f'“{name}”' for name in unknown)}")
    query = query_of(kb, request)
    limit = request.limit if "limit" in request.model_fields_set else None
    constraints = (*analysis.constraints, *limits)
    filters = dict.fromkeys((analysis.filters, *(constraint.filters for constraint in constraints)))
    return replace(query, where=tuple(filters), limit=limit)


def _within(analysis: Analysis, limits: Sequence[Constraint]) -> Analysis:
    """The analysis with ``limits``; words of a limit that the patterns found leave the subject."""
    by_filters = {constraint.filters: constraint for constraint in analysis.constraints}
    constraints = [by_filters.get(limit.filters, limit) for limit in limits]
    if all(constraint in constraints for constraint in analysis.constraints):
        return replace(analysis, constraints=tuple(constraints))
    subject = remove_spans(analysis.question, [constraint.span for constraint in constraints])
    analysis = replace(analysis, subject=subject, terms=parse(subject).terms)
    return replace(analysis, constraints=tuple(constraints))


def limits_in(where: WhereBody, vocabulary: Vocabulary) -> tuple[list[Constraint], list[str]]:
    """The limits that the knowledge base knows, one by one, and the unknown values."""
    unknown: list[str] = []

    def matching(values: Iterable[str], names: KeyLookup[tuple[Any, ...]]) -> tuple[Any, ...]:
        matches = {value: names.get(key_of(value), ()) for value in values}
        unknown.extend(value for value, names_meant in matches.items() if not names_meant)
        return tuple(dict.fromkeys(chain(*matches.values())))

    def listed(values: Iterable[str], spellings: Iterable[str]) -> tuple[Any, ...]:
        return matching(values, {key_of(name): (name,) for name in spellings})

    since, until = window_of(
        where.from_ or None,
        where.to or None,
        hint="swap where.from and where.to",
        empty="where: the time ends before it begins",
    )
    filters: list[tuple[ConstraintKind, Filters]] = [
        ("collection", Filters(collections=listed(where.topics, vocabulary.collections))),
        ("kind", Filters(kinds=listed(where.kinds, vocabulary.kinds))),
        ("source_type", Filters(source_types=listed(where.source_types, vocabulary.source_types))),
        ("language", Filters(languages=listed(where.languages, vocabulary.languages))),
        ("author", Filters(authors=matching(where.authors, vocabulary.authors))),
        ("speaker", Filters(speakers=matching(where.speakers, vocabulary.speakers))),
        ("time", Filters(published_from=since, published_to=until)),
    ]
    for dimension, values in where.fields.items():
        pairs = [pair for pair in matching(values, vocabulary.taxonomy) if pair[0] == dimension]
        unknown += [] if pairs else [dimension]
        filters.append(("taxonomy", Filters(taxonomy=tuple(pairs))))
    limits = [
        Constraint(kind=kind, span=NO_SPAN, value=_in_words(limit), filters=limit)
        for kind, limit in filters
        if limit != Filters()
    ]
    return limits, unknown


def _in_words(limit: Filters) -> str:
    """The description of a limit: its values or its dates."""
    if limit.published_from or limit.published_to:
        days = (limit.published_from, limit.published_to)
        return " to ".join(f"{day:%Y-%m-%d}" if day else "…" for day in days)
    names = (*limit.collections, *limit.kinds, *limit.source_types, *limit.languages)
    pairs = (f"{dimension}: {value}" for dimension, value in limit.taxonomy)
    return ", ".join((*names, *limit.authors, *limit.speakers, *pairs))
