"""Pairs of texts to learn from: questions with passages, claims with texts, and those made of them.

Rows come from the folder of training data (JSON lines, xz; ``t`` "qa" or "nli", question or claim
``q``, text ``p``, label ``y``, answer span ``s``). Two kinds are made here: near misses (a passage
without the sentence that answers) and altered claims (a number, a name or the negation changed),
since what is nearly right is what a checker has to tell from what is right.
"""

from __future__ import annotations

import json
import lzma
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from training.reworded import Thesaurus, reworded
from wellread.text.sentences import sentence_spans

ENTAILED, OPEN, CONTRADICTED, NOT_ENTAILED = range(4)
UNLICENSED = ("covidfact", "nli4ct")
"""Sources that state no licence: nothing that ships is trained on them."""
SHARED_ALIKE = ("boolq_part", "fever_dev_part", "fever_symmetric", "snli_dev", "snli_part")
FORUMS = ("squadshifts_reddit", "squadshifts_amazon_reviews")
STRICT_WITHOUT = (
    *SHARED_ALIKE,
    *FORUMS,
    *(f"claims_{source}" for source in FORUMS),
    "counterfactual_nli",
)
"""What a strict build does without: share-alike licences, texts that are their authors'."""
SHARES: Mapping[str, float] = {
    "squadshifts_new_wiki": 15,
    "squadshifts_reddit": 8,
    "squadshifts_amazon_reviews": 6,
    "qamr_dev_test": 12,
    "selqa_dev_test": 11,
    "medquad": 6,
    "boolq_part": 6,
    "timeqa_human": 2,
    "fairytaleqa": 4,
    "mnli_dev": 14,
    "mnli_part": 4,
    "snli_dev": 2,
    "scitail_dev": 2,
    "counterfactual_nli": 4,
    "fever_dev_part": 12,
    "fever_symmetric": 1.5,
    "foolmetwice_dev_test": 5,
    "sufficient_facts": 3,
    "factcheck_gpt": 3,
    "scifact_train": 3,
    "claims_squadshifts_new_wiki": 3,
    "claims_squadshifts_reddit": 1.5,
    "claims_squadshifts_amazon_reviews": 1,
    "claims_qamr_dev_test": 4,
}
"""How much of all pairs each source gives, at most all that it has."""
READING: Mapping[str, float] = {
    "squadshifts_new_wiki": 24,
    "squadshifts_reddit": 26,
    "squadshifts_amazon_reviews": 22,
    "qamr_dev_test": 8,
    "selqa_dev_test": 8,
    "medquad": 6,
    "boolq_part": 5,
    "timeqa_human": 3,
    "fairytaleqa": 10,
    "mnli_dev": 6,
    "counterfactual_nli": 2,
    "fever_dev_part": 5,
    "foolmetwice_dev_test": 3,
    "sufficient_facts": 2,
    "scifact_train": 3,
}
"""The same for a reader that knows claims already and is to read passages for questions."""
REWORDED = 0.4  # of the questions are asked in other words than the text's
ELSEWHERE = 0.4  # of the passages that answer also give a part that does not
MADE_FROM = ("squadshifts_new_wiki", "squadshifts_reddit", "boolq_part", "timeqa_human")
NOISY = 0.5  # the weight of a pair that a rule made
AMONG_OTHERS = 0.35  # of the texts of one sentence get others around it
WINDOW = (20, 90)  # words of a passage

