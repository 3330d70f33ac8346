"""True claims, and each made false by rule: another number, name or subject, or a negation.

The true ones are judged claims of WiCE and SciFact, and sentences of XQuAD's articles of even
number, of Optech and of the sample, set before their own passage: half as they stand, half in
slightly other words. Nothing here is learned from.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.paths import SAMPLE, eval_data
from benchmarks.sets.claims import SCIFACT, WICE, half
from wellread.text.english import STOP_WORDS
from wellread.text.parsed import parse

SEED = 5
PASSAGE = 900  # characters of a passage, about
LEAST_WORDS, MOST_WORDS = 8, 38

_NUMBER = re.compile(r"(?<![\w.,/:#-])\d[\d,]*(?:\.\d+)?(?![\w-])(?!\.\d)")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_NAME = re.compile(r"[A-Z][\w’'&-]*[a-z](?:\s+(?:of\s+)?[A-Z][\w’'&-]*)*")
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must|has|have|had|does|did)\b(?! not|n't)"
)
_PAST = re.compile(r"(?<=[a-z] )([a-z]{3,}ed)\b(?= (?:the|a|an|in|to|by|from|his|her|its|their)\b)")
_DENIED = re.compile(r"\b(?:not|never|no longer)\s+|n['’]t\b|\b(without)\b|\b(no)\b(?= [a-z])")
_HEAD = re.compile(
    r"^((?:The|A|An|[A-Z])[\w’'&-]*(?: [\w’'&-]+){0,4}?) "
    r"(?=(?:is|are|was|were|has|have|had|can|will|would|could|may|must|should|did|does)\b)"
)
_LEAD = re.compile(
    r"^((?:In|On|By|During|After|Before|Since|At) [^,;()]{3,40}), (\w[^;]{20,}?)([.])$"
)
_ASIDE = re.compile(r"\s\([^()]{2,80}\)")
_FILLERS = re.compile(r"(?:, (?:however|for example|therefore),)|\b(?:also|mainly|however,) ", re.I)
_PLAINER = {
    "such as": "like",
    "in order to": "to",
    "approximately": "about",
    "began": "started",
    "large": "big",
    "due to": "because of",
    "however": "but",
    "located": "situated",
    "primarily": "mostly",
    "is able to": "can",
    "became": "turned into",
    "although": "though",
    "many": "a lot of",
    "contains": "holds",
    "several": "a number of",
    "is used": "serves",
    "often": "frequently",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueClaim:
    """A claim that its passages bear out."""

    id: str
    source: str
    claim: str
    title: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """A claim made false: ``kind`` is what was swapped, ``way`` how."""

    kind: str
    way: str
    of: TrueClaim
    claim: str


def true_claims() -> list[TrueClaim]:
    """All that may be taken, in an order that mixes the sources' places but not the sources."""
    return [*_judged(), *_own()]


def _judged() -> Iterator[TrueClaim]:
    for name, cases in (("WiCE", half(WICE.cases(), 1)), ("SciFact", SCIFACT.cases())):
        for case in cases:
            if case.supported:
                yield TrueClaim(
                    id=f"{name}-{case.id}",
                    source=name,
                    claim=case.claim,
                    title=case.title,
                    passages=case.passages,
                )


def _own() -> Iterator[TrueClaim]:
    draw = random.Random(SEED)
    found: dict[str, list[TrueClaim]] = {}
    for source, key, title, passage in _passages():
        sentences = [one.text.content for one in parse(passage).sentences]
        fit = [one for one in sentences if _is_claim(one)]
        if not fit:
            continue
        held = found.setdefault(source, [])
        for chosen in draw.sample(fit, min(2, len(fit))):
            claim = reworded(chosen) if len(held) % 2 else chosen
            name = f"{key}-{len(held)}"
            held.append(
                TrueClaim(id=name, source=source, claim=claim, title=title, passages=(passage,))
            )
    for claims in found.values():
        draw.shuffle(claims)
        yield from claims


def _is_claim(sentence: str) -> bool:
    words = sentence.split()
    return (
        LEAST_WORDS <= len(words) <= MOST_WORDS
        and sentence.endswith(".")
        and sentence[:1].isupper()
        and not re.search(r"[\[\]{}|*`<>]|https?:", sentence)
    )


