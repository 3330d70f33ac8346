"""Measures of one case: of a ranked list, of an answer's text, of its citations.

A ranking is a sequence of places, best first; each place holds the names of the targets that the
item there meets (a document meets itself; a passage meets every gold span that it overlaps).
A case without a result is an empty ranking and scores zero; it is never left out.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

Ranking = Sequence[frozenset[str]]
Grades = Mapping[str, float]
Measure = Callable[[Ranking, Grades], float]

_ARTICLES = re.compile(r"\b(a|an|the)\b")
# ASCII punctuation as in SQuAD's script, and what typographic quotes and dashes add to it.
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation + "“”‘’„«»–—…", " "))


# --- rankings --------------------------------------------------------------------------------


def hit(ranking: Ranking, grades: Grades, depth: int) -> float:
    """1 when one of the first ``depth`` places meets a target, else 0."""
    return float(any(place & grades.keys() for place in ranking[:depth]))


def recall(ranking: Ranking, grades: Grades, depth: int) -> float:
    """Share of the targets that the first ``depth`` places meet; 0 when there is no target."""
    met = _met(ranking[:depth]) & grades.keys()
    return len(met) / len(grades) if grades else 0.0


def every(ranking: Ranking, grades: Grades, depth: int) -> float:
    """1 when the first ``depth`` places meet all targets, else 0."""
    return float(bool(grades) and grades.keys() <= _met(ranking[:depth]))


def reciprocal_rank(ranking: Ranking, grades: Grades) -> float:
    """1 / the place (from 1) of the first target; 0 when there is none. Its mean is the MRR."""
    for rank, place in enumerate(ranking, 1):
        if place & grades.keys():
            return 1 / rank
    return 0.0


def ndcg(ranking: Ranking, grades: Grades, depth: int) -> float:
    """Normalised discounted cumulative gain, linear gain and log2 discount.

    Järvelin and Kekäläinen, ACM TOIS 20(4), 2002, as trec_eval and BEIR compute it. A target
    counts at the first place that meets it.

    One place may meet several targets (a passage over two gold spans). They are counted as if each
    had a place of its own, from there on, so that the measure never exceeds 1.
    """
    seen: set[str] = set()
    gained = 0.0
    taken = 0
    for number, targets in enumerate(ranking[:depth]):
        fresh = sorted((grades[name] for name in targets - seen if name in grades), reverse=True)
        seen |= targets
        first = max(number, taken)
        taken = min(first + len(fresh), depth)
        places = range(first, taken)
        gained += sum(
            grade / math.log2(place + 2) for place, grade in zip(places, fresh, strict=False)
        )
    ideal = sum(
        grade / math.log2(place + 2)
        for place, grade in enumerate(sorted(grades.values(), reverse=True)[:depth])
    )
    return gained / ideal if ideal > 0 else 0.0


def _met(places: Ranking) -> set[str]:
    return set().union(*places)


# --- texts -----------------------------------------------------------------------------------


def normalised(text: str) -> str:
    """Lower case, without punctuation and articles, single spaces.

    As the evaluation script of SQuAD does (Rajpurkar et al., EMNLP 2016), except that punctuation
    separates words instead of joining them ("tool-library" is two words).
    """
    plain = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def contains(text: str, accepted: Sequence[str]) -> float:
    """1 when ``text`` holds one of the accepted answers as whole words, both normalised."""
    inside = f" {normalised(text)} "
    return float(any(plain and f" {plain} " in inside for plain in map(normalised, accepted)))


def token_f1(text: str, accepted: Sequence[str]) -> float:
    """The best F1 of words that ``text`` shares with an accepted answer (as in SQuAD)."""
    given = Counter(normalised(text).split())
    return max((_f1(given, Counter(normalised(one).split())) for one in accepted), default=0.0)


def _f1(given: Counter[str], wanted: Counter[str]) -> float:
    shared = (given & wanted).total()
    return 2 * shared / (given.total() + wanted.total()) if shared else 0.0


# --- citations -------------------------------------------------------------------------------


def citation_precision(citations: Sequence[frozenset[str]]) -> float:
    """Share of the citations that meet a target; 0 when there is none."""
    return sum(bool(met) for met in citations) / len(citations) if citations else 0.0


def citation_recall(citations: Sequence[frozenset[str]], targets: frozenset[str]) -> float:
    """Share of the targets that a citation meets; 0 when there is no target."""
    return len(_met(citations) & targets) / len(targets) if targets else 0.0
