"""Deleted and replaced rows leave no bytes in the catalogue's files once they are rewritten."""

from __future__ import annotations

import random
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.made import passages_of

from wellread.errors import StoreError
from wellread.store.catalogue import Catalogue
from wellread.store.schema.stored_values import DocumentChange, SourceChange, SourceRecord
from wellread.types import Document, Span

WORDS = "ferry harbour kelp lichen osprey notice tides winter captain sailing".split()
LENGTHS = (20, 60, 150, 300, 700)
NAMED = re.compile(rb"Says<(\d+\.\d+)>")


def change(number: int, state: int, dice: random.Random) -> SourceChange:
    """A document that says its number and state everywhere."""
    name = f"Says<{number}.{state}>"
    text = f"{name} {' '.join(dice.choices(WORDS, k=dice.choice(LENGTHS)))} {name}"
    document = Document(
        collection="main", uri=f"file:///{number}", kind="page", title=name, text=text
    )
    starts = range(0, len(text), 800)
    cuts = [Span(start=start, end=min(len(text), start + 800)) for start in starts]
    passages = passages_of(document, cuts, context=name)
    record = SourceRecord(collection="main", uri=f"s{number}", etag=name)
    made = DocumentChange(document=document, passages=passages, owes_vectors=True)
    return SourceChange(record=record, documents=[made])


def named_in(folder: Path) -> set[str]:
    """Every name that stands in the bytes of the files."""
    return {
        name.decode()
        for path in folder.glob("catalogue.db*")
        for name in NAMED.findall(path.read_bytes())
    }


def churn(catalogue: Catalogue, seed: int) -> set[str]:
    """Write, replace and remove documents; the names of those that are live."""
    dice = random.Random(seed)
    live = dict.fromkeys(dice.sample(range(400), 400), 0)
    catalogue.commit([change(number, 0, dice) for number in live])
    for state in range(1, 12):
        replaced = dice.sample(sorted(live), 20)
        catalogue.commit([change(number, state, dice) for number in replaced])
        live |= dict.fromkeys(replaced, state)
        removed = dice.sample(sorted(live), 15)
        catalogue.remove_sources("main", [f"s{number}" for number in removed])
        for number in removed:
            del live[number]
    return {f"{number}.{state}" for number, state in live.items()}


@pytest.mark.sqlite_only
def test_after_a_rewrite_the_files_hold_what_is_live_and_nothing_else(
    catalogue: Catalogue, tmp_path: Path
) -> None:
    """Without it copies of rows that were moved between pages stay, whatever is overwritten."""
    live = churn(catalogue, 1)
    assert not catalogue.forgetting.rewritten()
    assert catalogue.forgetting.rewrite()
    assert catalogue.forgetting.rewritten()
    assert named_in(tmp_path) == live


@pytest.mark.sqlite_only
def test_a_rewrite_that_a_reader_holds_up_is_to_be_done_again(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(1)
    catalogue.commit([change(1, 0, dice)])
    catalogue.remove_sources("main", ["s1"])
    monkeypatch.setattr("wellread.store.schema.sqlite.READER_SECONDS", 0.1)
    with closing(sqlite3.connect(tmp_path / "catalogue.db")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM documents").fetchone()
        with closing(sqlite3.connect(tmp_path / "catalogue.db")) as writer, writer:
            writer.execute("INSERT INTO gaps (question, reason, created_at) VALUES ('', '', '')")
        assert not catalogue.forgetting.rewrite()
    assert not catalogue.forgetting.rewritten()
    assert catalogue.forgetting.rewrite()
    assert named_in(tmp_path) == set()


@pytest.mark.sqlite_only
def test_a_rewrite_that_fails_is_a_store_error(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(1)
    catalogue.commit([change(1, 0, dice)])
    catalogue.remove_sources("main", ["s1"])
    monkeypatch.setattr("wellread.store.schema.sqlite.BUSY_SECONDS", 0)
    with closing(sqlite3.connect(tmp_path / "catalogue.db")) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="could not rewrite"):
            catalogue.forgetting.rewrite()
    assert not catalogue.forgetting.rewritten()