def _passages() -> Iterator[tuple[str, str, str, str]]:
    data = json.loads(eval_data("xquad_en", "xquad.en.json").read_text(encoding="utf-8"))["data"]
    for article in data[::2]:
        title = article["title"].replace("_", " ")
        for number, paragraph in enumerate(article["paragraphs"]):
            yield "XQuAD", f"{title}/{number}", title, paragraph["context"]
    for path in sorted(eval_data("bitcoin_optech", "_posts", "en").rglob("*.md"))[::4]:
        body = path.read_text(encoding="utf-8").split("---", 2)[-1]
        for number, text in enumerate(list(_cut(_unmarked(body)))[1:3]):
            yield "Optech", f"{path.stem}/{number}", path.stem, text
    for path in sorted(SAMPLE.rglob("*.md")):
        body = re.sub(r"^---.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for number, text in enumerate(_cut(_unmarked(body))):
            yield "sample", f"{path.stem}/{number}", path.stem, text


def _unmarked(text: str) -> str:
    text = re.sub(r"\{%.*?%\}|\{:.*?\}", "", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\[\]]+)\](?:\([^()\s]*\)|\[[^\[\]]*\])", r"\1", text)
    text = re.sub(r"[*_`]{1,3}(?=\S)(.+?)(?<=\S)[*_`]{1,3}", r"\1", text)
    return re.sub(r"(?<=[^\n])\n[ \t]*(?=[^\s#*+-])", " ", text)


def _cut(text: str) -> Iterator[str]:
    held = ""
    for paragraph in re.split(r"\n\s*\n|\n(?=[#*+-])", text):
        held = f"{held}\n{paragraph.strip()}".strip()
        if len(held) >= PASSAGE:
            yield held
            held = ""
    if held:
        yield held


def reworded(sentence: str) -> str:
    """``sentence`` with its lead moved, asides left out and some words put plainer."""
    text = _FILLERS.sub("", _ASIDE.sub("", sentence)).replace("  ", " ")
    lead = _LEAD.match(text)
    if lead:
        first, rest, stop = lead.groups()
        text = f"{rest[0].upper()}{rest[1:]} {first[0].lower()}{first[1:]}{stop}"
    for word, plainer in _PLAINER.items():
        text = re.sub(rf"\b{word}\b", plainer, text)
    return text[:1].upper() + text[1:]


def swaps(true: TrueClaim) -> Iterator[Swap]:
    """Every false claim that the rules make of ``true``, one of each way."""
    draw = random.Random(f"{SEED}{true.id}")
    text = "\n".join((true.title, *true.passages))
    made = (
        ("number", "another of the passage", _other_number(true.claim, text, draw)),
        ("number", "two exchanged", _exchanged_numbers(true.claim)),
        ("number", "changed", _changed_number(true.claim, text, draw)),
        ("name", "another of the passage", _other_name(true.claim, text, draw)),
        ("subject", "two names exchanged", _exchanged_names(true.claim)),
        ("subject", "another sentence's", _other_subject(true.claim, true.passages, draw)),
        ("negation", "added", _denied(true.claim, draw)),
        ("negation", "removed", _undenied(true.claim)),
    )
    for kind, way, claim in made:
        if claim and claim != true.claim:
            yield Swap(kind=kind, way=way, of=true, claim=claim)


def _numbers(claim: str) -> list[re.Match[str]]:
    """Numbers that are no part of a name ("Llama 3")."""
    return [
        found
        for found in _NUMBER.finditer(claim)
        if not re.search(r"[A-Z][\w-]* $", claim[: found.start()]) or _YEAR.fullmatch(found.group())
    ]


def _put(claim: str, at: tuple[int, int], new: str) -> str:
    return f"{claim[: at[0]]}{new}{claim[at[1] :]}"


def _other_number(claim: str, text: str, draw: random.Random) -> str:
    mine = _numbers(claim)
    if not mine:
        return ""
    chosen = draw.choice(mine)
    year = _YEAR.fullmatch(chosen.group()) is not None
    held = {found.group() for found in mine}
    others = sorted(
        {
            found.group()
            for found in _numbers(text)
            if found.group() not in held and (_YEAR.fullmatch(found.group()) is not None) == year
        }
    )
    return _put(claim, chosen.span(), draw.choice(others)) if others else ""


