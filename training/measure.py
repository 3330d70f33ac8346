"""What a trained reader is worth on development halves: ``python -m training.measure READER``.

Claims of WiCE, SciFact and ExpertQA (area under the ROC curve of "supported"; the share of the
claim's words in the evidence beside it), and questions of XQuAD and ClapNQ (whether the sentence
chosen first holds the answer; whether the passage answers at all). Only the halves that may be
looked at; the others are for the end.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from benchmarks.claims import overlap
from benchmarks.paths import eval_data
from benchmarks.sets.claims import EXPERTQA, SCIFACT, WICE, ClaimCase, half

from training.encode import batch, encoded
from training.model import Reader, Size, layers_of
from training.pairs import Pair
from training.written import Passage, passages
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans

WINDOW = 80  # words
QUESTIONS = 300


class Trained:
    """A network that answers for pairs."""

    def __init__(self, path: Path, threads: int) -> None:
        torch.set_num_threads(threads)
        state = torch.load(path)
        self._reader = Reader(Size(layers=layers_of(state)))
        self._reader.load_state_dict(state)
        self._reader.eval()

    def read(
        self, asked: Sequence[tuple[str, Sequence[str]]]
    ) -> list[tuple[float, np.ndarray, np.ndarray]]:
        """Log odds that the text answers, of each sentence, and of the three relations."""
        rows = [
            encoded(Pair(task="qa", asked=question, sentences=tuple(text), label=0))
            for question, text in asked
        ]
        order = sorted(range(len(rows)), key=lambda place: len(rows[place].ids))
        found: dict[int, tuple[float, np.ndarray, np.ndarray]] = {}
        with torch.no_grad():
            for start in range(0, len(order), 16):
                places = order[start : start + 16]
                one = batch([rows[place] for place in places])
                answers, chosen, entails = self._reader(one.ids, one.sentence, one.mask)
                for number, place in enumerate(places):
                    odds = torch.log_softmax(entails[number], 0)
                    found[place] = (float(answers[number]), chosen[number].numpy(), odds.numpy())
        return [found[place] for place in range(len(rows))]


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description="Measure a trained reader.")
    parser.add_argument("reader", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    trained = Trained(options.reader, options.threads)
    for name, cases in (
        ("WiCE", half(WICE.cases(), 0)),
        ("SciFact", half(SCIFACT.cases(), 0)),
        ("ExpertQA", half(EXPERTQA.cases(), 0)),
    ):
        claims(name, trained, cases)
    questions("XQuAD", trained, xquad())
    questions("ClapNQ", trained, clapnq())
    written([one for one in passages() if one.held_out], trained)


def claims(name: str, trained: Trained, cases: Sequence[ClaimCase]) -> None:
    """Print how well the best window's entailment tells supported claims from others."""
    right = [case.supported for case in cases]
    asked, owners = [], []
    for number, case in enumerate(cases):
        near = sorted(windows(case.passages), key=lambda text: -_shared(case.claim, text))[:5]
        asked += [(case.claim, text) for text in near]
        owners += [number] * len(near)
    best = np.full(len(cases), -1e9)
    against = np.full(len(cases), -1e9)
    for owner, (_, _, odds) in zip(owners, trained.read(asked), strict=True):
        best[owner] = max(best[owner], odds[0])
        against[owner] = max(against[owner], odds[2])
    words = np.array([overlap(case) for case in cases])
    print(
        f"{name}: {len(cases)}, words {area(words, right):.3f}, entailed {area(best, right):.3f}, "
        f"entailed less contradicted {area(np.exp(best) - np.exp(against), right):.3f}, "
        f"with words {area(_z(best) + _z(words), right):.3f}",
        flush=True,
    )


def questions(
    name: str, trained: Trained, cases: Sequence[tuple[str, Sequence[str], set[int]]]
) -> None:
    """Print how often the first sentence is right, and how well answered questions are told."""
    found = trained.read([(question, text) for question, text, _ in cases])
    first = [
        float(int(np.argmax(chosen[: len(text)])) in gold)
        for (_, text, gold), (_, chosen, _) in zip(cases, found, strict=True)
        if gold
    ]
    words = [
        float(max(range(len(text)), key=lambda i: _shared(question, [text[i]])) in gold)
        for question, text, gold in cases
        if gold
    ]
    right = [bool(gold) for _, _, gold in cases]
    print(
        f"{name}: sentence first {np.mean(first):.3f} (words {np.mean(words):.3f}) of "
        f"{len(first)}, answered or not {area([odds for odds, _, _ in found], right):.3f} of "
        f"{len(cases)}",
        flush=True,
    )


