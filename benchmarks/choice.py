"""Which sentence comes first, and which questions the reader calls answered, by network.

    python -m benchmarks.choice                          # the network that ships
    python -m benchmarks.choice OTHER.onnx ANOTHER.onnx  # it beside others

Each network reads the same evidence; the sentences are scored as in an answer. Printed per set are
the share of questions whose first sentence is gold, and the area under the ROC curve of the best
run's log odds, of questions that are answered against those that are not.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path

from benchmarks.exam import QUESTIONS
from benchmarks.exam_marks import read_questions
from benchmarks.extractive import SETS, sample
from benchmarks.homes import filled, open_home
from wellread.answers import Evidence, Question
from wellread.ask.plan import find
from wellread.ask.retrieve.ranking import pack
from wellread.ask.retrieve.retrieval import Retrieval
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.ask.write.candidate_sentences import Option
from wellread.ask.write.extract import material_of
from wellread.ask.write.passage_reading import Chooser, for_reader, read_evidence
from wellread.ask.write.sentence_score import score
from wellread.evaluation.bootstrap import auroc
from wellread.kb import KnowledgeBase
from wellread.models.readers.lexical import LexicalReader
from wellread.models.readers.trained_model import TrainedModel
from wellread.models.readers.trained_reader import TrainedReader
from wellread.questions import Analysis
from wellread.types import Filters, Span

EXAM = "exam"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question with what was found for it.

    Attributes:
        gold: texts of which the answering sentence holds one.
        places: document and span of the gold.
        answered: whether the material answers it.
    """

    analysis: Analysis
    evidence: tuple[Evidence, ...]
    gold: tuple[str, ...] = ()
    places: tuple[tuple[str, Span], ...] = ()
    answered: bool = True

    def right(self, option: Option, evidence: Sequence[Evidence]) -> bool:
        """Whether a sentence is one that answers."""
        document = evidence[option.evidence].hit.document.id
        told = any(one.lower() in option.text.lower() for one in self.gold)
        return told or any(
            document == known and span.overlaps(option.span) for known, span in self.places
        )


def main() -> None:
    """Find once, read with each network, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("networks", type=Path, nargs="*")
    parser.add_argument("--sets", default="exam,sample,covid,clapnq,xquad,far")
    parser.add_argument("--limit", type=int, default=60, help="questions of a set and group")
    options = parser.parse_args()
    models = [TrainedModel(), *(TrainedModel(path) for path in options.networks)]
    print(f"{'':10}{'asked':>6}" + "".join(f"{one.path.stem[-16:]:>18}" for one in models))
    for name in options.sets.split(","):
        firsts: list[list[bool]] = [[] for _ in models]
        odds: list[list[float]] = [[] for _ in models]
        answered: list[bool] = []
        for kb, case in _cases(name, options.limit):
            lexical = LexicalReader(partial(getattr, kb, "embedder"))
            answered.append(case.answered)
            for at, model in enumerate(models):
                first, best = _read(case, TrainedReader(model), lexical)
                odds[at].append(best)
                if case.answered:
                    firsts[at].append(first)
        told = [
            f"{sum(one):12} {_area(of, answered):.3f}" for one, of in zip(firsts, odds, strict=True)
        ]
        print(f"{name:10}{len(firsts[0]):6}{''.join(told)}", flush=True)


def _area(odds: Sequence[float], answered: Sequence[bool]) -> float:
    found = auroc(odds, answered)
    return found.mean if found else float("nan")


def _read(case: Case, reader: TrainedReader, lexical: LexicalReader) -> tuple[bool, float]:
    readings = read_evidence(case.analysis, case.evidence, reader)
    chooser = Chooser(sentences=lexical, meaning=lexical, readings=readings)
    found = material_of(case.analysis, case.evidence)
    places = [
        at
        for at, one in enumerate(found.options)
        if one.readable and (one.evidence, one.place) in readings.sentences
    ]
    if not places:
        return False, readings.best
    best, *_ = score(case.analysis, found.evidence, found.options, found.features, places, chooser)
    return case.right(best.option, found.evidence), readings.best


def _cases(name: str, limit: int) -> Iterator[tuple[KnowledgeBase, Case]]:
    if name == EXAM:
        yield from _of_exam()
        return
    chosen = SETS[name]
    with filled(chosen.name, chosen.write) as kb:
        for one in sample(chosen.questions(kb), limit):
            case = _found(kb, one.text, one.filters)
            if case is not None:
                places = tuple((gold.document_id, gold.span) for gold in one.gold)
                yield kb, replace(case, places=places, answered=bool(places))


def _of_exam() -> Iterator[tuple[KnowledgeBase, Case]]:
    asked = [one for one in read_questions(QUESTIONS / "exam-dev.jsonl") if not one.before]
    for base in sorted({one.base for one in asked}):
        with open_home(f"{EXAM}-{base}", {}) as kb:
            for each in asked:
                answered = each.expect == "answer"
                if each.base != base or (answered and not each.gold):
                    continue
                case = _found(kb, each.question)
                if case is not None:
                    gold = tuple(each.gold[0]) if answered else ()
                    yield kb, replace(case, gold=gold, answered=answered)


def _found(kb: KnowledgeBase, text: str, filters: Filters | None = None) -> Case | None:
    asked = Question(text=text, filters=filters or Filters())
    analysis = analyse(asked, vocabulary_of(kb), date(2026, 1, 15))
    found = find(kb, analysis)
    if not isinstance(found, Retrieval) or not found.hits or not for_reader(analysis):
        return None
    return Case(analysis=analysis, evidence=tuple(pack(kb, found.hits)))


if __name__ == "__main__":
    main()
