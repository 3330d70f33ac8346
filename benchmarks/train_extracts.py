"""Fits the score of extracts and its confidence; writes ``ask/write/extract_weights.json``.

    python -m benchmarks.train_extracts collect        # 48 answerable questions of each set
    python -m benchmarks.train_extracts fit            # prints what each left-out set gets, writes

A window's score is linear (a softmax over the windows of a question); how sure the three that are
shown are is a logistic regression of a few numbers. Both are fitted with each set counting alike;
the figures that are printed for a set come from weights that never saw it.

Beside the answerable questions of a set stand those that its material does not answer: its own,
those of other sets (``foreign``), and answerable ones whose gold passages are kept back
(``withheld``).
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.confidence_figures import auroc
from benchmarks.extractive import SETS
from benchmarks.homes import default_embedder, filled
from benchmarks.paths import CACHE, ROOT
from benchmarks.sets.asked import Asked
from benchmarks.sets.refused import foreign
from wellread.ask.plan import analyse_within
from wellread.ask.retrieve.direct import direct
from wellread.ask.retrieve.ranking import pack
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.ask.write import extract_score
from wellread.ask.write.extract_score import (
    COLUMNS,
    FILE,
    MARKED,
    MODES,
    SURE,
    TOLD,
    Window,
    add_marked_cosines,
    add_network_scores,
    confidence_features,
    free_columns,
    windows_of,
)
from wellread.kb import KnowledgeBase
from wellread.types import Span
from wellread.values.answers import Evidence, Question

SEED = 3
READ, COMPARED = 10, 6  # windows of a question whose numbers are worked out; more than are shown
FOREIGN = ("xquad", "clapnq", "covid", "hotpot")  # sets whose questions are put to the others
SHOWN = 3
HELD = 0.5  # of a gold span, from which a window holds it
PENALTY, SURE_PENALTY = 0.02, 0.002
ROUNDS, SMOOTH = 2000, 1e-6
SHARES = {"answerable": 0.6, "unanswerable": 0.16, "foreign": 0.12, "withheld": 0.12}
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A question with its windows: ``table`` has a row of ``COLUMNS`` for each, ``gold`` a flag."""

    set: str
    id: str
    question: str
    group: str
    table: Floats
    gold: NDArray[np.bool_]
    pieces: tuple[int, ...]