def written(found: Sequence[Passage], trained: Trained) -> None:
    """Print the same of our own passages, each answered question also without its sentence."""
    rows = [
        (one.text, passage.sentences, one.held)
        for passage in found
        for one in passage.asked
        if one.sign == "?"
    ]
    read = trained.read([(text, sentences) for text, sentences, _ in rows])
    bare = [
        (text, [each for at, each in enumerate(sentences) if at not in held])
        for text, sentences, held in rows
        if held
    ]
    without = [odds for odds, _, _ in trained.read(bare)]
    first = [
        int(np.argmax(chosen[: len(sentences)])) == held[0]
        for (_, sentences, held), (_, chosen, _) in zip(rows, read, strict=True)
        if held
    ]
    answers = [odds for odds, _, _ in read]
    right = [bool(held) for _, _, held in rows]
    told = [odds for odds, yes in zip(answers, right, strict=True) if yes]
    both = area([*told, *without], [*(True for _ in told), *(False for _ in without)])
    print(
        f"written: sentence first {np.mean(first):.3f} of {len(first)}, answered or not "
        f"{area(answers, right):.3f} of {len(rows)}, with its sentence or without {both:.3f}",
        flush=True,
    )


def xquad() -> list[tuple[str, list[str], set[int]]]:
    """Questions with their own paragraph, and with the nearest other one of the article."""
    data = json.loads((eval_data("xquad_en") / "xquad.en.json").read_text(encoding="utf-8"))["data"]
    rows = [
        (article, number, asked)
        for article in data[::2]
        for number, paragraph in enumerate(article["paragraphs"])
        for asked in paragraph["qas"]
    ]
    found = []
    for article, number, asked in random.Random(7).sample(rows, min(len(rows), QUESTIONS)):
        text = article["paragraphs"][number]["context"]
        at, answer = asked["answers"][0]["answer_start"], asked["answers"][0]["text"]
        spans = sentence_spans(text)
        gold = {place for place, span in enumerate(spans) if span.start <= at < span.end}
        found.append((asked["question"], [text[one.start : one.end] for one in spans], gold))
        others = [
            one["context"]
            for place, one in enumerate(article["paragraphs"])
            if place != number and answer.lower() not in one["context"].lower()
        ]
        if others:
            near = max(others, key=lambda other: _shared(asked["question"], [other]))
            found.append((asked["question"], _sentences(near), set()))
    return found


def clapnq() -> list[tuple[str, list[str], set[int]]]:
    """Half of the questions that a passage answers and of those that it does not."""
    found = []
    for name in ("answerable", "unanswerable"):
        path = eval_data("clapnq") / f"{name}.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines()[::2]:
            row = json.loads(line)
            text = [one for one in row["passages"][0]["sentences"] if one.strip()]
            held = {
                " ".join(one.split()) for out in row["output"] for one in out["selected_sentences"]
            }
            gold = {place for place, one in enumerate(text) if " ".join(one.split()) in held}
            found.append((row["input"], text, gold if name == "answerable" else set()))
    return found


def windows(passages: Sequence[str]) -> list[list[str]]:
    """Runs of whole sentences of about ``WINDOW`` words, from each sentence on."""
    found = []
    for passage in passages:
        whole = _sentences(passage)
        for start in range(len(whole)):
            end, size = start, 0
            while end < len(whole) and (end == start or size + len(whole[end].split()) <= WINDOW):
                size += len(whole[end].split())
                end += 1
            found.append(whole[start:end])
            if end == len(whole):
                break
    return found


def _sentences(text: str) -> list[str]:
    return [part for one in sentence_spans(text) if (part := text[one.start : one.end].strip())]


def _shared(asked: str, text: Sequence[str]) -> float:
    wanted = parse(asked).stem_set
    return len(wanted & parse(" ".join(text)).stem_set) / max(1, len(wanted))


def _z(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / (values.std() + 1e-9)


def area(scores: Sequence[float] | np.ndarray, right: Sequence[bool]) -> float:
    """The area under the ROC curve, ties counted half."""
    values, truth = np.asarray(scores, dtype=float), np.asarray(right)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    yes, no = truth.sum(), (~truth).sum()
    return float((rank[truth].sum() - yes * (yes + 1) / 2) / (yes * no))


if __name__ == "__main__":
    main()
