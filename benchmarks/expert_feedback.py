"""What experts' feedback does to answers: ExpertQA's revised answers, asked for again.

    python -m benchmarks.expert_feedback [--show]

Each of the 217 questions of ``rand_val`` has an answer that a model wrote, the texts that it
cites, an expert's judgement of each of its sentences and the answer as the expert revised it. The
texts are taken in as sources; so are the models' answers themselves, as web pages would be that
repeat them, so that a wrong sentence can be chosen at all. Then each answer is recorded as one that
was given, with the expert's judgement as feedback: the revised answer is the correction, on the
texts that its sentences cite; a sentence judged likely or definitely incorrect is flagged harmful.

Every question is asked again as it was, in another frame, and reworded (``sets/reworded.py``; no
model), with the default settings and no language model. Counted: whether the answer begins with the
first sentence of the expert's correction that can be given; and whether a flagged sentence comes
back, in the same words or nearly (nine of ten of its words in one sentence). Beside it: the same
before there was feedback, and with the flags alone (corrections switched off).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.homes import Item, by_url, filled, item_url, text_of, write_items
from benchmarks.paths import eval_data
from benchmarks.record import save
from benchmarks.sets.reworded import changed, framed, reworded
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.past_questions import corrections
from wellread.evaluation.scores import bootstrap
from wellread.identity import sentence_hash, tagged_hash, words_hash
from wellread.kb import KnowledgeBase
from wellread.store.schema.stored_values import BetterCitation, Feedback, SentenceRating
from wellread.text.sentences import sentence_spans
from wellread.types import DocumentFacts, Locator, Span
from wellread.values.answers import (
    BEFORE,
    Answer,
    Citation,
    Confidence,
    Question,
    Sentence,
    Verdict,
    VerdictName,
)

NAME = "expertqa"
LEAST = 80  # characters; shorter evidence is an address without the page's text
WRONG = ("Likely incorrect", "Definitely incorrect")
SCORES = {
    "Definitely correct": 100.0,
    "Probably correct": 75.0,
    "Unsure": 50.0,
    "Likely incorrect": 25.0,
    "Definitely incorrect": 0.0,
}
SETTINGS: dict[str, dict[str, Any]] = {"cache": {"answers": False}}
_MARKER = re.compile(r"\s*\[\d+\]")
_ADDRESS = re.compile(r"^\s*\[\d+\]\s*(?P<url>\S+)\s*")
_EMPHASIS = re.compile(r"\*\*|__")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence of a model's answer, as the expert judged and revised it."""

    text: str
    evidence: tuple[str, ...]
    judged: str | None
    revised: str
    revised_evidence: tuple[str, ...]

    @property
    def wrong(self) -> bool:
        """Whether the expert found it incorrect."""
        return self.judged in WRONG


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question with a model's answer and what the expert made of it."""

    number: int
    question: str
    expert: str
    claims: tuple[Claim, ...]
    revised: str

    @property
    def rests(self) -> bool:
        """Whether a text of a source came with it, and not addresses alone."""
        return any(claim.evidence or claim.revised_evidence for claim in self.claims)

    @property
    def said(self) -> str:
        """The model's answer."""
        return " ".join(claim.text for claim in self.claims)


def cases() -> list[Case]:
    """Every question of the file, in its order."""
    path = eval_data("expertqa", "rand_val.jsonl")
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        [judged] = row["answers"].values()
        found.append(
            Case(
                number=number,
                question=" ".join(row["question"].split()),
                expert=row["annotator_id"],
                claims=tuple(
                    Claim(
                        text=_plain(one["claim_string"]),
                        evidence=tuple(_texts(one["evidence"])),
                        judged=one["correctness"],
                        revised=_plain(one["revised_claim"] or ""),
                        revised_evidence=tuple(_texts([one["revised_evidence"] or ""])),
                    )
                    for one in judged["claims"]
                ),
                revised=_plain(judged["revised_answer_string"] or ""),
            )
        )
    return found


