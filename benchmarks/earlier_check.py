"""The rule that checked claims before there were learned weights, to be measured beside them.

Of the windows of one or two sentences, the four that share most words with the claim; .55 of the
share and .45 of the cosine of the best, at most .45 when a number or name is missing or one of the
two is negated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.sets.claims import ClaimCase
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans

CHECKED, WEIGHT_WORDS, WEIGHT_MEANING, CAP = 4, 0.55, 0.45, 0.45

Vectors = Callable[[Sequence[str]], Mapping[str, NDArray[np.float32]]]


def earlier_scores(cases: Sequence[ClaimCase], vectors: Vectors) -> list[float]:
    """The score of each case."""
    laid = [_windows(case) for case in cases]
    known = vectors(
        [
            text
            for case, windows in zip(cases, laid, strict=True)
            for text in (case.claim, *(text for text, _ in windows))
        ]
    )
    return [_score(case, windows, known) for case, windows in zip(cases, laid, strict=True)]


def _windows(case: ClaimCase) -> list[tuple[str, float]]:
    wanted = parse(case.claim).stem_set
    title = parse(case.title).stem_set
    found = []
    for text in case.passages:
        spans = [(span.start, span.end) for span in sentence_spans(text)]
        pairs = [(one[0], two[1]) for one, two in itertools.pairwise(spans)]
        for start, end in [*spans, *pairs]:
            inside = parse(text[start:end]).stem_set
            held = len(wanted & inside) + 0.5 * len((wanted - inside) & title)
            found.append((text[start:end], held / max(1, len(wanted))))
    found.sort(key=lambda window: (-window[1], len(window[0])))
    return [window for window in found[:CHECKED] if window[1] > 0]


def _score(
    case: ClaimCase,
    windows: Sequence[tuple[str, float]],
    known: Mapping[str, NDArray[np.float32]],
) -> float:
    scores = [
        WEIGHT_WORDS * share
        + WEIGHT_MEANING * float(np.clip(known[case.claim] @ known[text], 0.0, 1.0))
        for text, share in windows
    ]
    if not scores:
        return 0.0
    best = int(np.argmax(scores))
    around = " ".join([*case.passages, case.title])
    missing = parse(case.claim).numbers - parse(around).numbers
    absent = [
        name
        for name in parse(case.claim).names
        if not any(part.lower() in around.lower() for part in name.split() if len(part) > 2)
    ]
    negated = parse(case.claim).negations % 2 != parse(windows[best][0]).negations % 2
    return min(scores[best], CAP) if missing or absent or negated else scores[best]