_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-])")
_NAME = re.compile(r"[A-Z][a-z]+(?:(?: (?:of|the|de|van))? [A-Z][a-z]+)*")
_AUXILIARY = "is|are|was|were|has|have|had|can|could|will|would|does|do|did"
_VERB = re.compile(rf"\b({_AUXILIARY}|should|must|may)\b(?! not|n't)")
_NOT = re.compile(rf"\b({_AUXILIARY}) not\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A question or claim with a text.

    Attributes:
        label: of a question 1 where the text answers it, else 0; of a claim one of the constants.
        chosen: the sentence of the text that holds the answer; None where that is not known.
        weight: how much it counts; 1 for one that people wrote.
        group: number of the question that it is one of several texts for, among which the one that
            answers has to come first; None where it stands alone.
    """

    task: Literal["qa", "nli"]
    asked: str
    sentences: tuple[str, ...]
    label: int
    chosen: int | None = None
    weight: float = 1.0
    source: str = ""
    group: int | None = None


def pairs(
    folder: Path,
    count: int,
    seed: int,
    *,
    shares: Mapping[str, float] = SHARES,
    thesaurus: Thesaurus | None = None,
    licensed: bool = True,
) -> list[Pair]:
    """About ``count`` pairs in the mixture of ``shares``, a fifth of them made, shuffled.

    With a ``thesaurus``, part of the questions is asked in other words, and the other parts of
    passages that answer are given as texts that do not.
    """
    rng = random.Random(seed)
    total = sum(shares.values())
    found: list[Pair] = []
    known: set[tuple[str, str]] = set()
    for source, share in shares.items():
        if licensed and source in UNLICENSED:
            continue
        rows = [row for row in _rows(folder, source) if _new(row, known)]
        rng.shuffle(rows)
        rows = rows[: int(0.75 * count * share / total)]
        weight = NOISY if source.startswith("claims_") else 1.0
        own = [replace(_pair(row, source, rng), weight=weight) for row in rows]
        if thesaurus is not None:
            own += elsewhere(rows, source, rng)
            own = [in_other_words(one, thesaurus, rng) for one in own]
        found += among_others(own, rng)
    made = list(_altered([one for one in found if _alterable(one)], rng))
    made += near_misses([one for one in found if one.chosen is not None], rng)
    rng.shuffle(made)
    made = made[: count // 8]
    made += quoted(folder, rng, count // 16)
    made += joined(folder, rng, count // 10)
    made += misnamed([one for one in found if one.chosen is not None], rng, count // 8)
    found += made
    rng.shuffle(found)
    return found


def _new(row: Mapping[str, object], known: set[tuple[str, str]]) -> bool:
    """Whether no source before held this row: some hold parts of each other."""
    key = str(row["q"]), str(row["p"])[:200]
    if key in known:
        return False
    known.add(key)
    return True


def _rows(folder: Path, source: str) -> Iterator[dict[str, object]]:
    with lzma.open(folder / f"{source}.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _pair(row: Mapping[str, object], source: str, rng: random.Random) -> Pair:
    text, span = str(row["p"]), row.get("s")
    start = int(span[0]) if isinstance(span, list) else None
    task: Literal["qa", "nli"] = "qa" if row["t"] == "qa" else "nli"
    sentences, chosen = window(text, str(row["q"]), start, rng)
    label = int(str(row["y"]))
    return Pair(
        task=task,
        asked=" ".join(str(row["q"]).split()[:80]),
        sentences=sentences,
        label=label,
        chosen=chosen if task == "qa" and label else None,
        source=source,
    )


def window(
    text: str, asked: str, start: int | None, rng: random.Random
) -> tuple[tuple[str, ...], int | None]:
    """A run of whole sentences, and which of them holds the character ``start``.

    Without ``start`` the run is the one that shares most words with what is asked.
    """
    spans = [span for span in sentence_spans(text) if text[span.start : span.end].strip()]
    whole = [" ".join(text[span.start : span.end].split()) for span in spans]
    if not whole:
        return (text.strip() or ".",), None
    sizes = [len(one.split()) for one in whole]
    held = None
    if start is not None:
        held = next((i for i, span in enumerate(spans) if span.start <= start < span.end), None)
    most = rng.randint(*WINDOW)
    if held is None:
        words = _words(asked)
        shared = [len(words & _words(one)) for one in whole]
        centre = max(range(len(whole)), key=lambda i: shared[i])
    else:
        centre = held
    first = last = centre
    size = sizes[centre]
    while size < most and (first > 0 or last < len(whole) - 1):
        before = first > 0 and (last == len(whole) - 1 or rng.random() < 0.5)
        if before:
            first -= 1
            size += sizes[first]
        else:
            last += 1
            size += sizes[last]
    return tuple(whole[first : last + 1]), None if held is None else held - first


def elsewhere(
    rows: Sequence[Mapping[str, object]], source: str, rng: random.Random
) -> Iterator[Pair]:
    """Parts of passages that answer a question which do not hold the sentence that does."""
    for row in rows:
        text, span = str(row["p"]), row.get("s")
        if not isinstance(span, list) or not row["y"] or rng.random() > ELSEWHERE:
            continue
        spans = sentence_spans(text)
        held = next((one for one in spans if one.start <= int(span[0]) < one.end), None)
        if held is None:
            continue
        before, after = text[: held.start].strip(), text[held.end :].strip()
        rest = max(before, after, key=len)
        if len(rest.split()) < 2 * WINDOW[0]:
            continue
        sentences, _ = window(rest, str(row["q"]), None, rng)
        yield Pair(
            task="qa",
            asked=str(row["q"]),
            sentences=sentences,
            label=0,
            weight=NOISY,
            source=source,
        )


def in_other_words(one: Pair, thesaurus: Thesaurus, rng: random.Random) -> Pair:
    """``one``, or its question in other words than its text's."""
    if one.task != "qa" or rng.random() > REWORDED:
        return one
    return replace(one, asked=reworded(one.asked, " ".join(one.sentences), thesaurus, rng))


def among_others(rows: Sequence[Pair], rng: random.Random) -> Iterator[Pair]:
    """``rows``, some claims about one sentence now about it with sentences of other rows around."""
    for one in rows:
        if one.task == "qa" or len(one.sentences) > 1 or rng.random() > AMONG_OTHERS:
            yield one
            continue
        others = [each for other in rng.sample(rows, min(3, len(rows))) for each in other.sentences]
        rng.shuffle(others)
        others = [each for each in others if each != one.sentences[0]][: rng.randint(1, 3)]
        at = rng.randint(0, len(others))
        yield replace(one, sentences=(*others[:at], *one.sentences, *others[at:]))


def near_misses(answered: Sequence[Pair], rng: random.Random) -> Iterator[Pair]:
    """Passages without the sentence that answers the question."""
    for one in answered:
        if one.chosen is None or len(one.sentences) < 2 or rng.random() < 0.5:
            continue
        kept = (*one.sentences[: one.chosen], *one.sentences[one.chosen + 1 :])
        yield replace(one, sentences=kept, label=0, chosen=None, weight=NOISY, source="near_miss")


def misnamed(answered: Sequence[Pair], rng: random.Random, count: int) -> list[Pair]:
    """Questions about another name or number than the text's, which it therefore does not answer.

    A third of the names are another in the text as well: a strange name is no sign by itself.
    """
    pool = sorted({name for one in answered for name in _names(" ".join(one.sentences))})
    made: list[Pair] = []
    for one in rng.sample(answered, len(answered)):
        text = " ".join(one.sentences)
        found = [*_NAME.finditer(one.asked, 1), *_NUMBER.finditer(one.asked)]
        places = [place for place in found if re.search(rf"\b{re.escape(place[0])}\b", text)]
        if not places:
            continue
        if len(made) == count:
            break
        place = rng.choice(places)
        if place[0][0].isdigit():
            whole = int(re.sub(r"\D.*", "", place[0].replace(",", "")))
            new = str(max(1, whole + rng.choice((-1, 1)) * rng.randint(1, max(3, whole // 100))))
        else:
            new = rng.choice(pool) if rng.random() < 0.5 else invented(place[0], rng)
        if new == place[0]:
            continue
        asked = one.asked[: place.start()] + new + one.asked[place.end() :]
        if new[0].isalpha() and rng.random() < 0.33:
            told = tuple(each.replace(place[0], new) for each in one.sentences)
            made.append(replace(one, asked=asked, sentences=told, weight=NOISY, source="renamed"))
        elif new not in text:
            wrong = replace(one, asked=asked, label=0, chosen=None, weight=NOISY, source="misnamed")
            made.append(wrong)
    return made


def invented(name: str, rng: random.Random) -> str:
    """A name that nobody has: like ``name`` in its beginning, or in nothing."""
    made = "".join(
        rng.choice("bdfghklmnprstvw") + rng.choice("aeiou") for _ in range(rng.randint(1, 3))
    ) + rng.choice(("", "n", "r", "s", "ck", "ld", "st"))
    kept = name[: rng.randint(2, 5)] if rng.random() < 0.4 else ""
    return (kept.rstrip() + made).capitalize() if " " not in kept else made.capitalize()


def quoted(folder: Path, rng: random.Random, count: int) -> Iterator[Pair]:
    """Sentences of a text as claims: as they stand, altered, and with the sentence taken out."""
    for source in MADE_FROM:
        texts = sorted({str(row["p"]) for row in _rows(folder, source)})
        rng.shuffle(texts)
        for text in texts[: count // len(MADE_FROM)]:
            sentences, _ = window(text, "", None, rng)
            fit = [one for one in sentences if 6 <= len(one.split()) <= 40 and one[-1] == "."]
            if len(sentences) < 2 or not fit:
                continue
            claim = rng.choice(fit)
            one = Pair(task="nli", asked=claim, sentences=sentences, label=ENTAILED, weight=NOISY)
            if rng.random() < 0.4:
                yield replace(one, source="quoted")
            elif rng.random() < 0.25:
                kept = tuple(each for each in sentences if each != claim)
                yield replace(one, sentences=kept, label=NOT_ENTAILED, source="taken_out")
            else:
                yield from _altered([one], rng)


def joined(folder: Path, rng: random.Random, count: int) -> Iterator[Pair]:
    """Two sentences of a text as one claim: both told, or one of them altered or taken out."""
    for source in MADE_FROM:
        texts = sorted({str(row["p"]) for row in _rows(folder, source)})
        rng.shuffle(texts)
        for text in texts[: count // len(MADE_FROM)]:
            sentences, _ = window(text, "", None, rng)
            fit = [one for one in sentences if 5 <= len(one.split()) <= 22 and one[-1] == "."]
            if len(sentences) < 3 or len(fit) < 2:
                continue
            first, second = rng.sample(fit, 2)
            whole = Pair(task="nli", asked="", sentences=sentences, label=ENTAILED, weight=NOISY)
            chance = rng.random()
            if chance < 0.3:
                kept = tuple(each for each in sentences if each != second)
                whole = replace(whole, sentences=kept, label=NOT_ENTAILED)
            elif chance < 0.6:
                base = Pair(task="nli", asked=second, sentences=sentences, label=ENTAILED)
                altered = next(_altered([base], rng), None)
                if altered is None:
                    continue
                second, whole = altered.asked, replace(whole, label=NOT_ENTAILED)
            claim = rng.choice((f"{first} {second}", f"{second} {first}"))
            if rng.random() < 0.5:
                claim = f"{first[:-1]}, and {second[:1].lower()}{second[1:]}"
            yield replace(whole, asked=claim, source="joined")


def _alterable(pair: Pair) -> bool:
    return pair.task == "nli" and pair.label == ENTAILED


def _altered(entailed: Sequence[Pair], rng: random.Random) -> Iterator[Pair]:
    """Claims that their text bears out, each with one thing changed."""
    for one in entailed:
        facts = [other_number, other_name, swapped_names]
        rng.shuffle(facts)
        # Nearly every claim can be negated, few hold a number or a name to change.
        for change in (*facts, *([negated] if rng.random() < 0.3 else [])):
            claim = change(one.asked, " ".join(one.sentences), rng)
            if claim is not None:
                label = CONTRADICTED if change is negated else NOT_ENTAILED
                yield replace(one, asked=claim, label=label, weight=NOISY, source=change.__name__)
                break


def other_number(claim: str, text: str, rng: random.Random) -> str | None:
    """``claim`` with one of its numbers changed, to one of the text where there is another."""
    places = list(_NUMBER.finditer(claim))
    if not places:
        return None
    place = rng.choice(places)
    others = [found[0] for found in _NUMBER.finditer(text) if found[0] not in claim]
    whole = place[0].replace(",", "").partition(".")[0]
    near = str(max(1, int(whole) + rng.choice((-1, 1)) * rng.randint(1, max(2, int(whole) // 50))))
    new = rng.choice(others) if others and rng.random() < 0.7 else near
    return None if new == place[0] else claim[: place.start()] + new + claim[place.end() :]


def other_name(claim: str, text: str, rng: random.Random) -> str | None:
    """``claim`` with one of its names changed to another of the text."""
    known = _names(text)
    places = [found for found in _NAME.finditer(claim) if found[0] in known]
    others = sorted(
        name
        for name in known
        if name not in claim and not any(part in claim for part in name.split())
    )
    if not places or not others:
        return None
    place = rng.choice(places)
    return claim[: place.start()] + rng.choice(others) + claim[place.end() :]


def swapped_names(claim: str, text: str, rng: random.Random) -> str | None:
    """``claim`` with two of the text's names in each other's place."""
    known = _names(text)
    places = [found for found in _NAME.finditer(claim) if found[0] in known]
    if len(places) < 2 or len({found[0] for found in places}) < 2 or " and " in claim:
        return None
    first, second = sorted(rng.sample(places, 2), key=lambda found: found.start())
    if first[0] == second[0]:
        return None
    between = claim[first.end() : second.start()]
    return claim[: first.start()] + second[0] + between + first[0] + claim[second.end() :]


def _names(text: str) -> set[str]:
    """Capitalised words and runs of them that do not open a sentence."""
    return {
        found[0]
        for found in _NAME.finditer(text)
        if text[found.start() - 2 : found.start()] not in (". ", "")
    }


def negated(claim: str, text: str, rng: random.Random) -> str | None:  # noqa: ARG001
    """``claim`` with its first auxiliary verb negated, or no longer negated."""
    if found := _NOT.search(claim):
        return claim[: found.end() - len(" not")] + claim[found.end() :]
    if (found := _VERB.search(claim)) and not claim.endswith("?"):
        return f"{claim[: found.end()]} not{claim[found.end() :]}"
    return None


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.lower()))
