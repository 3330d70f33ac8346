"""How well windows answer a question: one linear score in three steps, and how sure it is.

Free numbers (rank of the passage, matched words by their rarity) choose ``READ`` windows, the
network reads those, cosines of the two sentences that it marks order its best ``NEAREST``; without
it, cosines of the windows and of all their sentences. The weights, and those of
the logistic regression that says how likely the shown windows hold the answer, were fitted by
``benchmarks/train_extracts.py`` leaving whole sets out; they stand in ``extract_weights.json``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from wellread.ask.retrieve.relax import is_theirs, sentences_of
from wellread.ask.understand.planted_orders import planted_in
from wellread.models.base import Embedder, PassageReader
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.types import Span
from wellread.values.answers import Evidence

WINDOW = 120  # words; 80 lose .08 of the questions (measured on seven sets)
AROUND = 3_000  # characters on each side of a stretch in which its list or table is looked for
FOLLOWING = 50  # words at least that are shown behind the last sentence that answers
LONGEST_LIST = 260  # words of a list or a table that is shown whole
LONGEST_LEAD = 60  # words of a line before a list that is shown with it
LONGEST_HEADING = 12  # words of a line without a stop that is no sentence
BETWEEN_CELLS = " | "
_LINE = re.compile(r"[^\n]+")
_BULLET = re.compile(r"[ \t]*(?:[-*+•‣▪–]|\(?\d{1,3}[.)])[ \t]+(?=\S)")
_STOPS = (".", "!", "?", "…", "。", "！", "？", "।", ":", ";")
_CLOSING = "\"'”’)]*_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Neighbouring sentences of one piece of evidence.

    Attributes:
        piece: the number of the piece.
        sentences: spans of the piece's text, in order.
        texts: the same, on one line each; the cells of a row with those of its header.
        above: the title and the headings over the piece, and who speaks.
        telling: which of them are sentences, items or rows, and no bare lines as headings are.
        speakers: who says them; empty where nobody speaks.
        apart: whether what others say between and behind them is left out.
    """

    piece: int
    sentences: tuple[Span, ...]
    texts: tuple[str, ...]
    telling: tuple[bool, ...]
    above: str = ""
    speakers: tuple[str, ...] = ()
    apart: bool = False

    @property
    def text(self) -> str:
        """All of it, on one line."""
        return " ".join(self.texts)

    @property
    def prose(self) -> float:
        """The share of its words that stand in sentences, items or rows, not in bare lines."""
        sizes = [len(text.split()) for text in self.texts]
        told = sum(size for size, telling in zip(sizes, self.telling, strict=True) if telling)
        return told / (sum(sizes) or 1)