def _plain(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return _EMPHASIS.sub("", _MARKER.sub("", " ".join(filter(None, lines)))).strip()


def _texts(evidence: Sequence[str]) -> Iterator[str]:
    """The texts that came with the evidence; an address alone is none."""
    for each in evidence:
        for one in re.split(r"\n(?=\[\d+\]\s)", each):
            text = _ADDRESS.sub("", one).strip()
            if len(text) >= LEAST:
                yield text


def material(every: Sequence[Case]) -> Any:
    """What writes the sources into a folder: the evidence, and the models' answers as pages."""

    def write(folder: Path) -> None:
        texts = dict.fromkeys(
            text
            for case in every
            for claim in case.claims
            for text in (*claim.evidence, *claim.revised_evidence)
        )
        write_items(folder / "evidence.jsonl", NAME, (Item(key=text, text=text) for text in texts))
        pages = (
            Item(key=f"said-{case.number}", text=case.said, title=case.question[:80])
            for case in every
        )
        write_items(folder / "pages.jsonl", NAME, pages)

    return write


# --- giving the feedback ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Given:
    """The sources by address, and their texts, to cite from."""

    kb: KnowledgeBase
    documents: dict[str, DocumentFacts]

    def place(self, text: str) -> BetterCitation:
        """The whole of an evidence text as a place."""
        document = self.documents[item_url(NAME, text)]
        stored = text_of(self.kb, document)
        return BetterCitation(
            document_id=document.id,
            version=document.version,
            span=Span(start=0, end=len(stored)),
            content=words_hash(stored),
        )

    def citation(self, number: int, text: str, span: Span) -> Citation:
        """A citation of the whole of an evidence text."""
        document = self.documents[item_url(NAME, text)]
        stored = text_of(self.kb, document)
        return Citation(
            id=number,
            document_id=document.id,
            version=document.version,
            title=document.title,
            url=document.url,
            link=document.url,
            kind=document.kind,
            source_type="",
            published_at=None,
            relevance=1.0,
            locator=Locator(label=""),
            quote=stored,
            answer_span=span,
            source_span=Span(start=0, end=len(stored)),
            verdict=VerdictName.NOT_CHECKED,
        )


def give(kb: KnowledgeBase, every: Sequence[Case]) -> None:
    """Record each answer and the expert's word on it."""
    given = Given(kb, by_url(kb))
    for old in kb.catalogue.feedback.list_all():
        kb.catalogue.feedback.remove(old.id)
    for case in every:
        told = _answer(given, case)
        kb.catalogue.record_answer(told)
        kb.catalogue.feedback.put(_feedback(given, case, told))


def _answer(given: Given, case: Case) -> Answer:
    text = ""
    sentences: list[Sentence] = []
    citations: list[Citation] = []
    for claim in case.claims:
        text += " " if text else ""
        span = Span(start=len(text), end=len(text) + len(claim.text))
        text += claim.text
        numbers = []
        for cited in claim.evidence:
            citations.append(given.citation(len(citations) + 1, cited, span))
            numbers.append(len(citations))
            text += f" [{numbers[-1]}]"
        verdict = Verdict(name=VerdictName.NOT_CHECKED, method="", score=0.0)
        sentences.append(
            Sentence(text=claim.text, span=span, verdict=verdict, citations=tuple(numbers))
        )
    return Answer(
        id=tagged_hash("ans", "expertqa", case.number),
        question=case.question,
        text=text,
        citations=tuple(citations),
        sentences=tuple(sentences),
        confidence=Confidence(score=0.5, band="medium", reasoning=""),
        answered_by="expertqa",
    )


def _feedback(given: Given, case: Case, told: Answer) -> Feedback:
    cited = dict.fromkeys(
        text for claim in case.claims for text in claim.revised_evidence or claim.evidence
    )
    now = datetime.now(UTC)
    return Feedback(
        id=tagged_hash("fbk", told.id, case.expert),
        answer_id=told.id,
        author=case.expert,
        question=case.question,
        created_at=now,
        updated_at=now,
        correction=case.revised,
        citations=tuple(given.place(text) for text in cited),
        sentences=tuple(
            SentenceRating(
                sentence=place,
                content=sentence_hash(claim.text),
                score=SCORES.get(claim.judged or ""),
                harmful=True if claim.wrong else None,
                correction="",
            )
            for place, claim in enumerate(case.claims)
        ),
    )


# --- asking again ----------------------------------------------------------------------------


def comes_back(case: Case, told: Answer) -> list[str]:
    """The wrong sentences that an answer says, word for word or nearly.

    The expert's own words do not count, unless they are a wrong sentence that was left as it was.
    """
    wrong = {sentence_hash(claim.text) for claim in case.claims if claim.wrong}
    own = {sentence_hash(span.of(case.revised)) for span in sentence_spans(case.revised)} - wrong
    texts = [one.text for one in told.sentences if sentence_hash(one.text) not in own]
    said = [_words(span.of(text)) for text in texts for span in sentence_spans(text)]
    whole = f" {' '.join(_words(' '.join(texts)))} "
    return [
        claim.text
        for claim in case.claims
        if claim.wrong
        and (
            f" {' '.join(_words(claim.text))} " in whole
            or any(_near(_words(claim.text), one) for one in said)
        )
    ]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", _MARKER.sub("", text).casefold())


def _near(wrong: list[str], said: list[str]) -> bool:
    one, other = Counter(wrong), Counter(said)
    return bool(wrong) and sum((one & other).values()) >= 0.9 * max(len(wrong), len(said))


def first_is_corrected(case: Case, told: Answer) -> bool:
    """Whether the answer begins with the expert's words."""
    if told.answered_by != BEFORE or not told.sentences:
        return False
    wrong = {sentence_hash(claim.text) for claim in case.claims if claim.wrong}
    expected = [span.of(case.revised) for span in sentence_spans(case.revised)]
    left = [each for each in expected if sentence_hash(each) not in wrong]
    return bool(left) and sentence_hash(told.sentences[0].text) == sentence_hash(left[0])


async def ask(kb: KnowledgeBase, text: str) -> Answer:
    """The answer, not recorded."""
    return await final(answer(kb, Question(text=text, recorded=False, fresh=True)))


WORDINGS: dict[str, Callable[[str, int], str]] = {
    "verbatim": lambda question, _: question,
    "framed": framed,
    "reworded": reworded,
}


async def asked_again(
    kb: KnowledgeBase, every: Sequence[Case], how: str, show: bool
) -> dict[str, Any]:
    """The figures of one way of asking."""
    wording = WORDINGS[how]
    first: list[float] = []
    back: list[float] = []
    lines = []
    for case in every:
        text = wording(case.question, case.number)
        told = await ask(kb, text)
        shown, wrong = first_is_corrected(case, told), comes_back(case, told)
        first.append(float(shown))
        if any(claim.wrong for claim in case.claims):
            back.append(float(bool(wrong)))
        if not shown or wrong:
            why = _why(case, told, same=bool(corrections(kb, text, ())))
            lines.append({"case": case.number, "asked": text, "why": why, "wrong": wrong})
            if show:
                print(json.dumps(lines[-1], ensure_ascii=False))
    return {
        "questions": len(first),
        "shown first": _share(first),
        "with a wrong sentence": len(back),
        "wrong comes back": _share(back),
        "shown first, of those that rest on a text": _share(
            [shown for shown, case in zip(first, every, strict=True) if case.rests]
        ),
        "why not": dict(Counter(line["why"] for line in lines)),
        "failures": lines,
    }


def _why(case: Case, told: Answer, *, same: bool) -> str:
    """Why the expert's words do not come first."""
    if told.answered_by == BEFORE:
        return "given, but not first"
    if not case.rests:
        return "no text to rest on"
    if not case.revised:
        return "the expert gave no correction"
    return "the same, but nothing could be said" if same else "not taken for the same"


def _share(values: Sequence[float]) -> str:
    if not values:
        return "–"
    found = bootstrap(values)
    return f"{sum(values):.0f} ({found})"


def main() -> None:
    """Print the figures, write ``results/expert_feedback.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--show", action="store_true", help="print each failure")
    options = parser.parse_args()
    every = cases()
    wrong = [case for case in every if any(claim.wrong for claim in case.claims)]
    figures: dict[str, Any] = {
        "questions": len(every),
        "wrong sentences": sum(claim.wrong for case in every for claim in case.claims),
        "no evidence text": sum(not case.rests for case in every),
        "synonym put in": sum(
            changed(case.question, reworded(case.question, case.number)) for case in every
        ),
    }
    with filled("expert-feedback", material(every), SETTINGS) as kb:
        for old in kb.catalogue.feedback.list_all():
            kb.catalogue.feedback.remove(old.id)
        figures["before"] = asyncio.run(asked_again(kb, wrong, "verbatim", False))
        give(kb, every)
        for how in ("verbatim", "framed", "reworded"):
            figures[how] = asyncio.run(asked_again(kb, every, how, options.show))
        off = {"corrections": False}
        kb.settings = kb.settings.model_copy(
            update={"features": kb.settings.features.model_copy(update=off)}
        )
        for how in ("verbatim", "reworded"):
            told = asyncio.run(asked_again(kb, wrong, how, False))
            figures[f"flags alone, {how}"] = told
    save("expert_feedback", figures)
    print(json.dumps(_short(figures), indent=1))


def table(figures: dict[str, Any]) -> list[str]:
    """The table: one row for each way of asking."""
    rows = [
        "| asked again | questions | correction first | of those that rest on a text "
        "| a wrong sentence comes back | of |",
        "|---|---|---|---|---|---|",
    ]
    for name in ("before", "verbatim", "framed", "reworded"):
        rows.append(_row(name, figures[name]))
    rows += [_row(name, figures[name]) for name in figures if name.startswith("flags alone")]
    reasons: Counter[str] = Counter()
    for name in ("verbatim", "framed", "reworded"):
        reasons.update({f"{name}: {why}": n for why, n in figures[name]["why not"].items()})
    rows += ["", "| why it is not first | questions |", "|---|---|"]
    rows += [f"| {why} | {number} |" for why, number in reasons.items()]
    return rows


def _row(name: str, told: dict[str, Any]) -> str:
    first = "–" if "alone" in name or name == "before" else told["shown first"]
    rests = "–" if first == "–" else told["shown first, of those that rest on a text"]
    back, of = told["wrong comes back"], told["with a wrong sentence"]
    return f"| {name} | {told['questions']} | {first} | {rests} | {back} | {of} |"


def _short(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {key: each for key, each in value.items() if key != "failures"}
        if isinstance(value, dict)
        else value
        for name, value in figures.items()
    }


if __name__ == "__main__":
    main()
