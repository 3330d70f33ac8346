"""Who said it: is every sentence that is given as somebody's their own?

    python -m benchmarks.speakers            # extracted, then with a careless scripted model

400 questions ("What did X say about Y?" in six wordings) over every fifth Optech recap and eight
QMSum meetings written as WebVTT captions of twelve words. X is a speaker, Y a topic of Optech or of
the meeting; in four of five X has a turn that names Y, else X never does. Whose a delivered
sentence is is read from the source's own turns by patterns of this module, wherever its words stand
there; our marks are not asked. ``another's`` is the share of delivered sentences that X does not
say, ``answered`` the share of the questions that X says something on, ``declined`` the share of the
others that get no answer.

The scripted model copies sentences from every passage of its prompt, whoever says them: what is
delivered of these is what checking lets through. ``named`` is the share of the turns in its prompts
that stand under their speaker's name.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from benchmarks.homes import COLLECTION, default_embedder, filled
from benchmarks.paths import eval_data
from benchmarks.record import save
from benchmarks.sets.reading import read_lines
from wellread.ask.answer import answer, final
from wellread.evaluation.scores import bootstrap
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import ModelUsage, Prompt, TextDelta
from wellread.types import Filters
from wellread.values.answers import Answer, Question

NAME, SEED = "speakers", 5
RECAPS, MEETINGS = 5, 8
QUESTIONS, SILENT = 400, 0.2  # of the questions: the speaker never names the topic
CUE = 12  # words
PACE = 0.4  # seconds a word
WORDINGS = (
    "What did {who} say about {what}?",
    "What does {who} think about {what}?",
    "What is {who}'s view on {what}?",
    "According to {who}, what is important about {what}?",
    "What would {who} say about {what}?",
    "What did {who} explain about {what}?",
)
_TURN = re.compile(r"^\*\*([^*\n]+)\*\*: ", re.MULTILINE)
_TITLE = re.compile(r"^title:\s*(.+)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])|\{[{%].*?[%}]\}|^_[^_\n]+_$", re.M | re.S)
_PASSAGE = re.compile(r"<passage-(\w+) key=\"(\w+)\">\n(.*?)\n</passage-\1>", re.DOTALL)
_END = re.compile(r"(?<=[.!?])\s+")
LEAST = 20  # letters and digits by which a sentence is found


@dataclass(frozen=True, slots=True)
class Turns:
    """What is said in one source: the letters and digits of all turns, and whose each is."""

    said: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """All turns as one run of letters and digits."""
        return "".join(bare(text) for _, text in self.said)

    def speakers_of(self, sentence: str) -> set[str]:
        """Everybody in whose turn ``sentence`` stands, be it in part; nobody: it is not there."""
        wanted, whole = bare(sentence), self.text
        ends = list(accumulate(len(bare(text)) for _, text in self.said))
        found: set[str] = set()
        at = whole.find(wanted) if wanted else -1
        while at >= 0:
            first, last = bisect_right(ends, at), bisect_right(ends, at + len(wanted) - 1)
            found |= {self.said[turn][0] for turn in range(first, last + 1)}
            at = whole.find(wanted, at + 1)
        return found


@dataclass(frozen=True, slots=True)
class Case:
    """A question, whose words it asks for, and whether they say something on it."""

    text: str
    who: str
    speaks: bool


def main() -> None:
    """Ask, print, write ``results/speakers.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--show", type=int, default=10, help="wrong sentences to print")
    options = parser.parse_args()
    with filled(NAME, write) as kb:
        sources = turns_by_title()
        cases = cases_of(sources, options.questions)
        figures: dict[str, Any] = {"extracted": measured(kb, cases, sources, options.show)}
        model = Careless(lambda prompt: named_in(prompt, sources))
        with open_kb(kb.home, embedder=default_embedder(), model=model) as asking:
            figures["careless model"] = measured(asking, cases[::4], sources, options.show)
        turns = [right for one in model.named for right in one]
        figures["careless model"]["named"] = sum(turns) / max(1, len(turns))
        figures["careless model"]["turns in prompts"] = len(turns)
    for name, row in figures.items():
        print(name, {key: value for key, value in row.items() if key != "wrong"})
    if options.questions == QUESTIONS:
        print(save(NAME, figures))


# --- material and questions ------------------------------------------------------------------


