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


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One passage as a template shows it; ``facts`` are name and value, in order."""

    key: str
    facts: tuple[tuple[str, str], ...]
    text: str


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
    return _template("evidence.md").render(
        fence=fence,
        pieces=pieces_of(_as_read(evidence), fence, about),
        entities=[_line(line, fence) for line in _named(analysis)],
    )


def _as_read(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The evidence by document, those with the best pieces first, each in reading order."""
    found: dict[str, list[Evidence]] = {}
    for piece in evidence:
        found.setdefault(piece.hit.document.id, []).append(piece)
    return [
        piece
        for pieces in found.values()
        for piece in sorted(pieces, key=lambda one: one.span.start)
    ]


def pieces_of(
    evidence: Sequence[Evidence], fence: str, about: SourceFacts | None = None
) -> list[Piece]:
    """The evidence as a prompt shows it, without hidden characters and without the fence."""
    return [
        Piece(
            key=piece.key,
            facts=tuple(
                (_line(name, fence), _line(value, fence))
                for name, value in facts_of(piece, about)
                if value.strip()
            ),
            text=_safe(turn_by_turn(piece), fence).strip(),
        )
        for piece in evidence
    ]


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


def facts_of(piece: Evidence, about: SourceFacts | None = None) -> list[tuple[str, str]]:
    """What a prompt tells of a piece beside its text: name and value, in order."""
    document = piece.hit.document
    finer = document.source_type
    known = [turn.speaker for turn in piece.turns] or piece.hit.passage.speakers
    speakers = dict.fromkeys(known or filter(None, [piece.locator.speaker]))
    return [
        ("title", document.title),
        ("kind", f"{document.kind} ({finer})" if finer else document.kind),
        ("author", ", ".join(document.authors)),
        ("place", piece.locator.label),
        ("speakers" if len(speakers) > 1 else "speaker", ", ".join(speakers)),
        ("date", document.published_at.date().isoformat() if document.published_at else ""),
        *(about or {}).get(piece.key, ()),
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