def main() -> None:
    """Collect, or fit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("what", choices=("collect", "fit"))
    parser.add_argument("--sets", default=",".join(SETS), help=f"of {','.join(SETS)}")
    parser.add_argument("--limit", type=int, default=48, help="answerable questions of a set")
    parser.add_argument("--dry", action="store_true", help="write no weights")
    options = parser.parse_args()
    if options.what == "fit":
        fit([row for name in options.sets.split(",") for row in kept(name)], dry=options.dry)
        return
    for name in options.sets.split(","):
        with filled(name, SETS[name].write) as kb:
            rows = list(collected(kb, name, options.limit))
        path_of(name).parent.mkdir(parents=True, exist_ok=True)
        path_of(name).write_bytes(pickle.dumps(rows))
        print(name, dict(Counter(row.group for row in rows)), flush=True)


def path_of(name: str) -> Path:
    """Where the rows of a set are kept."""
    return CACHE / "cases" / f"windows-{name}.pickle"


def kept(name: str) -> list[Row]:
    """The rows of a set that were collected; none where it was not."""
    path = path_of(name)
    return list(pickle.loads(path.read_bytes())) if path.exists() else []


# --- the windows of questions ----------------------------------------------------------------


def collected(kb: KnowledgeBase, name: str, limit: int) -> Iterator[Row]:
    """The rows of one set."""
    drawn = random.Random(SEED)
    asked = list(SETS[name].questions(kb))
    drawn.shuffle(asked)
    answerable = [one for one in asked if one.answerable][:limit]
    unanswerable = [one for one in asked if not one.answerable][: limit // 3]
    others = [other for other in FOREIGN if other != name]
    with_gold = [one for one in answerable if one.gold][: limit // 3]
    for question, group in (
        *((one, "answerable") for one in answerable),
        *((one, "unanswerable") for one in unanswerable),
        *((one, "withheld") for one in with_gold),
        *((one, "foreign") for one in foreign(others, max(1, limit // 4 // len(others)), SEED)),
    ):
        row = _row(kb, name, question, group)
        if row is not None:
            yield row


def _row(kb: KnowledgeBase, name: str, asked: Asked, group: str) -> Row | None:
    question = Question(text=asked.text, filters=asked.filters)
    analysis = analyse_within(kb, question, vocabulary_of(kb, question.filters.collections))
    evidence = pack(kb, direct(kb, analysis).hits)
    if group == "withheld":
        evidence = [
            piece for piece in evidence if not _on_gold(piece, piece.span, asked, some=True)
        ]
    windows = [one for at, piece in enumerate(evidence)
               for one in windows_of(at, piece, analysis.voices)]  # fmt: skip
    if not windows or kb.passage_reader is None:
        return None
    table = free_columns(analysis.wanted, windows, evidence)
    order = np.argsort(-(table @ extract_score.load_weights().score["free"]), kind="stable")
    places = [int(at) for at in order[:READ]]
    best = add_network_scores(analysis.wanted, windows, places, table, kb.passage_reader)
    near = sorted(places, key=lambda at: -table[at, COLUMNS.index("odds")] + at * 1e-6)[:COMPARED]
    marked = {at: best[at][:MARKED] for at in near}
    add_marked_cosines(analysis.wanted, windows, marked, table, kb.embedder)
    gold = np.array([_holds(evidence, window, asked) for window in windows])
    order_kept = [*near, *(at for at in places if at not in near)]
    return Row(
        set=name,
        id=asked.id,
        question=asked.text,
        group=group,
        table=table[order_kept],
        gold=gold[order_kept] & (group == "answerable"),
        pieces=tuple(windows[at].piece for at in order_kept),
    )


def _holds(evidence: Sequence[Evidence], window: Window, asked: Asked) -> bool:
    piece = evidence[window.piece]
    span = Span(
        start=piece.span.start + window.sentences[0].start,
        end=piece.span.start + window.sentences[-1].end,
    )
    if asked.gold:
        return _on_gold(piece, span, asked)
    return any(phrase.lower() in window.text.lower() for phrase in asked.phrases)


def _on_gold(piece: Evidence, span: Span, asked: Asked, *, some: bool = False) -> bool:
    for gold in asked.gold:
        if gold.document_id == piece.hit.document.id and span.overlaps(gold.span):
            shared = min(span.end, gold.span.end) - max(span.start, gold.span.start)
            if some or shared >= HELD * (gold.span.end - gold.span.start):
                return True
    return False


# --- fitting ---------------------------------------------------------------------------------


def fit(rows: Sequence[Row], *, dry: bool) -> None:
    """Print what each set gets from the others' weights; write those of all."""
    score, sure = {}, {}
    for mode, columns in MODES.items():
        for name in sorted({row.set for row in rows}):
            others = [row for row in rows if row.set != name]
            weights = scoring(others, columns)
            _print_set(mode, [row for row in rows if row.set == name], weights,
                       confiding(others, weights, mode))  # fmt: skip
        score[mode] = scoring(rows, columns)
        bias, regression = confiding(rows, score[mode], mode)
        sure[mode] = {"bias": bias, **dict(zip(SURE, regression, strict=True))}
    found = {
        "about": "windows' scores and confidence; written by benchmarks/train_extracts.py",
        "embedder": default_embedder().identity.partition("/")[0],
        "questions": dict(Counter(row.set for row in rows)),
        "score": {
            mode: _rounded(dict(zip(COLUMNS, held, strict=True))) for mode, held in score.items()
        },
        "sure": {mode: _rounded(held) for mode, held in sure.items()},
    }
    print(json.dumps(found["score"], indent=1))
    if not dry:
        path = ROOT / "src" / "wellread" / "ask" / "write" / FILE
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(path)


def _rounded(numbers: dict[str, Any]) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in numbers.items() if value}


def scoring(rows: Sequence[Row], columns: Sequence[str]) -> Floats:
    """The weights of ``COLUMNS`` by which windows with gold come first, as a softmax has it."""
    places = [COLUMNS.index(name) for name in columns]
    usable = [(row.set, _seen(row, columns)) for row in rows if row.group == "answerable"]
    usable = [(name, held) for name, held in usable if held[1].any()]
    count = Counter(name for name, _ in usable)
    every = np.concatenate([held[0] for _, held in usable])[:, places]
    mean, spread = every.mean(0), every.std(0) + 1e-9

    def loss(weights: Floats) -> tuple[float, Floats]:
        total, slope = PENALTY * float(weights @ weights) / 2, PENALTY * weights
        for name, (table, gold) in usable:
            scaled = (table[:, places] - mean) / spread
            odds = scaled @ weights
            share = np.exp(odds - odds.max())
            share /= share.sum()
            right = share[gold].sum()
            each = 1 / count[name] / len(count)
            total -= each * float(np.log(right))
            slope = slope - each * (scaled.T @ (np.where(gold, share, 0) / right - share))
        return total, slope

    found = lowest(loss, len(places)) / spread
    weights = np.zeros(len(COLUMNS))
    weights[places] = found
    return weights


def lowest(loss: Callable[[Floats], tuple[float, Floats]], size: int) -> Floats:
    """Where a smooth loss is least: steepest descent, steps of Barzilai and Borwein (1988)."""
    point = np.zeros(size)
    value, slope = loss(point)
    step = 1.0
    for _ in range(ROUNDS):
        while True:
            there = point - step * slope
            new, steeper = loss(there)
            if new <= value - 1e-4 * step * float(slope @ slope) or step < 1e-9:
                break
            step /= 2
        moved, change = there - point, steeper - slope
        point, value, slope = there, new, steeper
        step = min(1e3, max(1e-6, float(moved @ moved) / (float(moved @ change) or 1e-12)))
        if float(np.abs(slope).max()) < SMOOTH:
            break
    return point