def _exchanged_numbers(claim: str) -> str:
    mine = _numbers(claim)
    for one, other in itertools.pairwise(mine):
        same = bool(_YEAR.fullmatch(one.group())) == bool(_YEAR.fullmatch(other.group()))
        between = claim[one.end() : other.start()]
        if same and one.group() != other.group() and len(between.split()) > 1:
            return (
                f"{claim[: one.start()]}{other.group()}{between}{one.group()}{claim[other.end() :]}"
            )
    return ""


def _changed_number(claim: str, text: str, draw: random.Random) -> str:
    mine = _numbers(claim)
    if not mine:
        return ""
    chosen = draw.choice(mine)
    digits = [at for at, char in enumerate(chosen.group()) if char.isdigit()]
    at = draw.choice(digits)
    for step in (1, 2, 3, 5):
        new = str((int(chosen.group()[at]) + step) % 10)
        changed = _put(chosen.group(), (at, at + 1), new)
        if changed not in text and not changed.startswith("0"):
            return _put(claim, chosen.span(), changed)
    return ""


def _names(text: str) -> list[re.Match[str]]:
    """Capitalised names inside sentences; the first word only as part of a longer name."""
    found = []
    for match in _NAME.finditer(text):
        before = text[: match.start()].rstrip()
        opens = not before or before[-1] in ".:!?\n"
        word = match.group().split()[0].lower()
        if opens and (len(match.group().split()) == 1 or word in _OPENERS):
            continue
        if match.group().lower() not in _CALENDAR and match.group().lower() not in STOP_WORDS:
            found.append(match)
    return found


_OPENERS = frozenset("the a an in on by at this these that it he she they however after".split())
_CALENDAR = frozenset(
    "january february march april may june july august september october november december monday "
    "tuesday wednesday thursday friday saturday sunday i i’m i'm".split()
)


def _other_name(claim: str, text: str, draw: random.Random) -> str:
    mine = _names(claim)
    if not mine:
        return ""
    chosen = draw.choice(mine)
    said = set(claim.lower().split())
    others = sorted(
        {
            found.group()
            for found in _names(text)
            if not said & set(found.group().lower().split())
            and not parse(found.group()).stem_set & parse(claim).stem_set
        }
    )
    return _put(claim, chosen.span(), draw.choice(others)) if others else ""


def _exchanged_names(claim: str) -> str:
    mine = _names(claim)
    for at, one in enumerate(mine):
        for other in mine[at + 1 :]:
            between = claim[one.end() : other.start()]
            words = re.findall(r"[a-z]{2,}", between)
            apart = set(words) - {"and", "or", "the", "of", "in", "to", "with", "as", "well"}
            shared = parse(one.group()).stem_set & parse(other.group()).stem_set
            listed = re.search(r"\b(?:between|both)\b", claim) or re.match(
                r"\s*(?:,|and\b)", between
            )
            if apart and not shared and not listed:
                return (
                    f"{claim[: one.start()]}{other.group()}{between}{one.group()}"
                    f"{claim[other.end() :]}"
                )
    return ""


def _other_subject(claim: str, passages: Sequence[str], draw: random.Random) -> str:
    mine = _HEAD.match(claim)
    if not mine:
        return ""
    others = sorted(
        {
            found.group(1)
            for passage in passages
            for one in parse(passage).sentences
            if (found := _HEAD.match(one.text.content))
            and found.group(1).split()[0] not in ("This", "It", "They", "He", "She", "There", "In")
            and not parse(found.group(1)).stem_set & parse(claim).stem_set
            and parse(found.group(1)).stem_set
        }
    )
    stems = parse(mine.group(1)).stem_set
    return _put(claim, mine.span(1), draw.choice(others)) if others and stems else ""


def _denied(claim: str, draw: random.Random) -> str:
    found = _AUXILIARY.search(claim)
    if _DENIED.search(claim):
        return ""
    if found:
        said = draw.choice((" not", " never", " no longer", "n't"))
        if said == "n't" and found.group() in ("will", "can"):
            said = " not"
        return _put(claim, (found.end(), found.end()), said)
    past = _PAST.search(claim)
    return _put(claim, past.span(1), f"never {past.group(1)}") if past else ""


def _undenied(claim: str) -> str:
    found = _DENIED.search(claim)
    if not found or len(_DENIED.findall(claim)) > 1:
        return ""
    new = "with" if found.group(1) else "some" if found.group(2) else ""
    return _put(claim, found.span(), new)
