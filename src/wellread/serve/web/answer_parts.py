"""Prepares template values that several pages share: answers, earlier turns, filter choices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, NamedTuple

from markupsafe import Markup

from wellread.errors import WellreadError
from wellread.identity import sentence_hash, words_hash
from wellread.kb import KnowledgeBase
from wellread.learning.feedback_giving import feedback_of
from wellread.serve.features.answering import past_question_status, similar_past_questions
from wellread.serve.views import view_url
from wellread.serve.web.document_layout import original_pdf
from wellread.store.schema.stored_values import BetterCitation, SentenceRating
from wellread.types import KINDS, Kind
from wellread.values.answer_blocks import SentencePart, html_parts, top_level
from wellread.values.answers import (
    BEFORE,
    CATALOGUE,
    EXTRACTIVE,
    LIMITED_PREFIX,
    NOBODY,
    Answer,
    Citation,
    VerdictName,
)

MAX_TURNS = 50
MAX_CHOICES = 300


class LimitChoices(NamedTuple):
    """The filter values that forms offer."""

    collections: tuple[str, ...]
    kinds: tuple[Kind, ...]
    speakers: tuple[str, ...]
    source_types: tuple[str, ...]
    languages: tuple[str, ...]

    @property
    def spans(self) -> Sequence[tuple[str, str]]:
        """Named periods that a form offers at one press, as they are written in its fields."""
        today = datetime.now(UTC).date()
        last = today.replace(day=1) - timedelta(days=1)
        months = ("This month", f"{today:%Y-%m}"), ("Last month", f"{last:%Y-%m}")
        return (*months, ("This year", f"{today:%Y}"), ("Last year", f"{today.year - 1}"))


def limit_choices(kb: KnowledgeBase) -> LimitChoices:
    """The filter values of all collections together."""
    entries = kb.catalogue.vocabulary.of(())
    kinds = {kind for entry in entries for kind in entry.kinds}
    return LimitChoices(
        collections=tuple(entry.collection for entry in entries),
        kinds=tuple(kind for kind in KINDS if kind in kinds),
        speakers=_sorted(name for entry in entries for name in entry.speakers),
        source_types=_sorted(name for entry in entries for name in entry.source_types),
        languages=_sorted(name for entry in entries for name in entry.languages),
    )


def earlier_turns(
    kb: KnowledgeBase, session_id: str, *, before: str = ""
) -> Sequence[dict[str, Any]]:
    """The answers of a conversation, oldest first, up to the answer ``before`` (exclusive)."""
    if not session_id:
        return ()
    turns = kb.catalogue.sessions.turns(session_id, kb.asker.owner, MAX_TURNS)
    ids = [turn.id for turn in turns]
    shown = turns[: ids.index(before)] if before in ids else turns
    return [answer_values(kb, turn, stale=False) for turn in shown]


def answer_values(kb: KnowledgeBase, answer: Answer, *, stale: bool) -> dict[str, Any]:
    """The values for ``parts/answer.html``."""
    facts = kb.catalogue.facts({citation.document_id for citation in answer.citations})
    said = _words(answer.text)
    first = {cited.document_id: cited.id for cited in reversed(answer.citations)}
    return {
        "answer": answer,
        "blocks": answer_blocks(answer),
        "sure": sureness(answer),
        "places": {cited.id: citation_address(answer, cited) for cited in answer.citations},
        "sources": [
            list(cited)
            for _, cited in groupby(
                sorted(answer.citations, key=lambda cited: (first[cited.document_id], cited.id)),
                key=lambda cited: cited.document_id,
            )
        ],
        "has_page_images": lambda document_id: (
            document_id in facts and original_pdf(kb, facts[document_id]) is not None
        ),
        "repeated": {cited.id for cited in answer.citations if _words(cited.quote) in said},
        "gone": {
            cited.id
            for cited in answer.citations
            if cited.document_id not in facts or facts[cited.document_id].version != cited.version
        },
        "stale": stale,
        "similar": (),
        "not_looked_up": "",
    }


def answer_page_values(kb: KnowledgeBase, answer: Answer, *, stale: bool) -> dict[str, Any]:
    """``answer_values`` with similar past questions and the asker's feedback on the answer.

    Without an embedder the answer is still shown, with the reason why similar ones are missing.
    """
    values = answer_values(kb, answer, stale=stale) | _feedback_values(kb, answer)
    try:
        similar = similar_past_questions(kb, answer)
    except WellreadError as error:
        return values | {"not_looked_up": str(error)}
    return values | {"similar": [(past, past_question_status(past)) for past in similar]}


def citation_address(answer: Answer, citation: Citation) -> str:
    """The address of the source at the citation, with the answer's other citations marked."""
    address = view_url(citation.document_id, citation.version, citation.source_span)
    page, _, fragment = address.partition("#")
    return f"{page}&answer={answer.id}&citation={citation.id}#{fragment}"


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()


# --- the text of an answer, and how sure it is ---------------------------------------------------


class Block(NamedTuple):
    """A stretch of an answer; an extract, which pages show as a card, has its citations."""

    parts: Sequence[Markup | SentencePart]
    citations: Sequence[Citation] = ()


