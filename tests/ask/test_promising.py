"""Passages that are not among the best, but hold a stretch with all that is asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

from wellread.answers import Question
from wellread.ask.plan import find
from wellread.ask.retrieve.further_passages import (
    LEAST,
    MOST_ADDED,
    PROMISING,
    STRETCH,
    Stretch,
    promising,
    stretches_of,
    with_promising,
)
from wellread.ask.retrieve.search import search
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters

ASKED = "How many languages does the Fennel catalogue of Port Merrin cover?"
TOLD = "The Fennel catalogue of Port Merrin covers songs in 55 different languages."
ASIDE = "Harbour masters kept ledgers of salt, rope and lamp oil through that long winter. "


def stretch(held: str, *, above: str = "", found: float = 0.5) -> Stretch:
    return Stretch(
        held=frozenset(held.split()), above=frozenset(above.split()), near=0.0, found=found
    )


def test_the_rarer_word_promises_more() -> None:
    common = [stretch("catalogue") for _ in range(5)]
    asked = frozenset({"catalogue", "language"})
    assert promising(asked, [*common, stretch("language")])[0] == 5


def test_what_the_heading_says_counts_less_than_what_the_text_says() -> None:
    asked = frozenset({"catalogue", "language"})
    headed = stretch("language", above="catalogue")
    assert promising(asked, [headed, stretch("language catalogue")]) == [1, 0]
    assert promising(asked, [stretch("language"), headed]) == [1, 0]


def test_few_are_read_and_none_that_promises_little() -> None:
    asked = frozenset({"catalogue"})
    many = [stretch("catalogue") for _ in range(PROMISING + 3)]
    assert len(promising(asked, many)) == PROMISING
    low = Stretch(held=frozenset(), above=frozenset(), near=0.0, found=LEAST / 2)
    assert promising(asked, [stretch("catalogue", found=1.0), low]) == [0]
    assert promising(asked, []) == []


def test_stretches_hold_every_sentence_once_and_are_not_long() -> None:
    sentences = [f"{'word ' * size}end." for size in (10, 200, 30, 40, 30, 5)]
    runs = stretches_of(sentences)
    assert [one for run in runs for one in run] == sentences
    assert all(len(run) == 1 or sum(len(one.split()) for one in run) <= STRETCH for run in runs)
    assert stretches_of([]) == []


def test_a_passage_that_is_about_other_things_is_read_for_its_one_sentence(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    for number in range(14):
        text = f"How many languages does a catalogue cover? Catalogue {number} covers languages."
        (files / f"{number:02}.md").write_text(f"# Note {number}\n\n{text}\n", encoding="utf-8")
    report = f"# Report\n\n{ASIDE * 6}{TOLD} {ASIDE * 6}\n"
    (files / "report.md").write_text(report, encoding="utf-8")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(files)])
        hits = search(kb, ASKED, Filters(), limit=40)
        best = [hit for hit in hits if TOLD not in hit.passage.text][:5]
        added = with_promising(ASKED, hits, best)
        assert added[: len(best)] == best
        assert len(added) <= len(best) + MOST_ADDED
        assert any(TOLD in hit.passage.text for hit in added[len(best) :])
        asked = analyse(Question(text=ASKED), vocabulary_of(kb), date(2026, 1, 15))
        found = find(kb, asked)
        assert any(TOLD in hit.passage.text for hit in getattr(found, "hits", ()))
        assert len({hit.passage.id for hit in getattr(found, "hits", ())}) == len(
            getattr(found, "hits", ())
        )


def test_what_gives_the_asked_amount_promises_more() -> None:
    asked = frozenset({"catalogue", "language"})
    giving = replace(stretch("language"), gives=True)
    assert promising(asked, [stretch("language", found=0.8), giving]) == [1, 0]