def windows_of(number: int, piece: Evidence, voices: Sequence[str]) -> list[Window]:
    """The windows of a piece of evidence; of what ``voices`` say alone, where there are any."""
    told = told_in(piece, voices)
    above = " › ".join(dict.fromkeys((piece.hit.document.title, *piece.locator.heading)))
    sizes = [len(text.split()) for _, _, text in told]
    windows: list[Window] = []
    start = 0
    while start < len(told):
        end, size = start, 0
        while end < len(told) and (end == start or size + sizes[end] <= WINDOW):
            size += sizes[end]
            end += 1
        run = told[start:end]
        speakers = tuple(dict.fromkeys(speaker for speaker, _, _ in run if speaker))
        windows.append(
            Window(
                piece=number,
                sentences=tuple(span for _, span, _ in run),
                texts=tuple(text for _, _, text in run),
                telling=tuple(tells(piece.text, span, text) for _, span, text in run),
                above=f"{above}: {', '.join(speakers)}" if speakers else above,
                speakers=speakers,
                apart=bool(voices),
            )
        )
        if end == len(told):
            break
        start += max(1, (end - start) // 2)
    return windows


def told_in(piece: Evidence, voices: Sequence[str] = ()) -> list[tuple[str, Span, str]]:
    """Who says each sentence, its span of the piece's text, and its text as it is read.

    Orders to whoever answers, planted in a source, are left out.
    """
    planted = planted_in(piece.text)
    return [
        (speaker, span, text)
        for speaker, span, text in _read_in(piece)
        if not any(span.overlaps(order) for order in planted)
        and (not voices or is_theirs(piece, speaker, text, voices))
    ]


def _read_in(piece: Evidence) -> Iterator[tuple[str, Span, str]]:
    """Who says each sentence, its span, and its text as it is read."""
    header: list[str] = []
    for speaker, span in sentences_of(piece):
        text = " ".join(span.of(piece.text).split())
        cells = [cell.strip() for cell in text.split(BETWEEN_CELLS)] if is_row(text) else []
        if header and len(cells) == len(header):
            text = "; ".join(f"{name}: {cell}" for name, cell in zip(header, cells, strict=True))
        else:
            header = cells
        yield speaker, span, text


def tells(text: str, span: Span, line: str) -> bool:
    """Whether a sentence is more than a short line of its own without a stop."""
    before = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    bare = len(line.split()) <= LONGEST_HEADING and not line.rstrip(_CLOSING).endswith(_STOPS)
    return not bare or bool(before.strip()) or is_row(span.of(text))


def is_row(line: str) -> bool:
    """Whether a line is a row of a table, as the loaders write it."""
    return BETWEEN_CELLS in line.strip()


# --- what a stretch needs around it ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the text: its span, and whether it is an item, a row, or neither."""

    span: Span
    kind: str  # "item", "row" or ""
    alone: bool  # a blank line stands before it
    text: str


def completed(text: str, stretch: Span, marked: Sequence[Span]) -> list[Span]:
    """The spans of ``text`` that show ``stretch`` so that it can be read by itself, in order.

    The stretch itself, or the whole list or table in which ``marked`` stands where that is short;
    before it the line that introduces the list, or the header of the table, which may stand apart.
    """
    lines = list(_lines(text))
    held = [at for at, line in enumerate(lines) if _meet(line.span, stretch)]
    if not held:
        return [stretch]
    start, end = stretch.start, stretch.end
    if lines[held[-1]].text.endswith(":") and held[-1] + 1 < len(lines):
        first, last = _run(lines, held[-1] + 1)
        shown = lines[first : last + 1]
        if lines[held[-1] + 1].kind and _words(shown) <= LONGEST_LIST:
            end = max(end, lines[last].span.end)
    listed = [at for at in held if lines[at].kind and _marked(lines[at].span, marked)]
    before: list[Span] = []
    if listed:
        first, last = _run(lines, listed[0])
        lead = _lead(lines, first)
        if _words(lines[first : last + 1]) <= LONGEST_LIST:
            start, end = min(start, lines[first].span.start), max(end, lines[last].span.end)
        elif lines[first].kind == "row" and lines[first].span.end <= start:
            before.append(lines[first].span)
        if lead is not None:
            if start <= lines[lead + 1].span.start:
                start = min(start, lines[lead].span.start)
            elif lines[lead].span.end <= start:
                before.insert(0, lines[lead].span)
    return [*before, Span(start=start, end=end)]


def carried_on(text: str, stretch: Span, marked: Sequence[Span]) -> Span:
    """``stretch`` with the sentences behind it, until enough follows the last of ``marked``.

    A window ends where its room does; what a sentence announces ("There are three ways.") follows.
    """
    last = max((span.end for span in marked), default=stretch.end)
    end = stretch.end
    for sentence in sentence_spans(text[end:]):
        if len(text[last:end].split()) >= FOLLOWING:
            break
        end = stretch.end + sentence.end
    return Span(start=stretch.start, end=end)


def _lines(text: str) -> Iterator[_Line]:
    last = 0
    for match in _LINE.finditer(text):
        line = match.group().strip()
        if not any(char.isalnum() for char in line):
            continue
        bullet = _BULLET.match(match.group())
        kind = "item" if bullet else "row" if is_row(line) else ""
        start = match.start() + len(match.group()) - len(match.group().lstrip())
        alone = text.count("\n", last, match.start()) > 1
        last = match.end()
        yield _Line(Span(start=start, end=start + len(line)), kind, alone, line)


def _run(lines: Sequence[_Line], at: int) -> tuple[int, int]:
    """The first and the last line of the list or table around the line ``at``."""
    kind = lines[at].kind
    first = last = at
    while (
        first > 0 and lines[first - 1].kind == kind and not (kind == "row" and lines[first].alone)
    ):
        first -= 1
    while last + 1 < len(lines) and lines[last + 1].kind == kind:
        if kind == "row" and lines[last + 1].alone:
            break
        last += 1
    return first, last


def _lead(lines: Sequence[_Line], first: int) -> int | None:
    """The line that introduces the list that begins at ``first``; None without one."""
    if not first or lines[first - 1].kind:
        return None
    line = lines[first - 1]
    return first - 1 if len(line.text.split()) <= LONGEST_LEAD else None


def _words(lines: Sequence[_Line]) -> int:
    return sum(len(line.text.split()) for line in lines)


def _marked(line: Span, marked: Sequence[Span]) -> bool:
    return any(_meet(line, span) for span in marked)


def _meet(span: Span, other: Span) -> bool:
    return span.start < other.end and other.start < span.end


def sentences_in(text: str, spans: Sequence[Span]) -> list[Span]:
    """The sentences of ``text`` that stand in ``spans``, in order."""
    return [
        Span(start=span.start + part.start, end=span.start + part.end)
        for span in spans
        for part in sentence_spans(span.of(text))
    ]


FILE = "extract_weights.json"
READ = 8  # windows that the network reads
NEAREST = 4  # of them, best first, whose vectors are compared
MARKED = 2  # sentences of a window, best first, that answer
SENTENCES = 40  # most sentences that are embedded
MOST_ODDS = 8.0
FREE = ("rank", "log_rank", "cover", "cover_above", "prose")
NETWORK = ("odds", "peak")
TOLD = ("told",)
COSINES = ("cosine", "sentence")
COLUMNS = (*FREE, *NETWORK, *TOLD, *COSINES)
MODES = {
    "free": FREE,
    "network": FREE + NETWORK,
    "cosines": FREE + COSINES,
    "full": FREE + NETWORK + TOLD,
}
SURE = ("most_odds", "odds", "most_told", "told", "most_cosine", "most_sentence", "sentence",
        "most_cover", "cover", "lead", "rank")  # fmt: skip
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Windows with their scores, best first.

    Attributes:
        windows: those that went through all steps first, then the others in the order of the
            step that they left at.
        shares: how likely each of the first ones is to hold the answer, as the score has it.
        best: of each window its sentences, most likely to answer first.
        confidence: how likely the three best of different places hold the answer, 0-1.
        readings: what that was worked out from, by name.
    """

    windows: tuple[Window, ...]
    shares: tuple[float, ...]
    best: tuple[tuple[int, ...], ...]
    confidence: float
    readings: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """Who reads windows: a network, the embedder whose cosines the weights know, or nobody."""

    network: PassageReader | None
    embedder: Embedder | None

    @property
    def mode(self) -> str:
        """Which weights count: ``full``, ``network``, ``cosines`` or ``free``."""
        if self.network is None:
            return "free" if self.embedder is None else "cosines"
        return "network" if self.embedder is None else "full"


def judged(
    question: str,
    windows: Sequence[Window],
    evidence: Sequence[Evidence],
    readers: Readers,
    *,
    most: tuple[int, int] = (READ, NEAREST),
) -> Judged:
    """The windows in the order in which they promise to answer ``question``."""
    table = free_columns(question, windows, evidence)
    weights = learned()
    order = _best(table @ weights.score["free"])[: most[0]]
    chosen = {at: _by_words(question, windows[at]) for at in order}
    if readers.network is not None:
        chosen |= read(question, windows, order, table, readers.network)
        order = _sorted(order, table @ weights.score["network"])
    if readers.embedder is not None:
        near = order[: most[1]]
        if readers.network is None:
            chosen |= compare(question, windows, near, table, readers.embedder)
        else:
            marked = {at: chosen[at][:MARKED] for at in near}
            compare_marked(question, windows, marked, table, readers.embedder)
        order = _sorted(near, table @ weights.score[readers.mode])
    scores = table @ weights.score[readers.mode]
    shares = np.exp(scores[order] - scores[order].max()) if order else np.zeros(0)
    readings = sure_readings(table[order], scores[order], [windows[at].piece for at in order])
    return Judged(
        windows=tuple(windows[at] for at in order),
        shares=tuple(float(share) for share in shares / (shares.sum() or 1.0)),
        best=tuple(chosen[at] for at in order),
        confidence=weights.confidence(readers.mode, readings) if order else 0.0,
        readings=readings,
    )


def free_columns(question: str, windows: Sequence[Window], evidence: Sequence[Evidence]) -> Matrix:
    """A row of ``COLUMNS`` for each window, of which those of models are 0.

    Words count by their rarity among the pieces of evidence.
    """
    asked = parse(question).stem_set
    held = [parse(piece.text).stem_set for piece in evidence]
    among = {stem: sum(stem in one for one in held) for stem in asked}
    rarity = {stem: math.log((len(held) + 1) / (1 + among[stem])) + 0.1 for stem in asked}
    whole = math.fsum(rarity.values()) or 1.0
    table = np.zeros((len(windows), len(COLUMNS)))
    ranks = _ranks(evidence)
    for row, window in zip(table, windows, strict=True):
        piece = evidence[window.piece]
        own = parse(window.text).stem_set
        above = piece.heading.stem_set | parse(" ".join(window.speakers)).stem_set
        row[: len(FREE)] = (
            ranks[window.piece],
            math.log1p(ranks[window.piece]),
            math.fsum(rarity[stem] for stem in asked & own) / whole,
            math.fsum(rarity[stem] for stem in asked & (own | above)) / whole,
            window.prose,
        )
    return table


def _ranks(evidence: Sequence[Evidence]) -> list[int]:
    """The place of each piece; how a document begins stands behind its best passage."""
    order: list[int] = []
    for at, piece in enumerate(evidence):
        own = (place for place in order if evidence[place].hit.document.id == piece.hit.document.id)
        best = next(own, None) if not piece.hit.ranks else None
        order.insert(len(order) if best is None else order.index(best) + 1, at)
    return [order.index(at) for at in range(len(evidence))]


def read(
    question: str, windows: Sequence[Window], places: Sequence[int], table: Matrix,
    network: PassageReader,
) -> dict[int, tuple[int, ...]]:  # fmt: skip
    """Fill in what the network says of the windows at ``places``; their sentences, best first."""
    texts = [(windows[at].above, *windows[at].texts) for at in places]
    readings = network.read(question, texts)
    odds, peak = COLUMNS.index("odds"), COLUMNS.index("peak")
    best: dict[int, tuple[int, ...]] = {}
    for at, reading in zip(places, readings, strict=True):
        table[at, odds] = min(MOST_ODDS, max(-MOST_ODDS, reading.answers))
        own = np.asarray(reading.sentences)[1:]
        table[at, peak] = math.exp(own.max(initial=-MOST_ODDS))
        best[at] = tuple(_best(own))
    return best


def compare(
    question: str, windows: Sequence[Window], places: Sequence[int], table: Matrix,
    embedder: Embedder,
) -> dict[int, tuple[int, ...]]:  # fmt: skip
    """Fill in the cosines of the windows at ``places``; their sentences, nearest first."""
    most = SENTENCES * len(places) // NEAREST
    texts = list(dict.fromkeys(text for at in places for text in windows[at].texts))[:most]
    wholes = [windows[at].text for at in places]
    if not wholes:
        return {}
    asked = embedder.embed([question], "query")[0]
    cosines = embedder.embed([*wholes, *texts], "passage") @ asked
    of_text = dict(zip(texts, map(float, cosines[len(wholes) :]), strict=True))
    whole, nearest = COLUMNS.index("cosine"), COLUMNS.index("sentence")
    best: dict[int, tuple[int, ...]] = {}
    for at, cosine in zip(places, cosines, strict=False):
        own = np.array([of_text.get(text, -1.0) for text in windows[at].texts])
        table[at, whole], table[at, nearest] = 10 * cosine, 10 * own.max()
        best[at] = tuple(_best(own))
    return best


def compare_marked(
    question: str, windows: Sequence[Window], marked: Mapping[int, Sequence[int]], table: Matrix,
    embedder: Embedder,
) -> None:  # fmt: skip
    """Fill in the best cosine of the ``marked`` sentences of some windows."""
    texts = [windows[at].texts[one] for at, places in marked.items() for one in places]
    if not texts:
        return
    asked = embedder.embed([question], "query")[0]
    cosines = iter((embedder.embed(texts, "passage") @ asked).tolist())
    column = COLUMNS.index("told")
    for at, places in marked.items():
        table[at, column] = 10 * max(next(cosines) for _ in places)


def sure_readings(table: Matrix, scores: Matrix, pieces: Sequence[int]) -> dict[str, float]:
    """What confidence is worked out from, for windows that are given best first."""
    if not len(table):
        return dict.fromkeys(SURE, 0.0)
    column = {name: table[:, at] for at, name in enumerate(COLUMNS)}
    second = next((at for at, piece in enumerate(pieces) if piece != pieces[0]), None)
    return {
        "most_odds": float(column["odds"].max()),
        "odds": float(column["odds"][0]),
        "most_told": float(column["told"].max()),
        "told": float(column["told"][0]),
        "most_cosine": float(column["cosine"].max()),
        "most_sentence": float(column["sentence"].max()),
        "sentence": float(column["sentence"][0]),
        "most_cover": float(column["cover_above"].max()),
        "cover": float(column["cover_above"][0]),
        "lead": float(scores[0] - scores[second]) if second is not None else 2.0,
        "rank": float(column["rank"][0]),
    }


# --- the numbers that come with the package --------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The fitted numbers of each mode.

    Attributes:
        embedder: the embedder with whose cosines they were fitted.
        score: a weight for each of ``COLUMNS``.
        sure: of the logistic regression the bias, and a weight for each of ``SURE``.
    """

    embedder: str
    score: Mapping[str, Matrix]
    sure: Mapping[str, tuple[float, Matrix]]

    def confidence(self, mode: str, readings: Mapping[str, float]) -> float:
        """The probability that the shown windows hold the answer."""
        bias, weights = self.sure[mode]
        odds = bias + float(weights @ np.array([readings[name] for name in SURE]))
        return 1 / (1 + math.exp(-min(50.0, max(-50.0, odds))))


@cache
def learned() -> Weights:
    """The numbers that come with the package."""
    text = resources.files("wellread.ask.write").joinpath(FILE).read_text(encoding="utf-8")
    known = json.loads(text)
    return Weights(
        embedder=str(known["embedder"]),
        score={
            mode: np.array([float(held.get(name, 0.0)) for name in COLUMNS])
            for mode, held in known["score"].items()
        },
        sure={
            mode: (float(held["bias"]), np.array([float(held.get(name, 0.0)) for name in SURE]))
            for mode, held in known["sure"].items()
        },
    )


def comparable(embedder: Embedder) -> bool:
    """Whether the cosines of ``embedder`` are those that the weights were fitted with.

    A file of another precision has the same cosines, so only the model's name counts.
    """
    return embedder.identity.partition("/")[0] == learned().embedder


def _by_words(question: str, window: Window) -> tuple[int, ...]:
    """The window's sentences, those that share most words with the question first."""
    asked = parse(question).stem_set
    return tuple(_best(np.array([len(asked & parse(text).stem_set) for text in window.texts])))


def _best(values: Matrix) -> list[int]:
    return [int(at) for at in np.argsort(-values, kind="stable")]


def _sorted(places: Sequence[int], scores: Matrix) -> list[int]:
    return sorted(places, key=lambda at: -scores[at])