def _seen(row: Row, columns: Sequence[str]) -> tuple[Floats, NDArray[np.bool_]]:
    """The windows whose columns are known: cosines were worked out for the first few alone."""
    most = COMPARED if {*TOLD} & {*columns} else READ
    return row.table[:most], row.gold[:most]


def chosen(row: Row, weights: Floats, mode: str) -> tuple[list[int], Floats]:
    """The windows in the order in which the answerer would have them, and their scores."""
    learned = {**dict.fromkeys(MODES, weights)}
    order = (
        list(np.argsort(-(row.table @ learned["free"]), kind="stable")) if mode == "free" else []
    )
    table, _ = _seen(row, MODES[mode])
    scores = table @ weights
    order = order or list(np.argsort(-scores, kind="stable"))
    if mode == "full":
        order = order[: extract_score.NEAREST]
    return [int(at) for at in order], row.table @ weights


def shown(row: Row, order: Sequence[int]) -> list[int]:
    """The first windows of different pieces, as many as are shown."""
    first = {row.pieces[at]: at for at in reversed(order)}
    return [at for at in order if first[row.pieces[at]] == at][:SHOWN]


def confiding(rows: Sequence[Row], weights: Floats, mode: str) -> tuple[float, Floats]:
    """Bias and weights of ``SURE`` of "what is shown holds the answer"."""
    read_rows = [_sure_of(row, weights, mode) for row in rows]
    table, right = np.array([one[0] for one in read_rows]), np.array([one[1] for one in read_rows])
    count = Counter((row.set, row.group) for row in rows)
    each = np.array([SHARES[row.group] / count[row.set, row.group] for row in rows])
    each /= each.sum()
    mean, spread = table.mean(0), table.std(0) + 1e-9
    scaled = np.c_[(table - mean) / spread, np.ones(len(table))]

    def loss(numbers: Floats) -> tuple[float, Floats]:
        odds = scaled @ numbers
        likely = 1 / (1 + np.exp(-odds))
        total = float((each * (np.logaddexp(0, odds) - right * odds)).sum())
        total += SURE_PENALTY * float(numbers[:-1] @ numbers[:-1]) / 2
        return total, scaled.T @ (each * (likely - right)) + SURE_PENALTY * np.r_[numbers[:-1], 0]

    found = lowest(loss, scaled.shape[1])
    regression = found[:-1] / spread
    return float(found[-1] - regression @ mean), regression


def _sure_of(row: Row, weights: Floats, mode: str) -> tuple[list[float], float]:
    order, scores = chosen(row, weights, mode)
    places = shown(row, order)
    readings = confidence_features(
        row.table[order], scores[order], [row.pieces[at] for at in order]
    )
    hidden = {*COLUMNS} - {*MODES[mode]}
    for name in SURE:
        if any(part in name for part in hidden):
            readings[name] = 0.0
    return [readings[name] for name in SURE], float(bool(row.gold[places].any()))


def _area(chance: Floats, hit: NDArray[np.bool_]) -> float:
    area = auroc(list(chance), list(hit))
    return area.mean if area else float("nan")


def _print_set(mode: str, rows: Sequence[Row], weights: Floats, sure: tuple[float, Floats]) -> None:
    first, three, ceiling, likely, right, answerable = [], [], [], [], [], []
    for row in rows:
        order, _ = chosen(row, weights, mode)
        places = shown(row, order)
        readings, holds = _sure_of(row, weights, mode)
        odds = sure[0] + float(sure[1] @ np.array(readings))
        likely.append(1 / (1 + np.exp(-odds)))
        right.append(holds)
        answerable.append(row.group == "answerable")
        if row.group == "answerable":
            first.append(row.gold[places[0]])
            three.append(row.gold[places].any())
            ceiling.append(row.gold.any())
    chance, hit, can = np.array(likely), np.array(right) > 0, np.array(answerable)
    high = chance >= 0.8
    print(
        f"{mode:8} {rows[0].set:7} first {np.mean(first):.2f} three {np.mean(three):.2f} "
        f"of {np.mean(ceiling):.2f}; Brier {np.mean((chance - hit) ** 2):.3f} "
        f"AUROC {_area(chance, hit):.2f}; right from .8 "
        f"{hit[high].mean() if high.any() else 0:.2f} of {high.sum()}; below .3: answerable "
        f"{np.mean(chance[can] < 0.3):.2f}, "
        + ", ".join(
            f"{group} {np.mean(chance[[r.group == group for r in rows]] < 0.3):.2f}"
            for group in SHARES
            if group != "answerable" and any(r.group == group for r in rows)
        )
    )


if __name__ == "__main__":
    main()