def recaps() -> list[Path]:
    """Every fifth recap."""
    return sorted(eval_data("bitcoin_optech", "_posts", "en", "podcast").glob("*.md"))[::RECAPS]


def meetings() -> list[Any]:
    """The meetings that are captioned."""
    return read_lines(eval_data("qmsum", "val.jsonl"))[:MEETINGS]


def write(folder: Path) -> None:
    """The recaps as they are, and the meetings as captions."""
    for path in recaps():
        (folder / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    for number, meeting in enumerate(meetings()):
        lines = ["WEBVTT", "", "NOTE", f"title: Meeting {number}", ""]
        clock = 0.0
        for who, text in said_in(meeting):
            words = text.split()
            for at in range(0, len(words), CUE):
                cue = words[at : at + CUE]
                lines += [f"{_time(clock)} --> {_time(clock + PACE * len(cue))}"]
                lines += [f"<v {who}>{' '.join(cue)}", ""]
                clock += PACE * len(cue)
        (folder / f"meeting-{number:02}.vtt").write_text("\n".join(lines), encoding="utf-8")


def _time(seconds: float) -> str:
    minutes, left = divmod(seconds, 60)
    return f"{int(minutes) // 60:02}:{int(minutes) % 60:02}:{left:06.3f}"


def said_in(meeting: Any) -> Iterator[tuple[str, str]]:
    """Speaker and words of each turn of a meeting."""
    for turn in meeting["meeting_transcripts"]:
        text = re.sub(r"\{[^}]*\}|[<>&]|-->", " ", turn["content"])
        yield turn["speaker"].partition(" (")[0].strip(), " ".join(text.split())


def turns_by_title() -> dict[str, Turns]:
    """The turns of each source by its title."""
    found: dict[str, Turns] = {}
    for path in recaps():
        text = path.read_text(encoding="utf-8")
        title = _TITLE.search(text)
        marks = list(_TURN.finditer(text))
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        said = tuple(
            (mark[1].strip(), _LINK.sub(r"\1", text[mark.end() : end]))
            for mark, end in zip(marks, ends, strict=True)
        )
        found[title[1].strip("'\" ") if title else path.stem] = Turns(said)
    for number, meeting in enumerate(meetings()):
        found[f"Meeting {number}"] = Turns(tuple(said_in(meeting)))
    return found


def bare(text: str) -> str:
    """The letters and digits alone."""
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def cases_of(sources: dict[str, Turns], count: int) -> list[Case]:
    """The questions, half on recaps and half on captions, in an order by chance."""
    names = [path.read_text(encoding="utf-8") for path in sorted(_topics().glob("*.md"))]
    topics = [
        found[1].strip("'\" ").partition(" (")[0]
        for text in names
        if (found := _TITLE.search(text))
    ]
    recaps_ = {name: one for name, one in sources.items() if not name.startswith("Meeting")}
    held = {name: one for name, one in sources.items() if name.startswith("Meeting")}
    subjects = [topic["topic"] for one in meetings() for topic in one["topic_list"]]
    subjects += sorted({word for one in subjects for word in re.findall(r"[a-z]{6,}", one)})
    rng = random.Random(SEED)
    cases: list[Case] = []
    for among, whats in ((recaps_, topics), (held, subjects)):
        said: dict[str, str] = {}
        for one in among.values():
            for who, text in one.said:
                said[who] = f"{said.get(who, '')} {bare_words(text)}"
        everybody = [(who, what) for who in sorted(said) for what in dict.fromkeys(whats)]
        speaks = [pair for pair in everybody if _names(said[pair[0]], pair[1])]
        silent = [pair for pair in everybody if not _touches(said[pair[0]], pair[1])]
        few = int(count / 2 * SILENT)
        drawn = [(pair, True) for pair in rng.sample(speaks, min(len(speaks), count // 2 - few))]
        drawn += [(pair, False) for pair in rng.sample(silent, min(len(silent), few))]
        for (who, what), talks in drawn:
            wording = rng.choice(WORDINGS)
            cases.append(Case(text=wording.format(who=who, what=what), who=who, speaks=talks))
    rng.shuffle(cases)
    return cases


def _topics() -> Path:
    return eval_data("bitcoin_optech", "_topics", "en")


def bare_words(text: str) -> str:
    """The words, each between single blanks."""
    return f" {' '.join(re.findall(r'[a-z0-9]+', text.casefold()))} "


def _names(said: str, what: str) -> bool:
    """Whether the topic is named, all of it, or half of the words of a meeting's long subject."""
    words = [word for word in bare_words(what).split() if len(word) > 3]
    if not words or bare_words(what) in said:
        return bool(words)
    return len(words) > 2 and all(f" {word}" in said for word in words)


def _touches(said: str, what: str) -> bool:
    return any(f" {word[:5]}" in said for word in bare_words(what).split() if len(word) > 3)


# --- asking ----------------------------------------------------------------------------------


def measured(
    kb: KnowledgeBase, cases: Sequence[Case], sources: dict[str, Turns], show: int
) -> dict[str, Any]:
    """The figures over ``cases``."""
    wrong: list[str] = []
    shares: list[float] = []
    answered = {True: 0, False: 0}
    unknown = 0
    for case in cases:
        asked = Question(text=case.text, fresh=True, filters=Filters(collections=(COLLECTION,)))
        given = asyncio.run(final(answer(kb, asked)))
        answered[case.speaks] += bool(given.citations)
        for speakers, sentence, label in delivered(given, sources):
            unknown += not speakers
            right = case.who in speakers or not speakers
            shares.append(float(not right or label not in (None, *speakers, case.who)))
            if shares[-1]:
                wrong.append(f"{case.text} | {sorted(speakers)} ({label}) | {sentence}")
    for line in wrong[:show]:
        print("  another's:", line)
    asked_of = sum(case.speaks for case in cases)
    return {
        "questions": len(cases),
        "sentences": len(shares),
        "another's": str(bootstrap(shares)) if shares else "",
        "answered": f"{answered[True]} of {asked_of}",
        "declined": f"{len(cases) - asked_of - answered[False]} of {len(cases) - asked_of}",
        "not found in the source": unknown,
        "wrong": wrong[:40],
    }


def delivered(
    given: Answer, sources: dict[str, Turns]
) -> Iterator[tuple[set[str], str, str | None]]:
    """Each cited sentence: who says it by the source, its words, and the citation's speaker."""
    by_id = {citation.id: citation for citation in given.citations}
    for sentence in given.sentences:
        for number in sentence.citations[:1]:
            citation = by_id[number]
            turns = sources.get(citation.title)
            if turns is None or len(bare(citation.quote)) < LEAST:
                continue
            yield turns.speakers_of(citation.quote), citation.quote, citation.locator.speaker


class Careless:
    """A model that copies the first sentences of every passage, and cites them."""

    identity = "scripted:careless"

    def __init__(self, look: Callable[[Prompt], list[bool]]) -> None:
        self.named: list[list[bool]] = []
        self._look = look

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | ModelUsage, None]:
        """Two sentences of each of the first four passages."""
        self.named.append(self._look(prompt))
        said = []
        for _, key, text in list(_PASSAGE.findall(prompt.user))[:4]:
            body = text.partition("text:\n")[2]
            lines = [line.partition(": ")[2] or line for line in body.split("\n")]
            found = [one for line in lines for one in _END.split(line) if len(one.split()) > 7]
            said += [f"{one.rstrip('.!?')} [{key}]." for one in found[:2]]
        yield TextDelta(text=" ".join(said) or "The evidence says nothing about it.")
        yield ModelUsage(model=self.identity, input_tokens=1, output_tokens=1)


def named_in(prompt: Prompt, sources: dict[str, Turns]) -> list[bool]:
    """For each line of what is said in the prompt: whether it stands under its speaker's name."""
    found: list[bool] = []
    for _, _, text in _PASSAGE.findall(prompt.user):
        head, _, body = text.partition("text:\n")
        title = re.search(r"^title: (.*)$", head, re.MULTILINE)
        turns = sources.get(title[1]) if title else None
        if turns is None:
            continue
        everybody = {who for who, _ in turns.said}
        alone = re.search(r"^speaker: (.*)$", head, re.MULTILINE)
        speaker = alone[1] if alone else ""
        for line in body.split("\n"):
            name, _, rest = line.partition(": ")
            if name in everybody:
                speaker, line = name, rest
            if len(bare(line)) < 2 * LEAST:
                continue
            said_by = turns.speakers_of(max(_END.split(line), key=len))
            if said_by:
                found.append(said_by == {speaker})
    return found


if __name__ == "__main__":
    main()