def answer_blocks(answer: Answer) -> list[Block]:
    """The answer's text: in one block, or extract by extract when no model wrote it."""
    parts = html_parts(answer)
    if answer.answered_by != EXTRACTIVE:
        return [Block(parts)]
    blocks: list[Block] = []
    waiting: list[Markup | SentencePart] = []  # headings, and sentences whose citation follows
    limited = answer.text.startswith(LIMITED_PREFIX.strip())
    for paragraph in top_level(parts):
        sentences = [part for part in paragraph if isinstance(part, SentencePart)]
        cited = {cite.id: cite for part in sentences if part.last for cite in part.citations}
        is_lead = limited and not blocks and not sentences
        is_heading = not sentences and str(paragraph[0]).startswith("<h")
        if cited:
            blocks.append(Block([*waiting, *paragraph], tuple(cited.values())))
            waiting = []
        elif is_lead or is_heading or not any(part.sentence.citations for part in sentences or ()):
            loose = is_lead or is_heading or bool(sentences)
            blocks += [Block([*waiting, *paragraph])] if loose else []
            waiting = [] if loose else [*waiting, *paragraph]
        else:
            waiting += paragraph
    return [*blocks, Block(waiting)] if waiting else blocks


class Sureness(NamedTuple):
    """How sure an answer is, in words: a word, the reason, and what was checked."""

    word: str
    reason: str
    checks: str


_SURE = {"high": "Sure.", "medium": "Fairly sure.", "low": "Not sure.", "none": "Not sure."}
_SAYING = {
    "high": ("says this directly", "say this directly"),
    "medium": ("probably answers this", "probably answer this"),
}
_NEAR = ("is about this but may not answer it", "are about this but may not answer it")
_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
_TROUBLE = {
    VerdictName.PARTIAL: ("is only partly borne out", "are only partly borne out"),
    VerdictName.UNSUPPORTED: ("is not borne out", "are not borne out"),
    VerdictName.UNCITED: ("has no source", "have no source"),
    VerdictName.NOT_CHECKED: ("was not checked", "were not checked"),
}


def sureness(answer: Answer) -> Sureness:
    """How sure the answer is in plain words, from its confidence, verdicts and sources."""
    stated = [one.verdict for one in answer.sentences if not one.verdict.states_nothing]
    found = Counter(verdict.name for verdict in stated)
    whole = sum(number for name, number in found.items() if name.whole)
    one = len(stated) == 1
    how = "borne out by its source" if one else "borne out by their sources"
    how = "quoted word for word" if whole == found[VerdictName.QUOTED] else how
    checks = f"{whole} of {len(stated)} {'sentence is' if one else 'sentences are'} {how}"
    checks = checks if whole else ""
    band = answer.confidence.band
    if answer.answered_by == NOBODY:
        return Sureness("No answer.", "Nothing in the material answers this.", "")
    if answer.answered_by == CATALOGUE:
        reason = "Counted over everything in the catalogue"
        reason += "" if band == "high" else "; the details say what may be missing"
        return Sureness(_SURE[band], f"{reason}.", "")
    sources = len({citation.document_id for citation in answer.citations})
    said = _SAYING.get(band, _NEAR)
    reasons = [f"{_counted(sources, 'source')} {said[sources != 1]}"]
    if answer.answered_by == BEFORE:
        reasons = ["An expert judged this answer before"]
    if answer.conflicts:
        reasons.append("the sources differ")
    reasons += [
        f"{_counted(found[name], 'sentence').lower()} {words[found[name] != 1]}"
        for name, words in _TROUBLE.items()
        if found[name]
    ]
    return Sureness(_SURE[band], "; ".join(reasons) + ".", checks)


def _counted(number: int, noun: str) -> str:
    word = _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"
    return f"{word} {noun}{'' if number == 1 else 's'}"


# --- feedback ------------------------------------------------------------------------------------


def _feedback_values(kb: KnowledgeBase, answer: Answer) -> dict[str, Any]:
    """The values for ``parts/feedback.html``."""
    feedback = feedback_of(kb, answer.id, kb.asker.owner)
    ratings = {rating.sentence: rating for rating in feedback.sentences} if feedback else {}
    rated = []
    for index, sentence in enumerate(answer.sentences):
        rating = ratings.get(index) or SentenceRating(
            sentence=index, content=sentence_hash(sentence.text)
        )
        words = _cited_words(kb, rating.citation)
        rated.append({"number": index + 1, "sentence": sentence, "rating": rating, "words": words})
    for_answer = list(feedback.citations) if feedback else []
    better = for_answer + [rating.citation for rating in ratings.values() if rating.citation]
    ids = [cited.document_id for cited in answer.citations]
    ids += [cited.document_id for cited in better]
    facts = kb.catalogue.facts(dict.fromkeys(ids))
    return {
        "given": feedback,
        "rated": rated,
        "documents": {name: facts[name].title for name in ids if name in facts},
        "whole_citation": for_answer[0] if for_answer else None,
        "whole_words": _cited_words(kb, for_answer[0] if for_answer else None),
    }


def _cited_words(kb: KnowledgeBase, cited: BetterCitation | None) -> str:
    document = kb.catalogue.document(cited.document_id) if cited else None
    if cited is None or document is None:
        return ""
    words = cited.span.of(document.text)
    return words if words_hash(words) == cited.content else ""


def _sorted(names: Any) -> tuple[str, ...]:
    return tuple(sorted(set(names), key=str.casefold))[:MAX_CHOICES]
