"""Scores windows of sentences by how well they answer a question, and estimates the confidence.

The score is linear and computed in three steps: cheap features (passage rank, matched words
weighted by rarity) choose ``READ`` windows; the reader network scores these; the cosines of the two
sentences that it marks in each of the best ``NEAREST`` reorder them.
The weights, and those of the logistic regression for the confidence, are in
``extract_weights.json``; ``benchmarks/train_extracts.py`` fits them with whole data sets held out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from wellread.ask.retrieve.search import is_said_by, sentences_of
from wellread.ask.understand.planted_orders import find_prompt_injection
from wellread.ask.write.stated_values import columns_at, is_row, most_stated
from wellread.models.base import Embedder, PassageReader
from wellread.models.word_pieces import reads
from wellread.text.languages import ENGLISH, language_of
from wellread.text.parsed import numbers_as_in, parse
from wellread.text.sentences import is_name_and_value, readable_row, sentence_spans
from wellread.types import Span
from wellread.values.answers import Evidence

WINDOW = 120  # words; 80 lose 8% of the questions (measured on seven sets)
AROUND = 3_000  # characters on each side of an extract that are searched for its list or table
MIN_FOLLOWING_WORDS = 50  # shown after the last answering sentence
MAX_LIST_WORDS = 260  # in a list or table that is shown completely
MAX_LEAD_WORDS = 60  # in an introductory line that is shown with its list
MAX_HEADING_WORDS = 12  # in a heading, which is a line without a final stop
_LINE = re.compile(r"[^\n]+")
_BULLET = re.compile(r"[ \t]*(?:[-*+•‣▪–]|\(?\d{1,3}[.)])[ \t]+(?=\S)")
_STOPS = (".", "!", "?", "…", "。", "！", "？", "।", ":", ";")
_CLOSING = "\"'”’)]*_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Neighbouring sentences of a piece of evidence, given by its index.

    ``sentences`` are spans in the piece's text and ``texts`` their words, with column names before
    table cells. ``telling``: whether each is a sentence, item or row and not a heading;
    ``stated``: whether it is a row, or a name and its value. ``above``
    has the title, the headings and the speakers. ``apart``: the words of other speakers between the
    sentences are left out.
    """

    piece: int
    sentences: tuple[Span, ...]
    texts: tuple[str, ...]
    telling: tuple[bool, ...]
    stated: tuple[bool, ...] = ()
    above: str = ""
    speakers: tuple[str, ...] = ()
    apart: bool = False

    @property
    def text(self) -> str:
        """All sentences, on one line."""
        return " ".join(self.texts)

    @property
    def prose(self) -> float:
        """The share of words in sentences, items or rows rather than headings."""
        sizes = [len(text.split()) for text in self.texts]
        count = sum(size for size, telling in zip(sizes, self.telling, strict=True) if telling)
        return count / (sum(sizes) or 1)


