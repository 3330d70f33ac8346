"""The wording of what a language model is asked. The words stand in files beside this one.

The prompts of writer and judge begin with the same words, so that a server reads them once:
``system.md`` and ``evidence.md``. Behind them stand ``rules.md`` (``wording.yaml`` has one rule for
each type of question) and ``user.md``, or ``judge.md`` with the sentences of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from wellread.answers import Claim, Evidence
from wellread.ask.retrieve.reported_speech import text_of
from wellread.ask.write.prompts.guard import Guard
from wellread.ask.write.prompts.source_facts import SourceFacts
from wellread.identity import tagged_hash
from wellread.models.base import Prompt
from wellread.questions import Analysis
from wellread.text.words import visible

FENCE_CHARACTERS = 12
Facts = list[tuple[str, str]]
"""Names and values, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One passage as a template shows it; ``facts`` are name and value, in order."""

    key: str
    facts: tuple[tuple[str, str], ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A document as the evidence shows it, with its passages in reading order."""

    facts: tuple[tuple[str, str], ...]
    pieces: list[Piece]


LENGTH_WORDS = {
    "short": "in two or three sentences at most",
    "long": "at length, with every detail that the evidence has",
}


def build_prompt(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    *,
    similar_questions: str = "",
    about: SourceFacts | None = None,
) -> Prompt:
    """What the model is asked: the rules, and the evidence with the question.

    The same input gives the same prompt.

    Args:
        similar_questions: text about verified past answers, shown under its own heading.
        about: what is told of the sources beside their text.

    Raises:
        ValueError: there is no evidence; such a question is not for a model.
    """
    if not evidence:
        raise ValueError("a prompt without evidence would be answered from general knowledge")
    fence = _fence(analysis, evidence)
    block = _block(analysis, evidence, fence, about)
    asked = _template("user.md").render(fence=fence, question=_line(analysis.asked, fence))
    rules = _rules(analysis, fence, similar_questions)
    return Prompt(system=_system(fence), user=block + rules + asked, shared=len(block))


def judge_prompt(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    claims: Sequence[Claim],
    *,
    about: SourceFacts | None = None,
    schema: Mapping[str, object],
) -> Prompt:
    """What the judge of an answer's sentences is asked, numbered from 1.

    Args:
        schema: of the reply.
    """
    fence = _fence(analysis, evidence)
    block = _block(analysis, evidence, fence, about)
    known = {piece.key for piece in evidence}
    sentences = [
        {
            "number": number,
            "cites": "".join(f"[{key}] " for key in claim.keys if key in known),
            "text": _line(claim.text, fence),
            "lead": _line(claim.lead, fence),
        }
        for number, claim in enumerate(claims, 1)
    ]
    question = _line(analysis.asked, fence)
    task = _template("judge.md").render(fence=fence, question=question, sentences=sentences)
    return Prompt(
        system=_system(fence),
        user=block + task,
        shared=len(block),
        temperature=0.0,
        schema=schema,
    )


def guard_of(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    *,
    similar_questions: str = "",
    about: SourceFacts | None = None,
) -> Guard:
    """What keeps the reply to that prompt from repeating it, and harmless."""
    fence = _fence(analysis, evidence)
    said = [*_named(analysis), *said_in(evidence, about)]
    # What was asked and answered before may be said again, what experts noted is for the model.
    free = ("Q: ", "A: ", "Correction: ")
    asked = [line for line in similar_questions.split("\n") if line.startswith(free)]
    rules = f"{_system(fence)}\n{_rules(analysis, fence, similar_questions)}"
    return Guard(rules, fence, [analysis.asked, *asked, *said])


def _system(fence: str) -> str:
    return _template("system.md").render(fence=fence)


def _block(
    analysis: Analysis, evidence: Sequence[Evidence], fence: str, about: SourceFacts | None
) -> str:
    """The evidence, as the prompts of writer and judge begin with it."""
    by_document: dict[str, list[Evidence]] = {}
    for piece in evidence:  # those with the best pieces first
        by_document.setdefault(piece.hit.document.id, []).append(piece)
    documents = [
        Source(
            facts=_facts(of_document(pieces, about), fence),
            pieces=[_piece(one, of_place(one), fence) for one in _in_reading_order(pieces)],
        )
        for pieces in by_document.values()
    ]
    entities = [_line(line, fence) for line in _named(analysis)]
    return _template("evidence.md").render(fence=fence, documents=documents, entities=entities)