def windows_of(number: int, piece: Evidence, voices: Sequence[str]) -> list[Window]:
    """Split a piece of evidence into overlapping windows; with ``voices``, only of their words."""
    sentences = readable_sentences(piece, voices)
    above = " › ".join(dict.fromkeys((piece.hit.document.title, *piece.locator.heading)))
    sizes = [len(text.split()) for _, _, text in sentences]
    windows: list[Window] = []
    start = 0
    while start < len(sentences):
        end, size = start, 0
        while end < len(sentences) and (end == start or size + sizes[end] <= WINDOW):
            size += sizes[end]
            end += 1
        run = sentences[start:end]
        speakers = tuple(dict.fromkeys(speaker for speaker, _, _ in run if speaker))
        windows.append(
            Window(
                piece=number,
                sentences=tuple(span for _, span, _ in run),
                texts=tuple(text for _, _, text in run),
                telling=tuple(is_prose(piece, span, text) for _, span, text in run),
                stated=tuple(is_stated(piece, span) for _, span, _ in run),
                above=f"{above}: {', '.join(speakers)}" if speakers else above,
                speakers=speakers,
                apart=bool(voices),
            )
        )
        if end == len(sentences):
            break
        start += max(1, (end - start) // 2)
    return windows


def readable_sentences(piece: Evidence, voices: Sequence[str] = ()) -> list[tuple[str, Span, str]]:
    """The speaker, the span in the piece's text, and the display text of each sentence.

    Prompt injection is left out; with ``voices`` all that others say is left out too.
    """
    planted = find_prompt_injection(piece.text)
    return [
        (speaker, span, text)
        for speaker, span, text in _display_sentences(piece)
        if not any(span.overlaps(order) for order in planted)
        and (not voices or is_said_by(piece, speaker, text, voices))
    ]


def _display_sentences(piece: Evidence) -> Iterator[tuple[str, Span, str]]:
    """Yield speaker, span and display text of each sentence; cells get their column names."""
    for speaker, span in sentences_of(piece):
        columns, text = columns_at(piece, piece.span.start + span.start), span.of(piece.text)
        yield speaker, span, readable_row(text, columns) if columns else " ".join(text.split())


def is_prose(piece: Evidence, span: Span, line: str) -> bool:
    """Whether a sentence is more than a heading: a short separate line without a final stop."""
    before = piece.text[piece.text.rfind("\n", 0, span.start) + 1 : span.start]
    is_heading = len(line.split()) <= MAX_HEADING_WORDS and not line.rstrip(_CLOSING).endswith(
        _STOPS
    )
    return not is_heading or bool(before.strip()) or is_stated(piece, span)


def is_stated(piece: Evidence, span: Span) -> bool:
    """Whether a line is a row of a table, also one with a single cell, or a name and its value."""
    line, place = span.of(piece.text), piece.span.start + span.start
    return is_row(line) or is_name_and_value(line) or bool(columns_at(piece, place))


# --- context around a span -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the text, classified as list item, table row or neither."""

    span: Span
    kind: str  # "item", "row" or ""
    alone: bool  # follows a blank line
    text: str


def add_context(text: str, stretch: Span, marked: Sequence[Span]) -> list[Span]:
    """Extend ``stretch`` so that it can be read by itself; returns spans of ``text`` in order.

    A short list or table that contains ``marked`` is shown completely. The line that introduces a
    list or the header of a table comes first, as a span of its own if it is not adjacent.
    """
    lines = list(_lines(text))
    covered = [at for at, line in enumerate(lines) if line.span.overlaps(stretch)]
    if not covered:
        return [stretch]
    start, end = stretch.start, stretch.end
    if lines[covered[-1]].text.endswith(":") and covered[-1] + 1 < len(lines):
        first, last = _block_around(lines, covered[-1] + 1)
        listed_lines = lines[first : last + 1]
        if lines[covered[-1] + 1].kind and _count_words(listed_lines) <= MAX_LIST_WORDS:
            end = max(end, lines[last].span.end)
    listed = [at for at in covered if lines[at].kind and any(map(lines[at].span.overlaps, marked))]
    before: list[Span] = []
    if listed:
        first, last = _block_around(lines, listed[0])
        lead = _lead_in(lines, first)
        if _count_words(lines[first : last + 1]) <= MAX_LIST_WORDS:
            start, end = min(start, lines[first].span.start), max(end, lines[last].span.end)
        elif lines[first].kind == "row" and lines[first].span.end <= start:
            before.append(lines[first].span)
        if lead is not None:
            if start <= lines[lead + 1].span.start:
                start = min(start, lines[lead].span.start)
            elif lines[lead].span.end <= start:
                before.insert(0, lines[lead].span)
    return [*before, Span(start=start, end=end)]


def extend_forward(text: str, stretch: Span, marked: Sequence[Span]) -> Span:
    """Extend ``stretch`` until ``MIN_FOLLOWING_WORDS`` words follow the last of ``marked``.

    A window may end right after an announcement ("There are three ways.").
    """
    last = max((span.end for span in marked), default=stretch.end)
    end = stretch.end
    for sentence in sentence_spans(text[end:]):
        if len(text[last:end].split()) >= MIN_FOLLOWING_WORDS:
            break
        end = stretch.end + sentence.end
    return Span(start=stretch.start, end=end)


def _lines(text: str) -> Iterator[_Line]:
    previous_end = 0
    for match in _LINE.finditer(text):
        line = match.group().strip()
        if not any(char.isalnum() for char in line):
            continue
        bullet = _BULLET.match(match.group())
        kind = "item" if bullet else "row" if is_row(line) else ""
        start = match.start() + len(match.group()) - len(match.group().lstrip())
        alone = text.count("\n", previous_end, match.start()) > 1
        previous_end = match.end()
        yield _Line(Span(start=start, end=start + len(line)), kind, alone, line)


def _block_around(lines: Sequence[_Line], at: int) -> tuple[int, int]:
    """Indexes of the first and last line of the list or table around line ``at``."""
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


def _lead_in(lines: Sequence[_Line], first: int) -> int | None:
    if not first or lines[first - 1].kind:
        return None
    line = lines[first - 1]
    return first - 1 if len(line.text.split()) <= MAX_LEAD_WORDS else None


def _count_words(lines: Sequence[_Line]) -> int:
    return sum(len(line.text.split()) for line in lines)


def sentences_in(text: str, spans: Sequence[Span]) -> list[Span]:
    """The sentences of ``text`` within ``spans``, in order."""
    return [part.moved(span.start) for span in spans for part in sentence_spans(span.of(text))]


FILE = "extract_weights.json"
READ = 8  # windows that the network reads
NEAREST = 4  # best windows that are compared by embedding
MARKED = 2  # sentences of a window that are marked as the answer
MOST_ODDS = 8.0
FREE = ("rank", "log_rank", "cover", "cover_above", "prose")
NETWORK = ("odds", "peak")
TOLD = ("told",)
COLUMNS = (*FREE, *NETWORK, *TOLD)
MODES = {
    "free": FREE,
    "network": FREE + NETWORK,
    "full": FREE + NETWORK + TOLD,
}
SURE = ("most_odds", "odds", "most_told", "told", "most_cover", "cover", "lead", "rank")
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedWindows:
    """The windows that reached the last step, best first, with the softmax of their scores.

    ``best`` has for each window the indexes of its sentences, the most likely answer first;
    ``readings`` are the features from which the confidence is computed.
    """

    windows: tuple[Window, ...]
    shares: tuple[float, ...]
    best: tuple[tuple[int, ...], ...]
    confidence: float
    readings: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """The models that score windows; either may be missing. The embedder serves the network."""

    network: PassageReader | None
    embedder: Embedder | None

    @property
    def mode(self) -> str:
        """The set of weights to use: ``full``, ``network`` or ``free``."""
        if self.network is None:
            return "free"
        return "network" if self.embedder is None else "full"


def rank_windows(
    question: str,
    windows: Sequence[Window],
    evidence: Sequence[Evidence],
    readers: Readers,
    *,
    limits: tuple[int, int] = (READ, NEAREST),
    asked: str = "",
) -> RankedWindows:
    """Rank the windows by how likely they answer ``question``.

    Args:
        limits: how many windows to read and to compare.
        asked: the question with the words of its limits, by which rows are chosen: a year may be
            in the table too.
    """
    question = numbers_as_in(question, [piece.text for piece in evidence])
    if not reads(question):
        readers = replace(readers, network=None, embedder=None)  # words alone decide
    language = language_of(question, {piece.hit.document.language for piece in evidence})
    table = free_columns(question, windows, evidence, language)
    weights = load_weights()
    order = _descending(table @ weights.score["free"])[: limits[0]]
    chosen = {at: _by_words(question, windows[at], language) for at in order}
    if readers.network is not None:
        chosen |= add_network_scores(question, windows, order, table, readers.network)
        order = _by_score(order, table @ weights.score["network"])
    if readers.mode == "full" and readers.embedder is not None:
        nearest = order[: limits[1]]
        marked = {at: chosen[at][:MARKED] for at in nearest}
        add_marked_cosines(question, windows, marked, table, readers.embedder)
        order = _by_score(nearest, table @ weights.score["full"])
    scores = table @ weights.score[readers.mode]
    shares = np.exp(scores[order] - scores[order].max()) if order else np.zeros(0)
    readings = confidence_features(table[order], scores[order], [windows[at].piece for at in order])
    return RankedWindows(
        windows=tuple(windows[at] for at in order),
        shares=tuple(float(share) for share in shares / (shares.sum() or 1.0)),
        best=tuple(_stated_first(asked or question, windows[at], chosen[at]) for at in order),
        confidence=weights.confidence(readers.mode, readings) if order else 0.0,
        readings=readings,
    )


def free_columns(
    question: str,
    windows: Sequence[Window],
    evidence: Sequence[Evidence],
    language: str = ENGLISH,
) -> Matrix:
    """A row of ``COLUMNS`` for each window, with the columns of models set to 0.

    Matched words are weighted by their rarity among the pieces of evidence.
    """
    terms = parse(question, language).stem_set
    texts = [parse(piece.text, language).stem_set for piece in evidence]
    frequency = {stem: sum(stem in item for item in texts) for stem in terms}
    rarity = {stem: math.log((len(texts) + 1) / (1 + frequency[stem])) + 0.1 for stem in terms}
    total_rarity = math.fsum(rarity.values()) or 1.0
    table = np.zeros((len(windows), len(COLUMNS)))
    ranks = _ranks(evidence)
    for row, window in zip(table, windows, strict=True):
        piece = evidence[window.piece]
        window_stems = parse(window.text, language).stem_set
        heading = parse(piece.heading.content, language).stem_set
        above = heading | parse(" ".join(window.speakers), language).stem_set
        row[: len(FREE)] = (
            ranks[window.piece],
            math.log1p(ranks[window.piece]),
            math.fsum(rarity[stem] for stem in terms & window_stems) / total_rarity,
            math.fsum(rarity[stem] for stem in terms & (window_stems | above)) / total_rarity,
            window.prose,
        )
    return table


def _ranks(evidence: Sequence[Evidence]) -> list[int]:
    """The rank of each piece; an added document opening ranks just below its best passage."""
    order: list[int] = []
    for at, piece in enumerate(evidence):
        same_document = (
            index for index in order if evidence[index].hit.document.id == piece.hit.document.id
        )
        best = next(same_document, None) if not piece.hit.ranks else None
        order.insert(len(order) if best is None else order.index(best) + 1, at)
    return [order.index(at) for at in range(len(evidence))]


def add_network_scores(
    question: str, windows: Sequence[Window], order: Sequence[int], table: Matrix,
    network: PassageReader,
) -> dict[int, tuple[int, ...]]:  # fmt: skip
    """Fill in the network's scores of the windows at ``order``; return their best sentences."""
    texts = [(windows[at].above, *windows[at].texts) for at in order]
    readings = network.read(question, texts)
    odds, peak = COLUMNS.index("odds"), COLUMNS.index("peak")
    best: dict[int, tuple[int, ...]] = {}
    for at, reading in zip(order, readings, strict=True):
        table[at, odds] = min(MOST_ODDS, max(-MOST_ODDS, reading.answers))
        sentence_scores = np.asarray(reading.sentences)[1:]
        table[at, peak] = math.exp(sentence_scores.max(initial=-MOST_ODDS))
        best[at] = tuple(_descending(sentence_scores))
    return best


def add_marked_cosines(
    question: str, windows: Sequence[Window], marked: Mapping[int, Sequence[int]], table: Matrix,
    embedder: Embedder,
) -> None:  # fmt: skip
    """Fill in, for some windows, the best cosine of their ``marked`` sentences."""
    texts = [windows[at].texts[place] for at, indexes in marked.items() for place in indexes]
    if not texts:
        return
    question_vector = embedder.embed([question], "query")[0]
    cosines = iter((embedder.embed(texts, "passage") @ question_vector).tolist())
    column = COLUMNS.index("told")
    for at, indexes in marked.items():
        table[at, column] = 10 * max(next(cosines) for _ in indexes)


def confidence_features(table: Matrix, scores: Matrix, pieces: Sequence[int]) -> dict[str, float]:
    """The features for the confidence, from windows ordered best first."""
    if not len(table):
        return dict.fromkeys(SURE, 0.0)
    column = {name: table[:, at] for at, name in enumerate(COLUMNS)}
    second = next((at for at, piece in enumerate(pieces) if piece != pieces[0]), None)
    return {
        "most_odds": float(column["odds"].max()),
        "odds": float(column["odds"][0]),
        "most_told": float(column["told"].max()),
        "told": float(column["told"][0]),
        "most_cover": float(column["cover_above"].max()),
        "cover": float(column["cover_above"][0]),
        "lead": float(scores[0] - scores[second]) if second is not None else 2.0,
        "rank": float(column["rank"][0]),
    }


# --- fitted weights --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weights of each mode, fitted with the named embedder.

    ``score`` has a weight for each of ``COLUMNS``; ``sure`` the bias of the logistic regression,
    and a weight for each of ``SURE``.
    """

    embedder: str
    score: Mapping[str, Matrix]
    sure: Mapping[str, tuple[float, Matrix]]

    def confidence(self, mode: str, readings: Mapping[str, float]) -> float:
        """The probability that the shown windows contain the answer."""
        bias, weights = self.sure[mode]
        odds = bias + float(weights @ np.array([readings[name] for name in SURE]))
        return 1 / (1 + math.exp(-min(50.0, max(-50.0, odds))))


@cache
def load_weights() -> Weights:
    """The weights that ship with the package."""
    text = resources.files("wellread.ask.write").joinpath(FILE).read_text(encoding="utf-8")
    data = json.loads(text)
    return Weights(
        embedder=str(data["embedder"]),
        score={
            mode: np.array([float(part.get(name, 0.0)) for name in COLUMNS])
            for mode, part in data["score"].items()
        },
        sure={
            mode: (float(part["bias"]), np.array([float(part.get(name, 0.0)) for name in SURE]))
            for mode, part in data["sure"].items()
        },
    )


def fits_weights(embedder: Embedder) -> bool:
    """Whether the weights were fitted with the cosines of ``embedder``.

    Only the model's name counts, as other precisions have the same cosines.
    """
    return embedder.identity.partition("/")[0] == load_weights().embedder


def _by_words(question: str, window: Window, language: str) -> tuple[int, ...]:
    terms = parse(question, language).stem_set
    return tuple(
        _descending(
            np.array([len(terms & parse(text, language).stem_set) for text in window.texts])
        )
    )


def _stated_first(question: str, window: Window, best: tuple[int, ...]) -> tuple[int, ...]:
    """Only the rows or values that share most with the question, if the best sentence is one."""
    first = next((at for at in best if window.telling[at]), None)
    stated = [at for at in best if window.stated and window.stated[at]]
    if first is None or not stated:
        return best
    chosen = most_stated(question, window.texts, [*dict.fromkeys([first, *stated])])
    return chosen if chosen and set(chosen) <= set(stated) else best


def _descending(values: Matrix) -> list[int]:
    return [int(at) for at in np.argsort(-values, kind="stable")]


def _by_score(places: Sequence[int], scores: Matrix) -> list[int]:
    return sorted(places, key=lambda at: -scores[at])