def _in_reading_order(pieces: Sequence[Evidence]) -> list[Evidence]:
    return sorted(pieces, key=lambda piece: piece.span.start)


def pieces_of(evidence: Sequence[Evidence], fence: str) -> list[Piece]:
    """The evidence piece by piece, without hidden characters and without the fence."""
    return [_piece(piece, facts_of(piece), fence) for piece in evidence]


def _piece(piece: Evidence, facts: Facts, fence: str) -> Piece:
    text = _safe(turn_by_turn(piece), fence).strip()
    return Piece(key=piece.key, facts=_facts(facts, fence), text=text)


def _facts(facts: Facts, fence: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (_line(name, fence), _line(value, fence)) for name, value in facts if value.strip()
    )


def said_in(evidence: Sequence[Evidence], about: SourceFacts | None = None) -> list[str]:
    """All words of sources that such pieces show."""
    return [
        value for piece in evidence for _, value in [*facts_of(piece, about), ("text", piece.text)]
    ]


@cache
def wordings() -> Mapping[str, str]:
    """The rule for each type of question."""
    text = files(__name__).joinpath("wording.yaml").read_text(encoding="utf-8")
    return {str(name): str(line) for name, line in yaml.safe_load(text).items()}


def _rules(analysis: Analysis, fence: str, similar_questions: str) -> str:
    return _template("rules.md").render(
        fence=fence,
        wording=wordings()[analysis.type],
        voices=[_line(name, fence) for name in analysis.voices],
        similar_questions=_safe(similar_questions, fence).strip(),
        length=LENGTH_WORDS.get(analysis.liking.length, ""),
        wish=_safe(analysis.liking.wish, fence).strip(),
    )


def facts_of(piece: Evidence, about: SourceFacts | None = None) -> Facts:
    """What a prompt tells of a piece beside its text: name and value, in order."""
    return [*of_document([piece], about), *of_place(piece)]


def of_document(pieces: Sequence[Evidence], about: SourceFacts | None = None) -> Facts:
    """What is told once of the document that the pieces are from."""
    document = pieces[0].hit.document
    finer = document.source_type
    return [
        ("title", document.title),
        ("kind", f"{document.kind} ({finer})" if finer else document.kind),
        ("author", ", ".join(document.authors)),
        ("publisher", (urlsplit(document.url).hostname or "").removeprefix("www.")),
        ("date", document.published_at.date().isoformat() if document.published_at else ""),
        *(fact for piece in pieces for fact in (about or {}).get(piece.key, ())),
    ]


def of_place(piece: Evidence) -> Facts:
    """What is told of where a piece stands, and who speaks."""
    known = [turn.speaker for turn in piece.turns] or piece.hit.passage.speakers
    speakers = dict.fromkeys(known or filter(None, [piece.locator.speaker]))
    return [
        ("place", piece.locator.label),
        ("speakers" if len(speakers) > 1 else "speaker", ", ".join(speakers)),
    ]


def turn_by_turn(piece: Evidence) -> str:
    """The text; where several people speak, each turn is a line under its speaker's name."""
    if len({turn.speaker for turn in piece.turns}) < 2:
        return piece.text
    return "\n".join(
        f"{' '.join(turn.speaker.split())}: {' '.join(text_of(piece, turn.span).split())}"
        for turn in piece.turns
    )


def _named(analysis: Analysis) -> list[str]:
    """What each name in the question stands for: "BIP 340": Schnorr signatures (topic)."""
    lines = (
        f"“{entity.span.of(analysis.question)}”: {entity.title}"
        + (f" ({entity.type})" if entity.type else "")
        for entity in analysis.entities
    )
    return list(dict.fromkeys(lines))


def _fence(analysis: Analysis, evidence: Sequence[Evidence]) -> str:
    """What no source can know beforehand: a hash of the question and all evidence."""
    parts = [part for piece in evidence for part in (piece.key, piece.hit.document.id, piece.text)]
    digest = tagged_hash("fence", analysis.question, *parts)
    return digest.rpartition("_")[2][:FENCE_CHARACTERS]


def _safe(text: str, fence: str) -> str:
    """``text`` without hidden characters and without the fence, should it stand there after all."""
    return re.sub(re.escape(fence), "…", visible(text), flags=re.IGNORECASE)


def _line(text: str, fence: str) -> str:
    return " ".join(_safe(text, fence).split())


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=PackageLoader("wellread.ask.write", "prompts"),
        autoescape=False,  # noqa: S701 - the result is read by a model, not by a browser
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
