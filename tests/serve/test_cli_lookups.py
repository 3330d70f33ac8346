"""``search`` and ``show``: passages, documents, recordings and timelines."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.serve.conftest import printed
from typer.testing import CliRunner

from wellread.serve.cli import app
from wellread.serve.terminal import print_table
from wellread.serve.views import Shape

ROW = "date=day kind title:line authors"


class ListedTitle(Shape):
    """A row of a list."""

    day: str
    kind: str
    title: str
    authors: str


@pytest.fixture
def harbour(runner: CliRunner, harbour_home: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """Runs commands on the harbour and the hills."""
    monkeypatch.setenv("WELLREAD_HOME", str(harbour_home))
    return runner


def told(runner: CliRunner, *words: str) -> Any:
    return json.loads(printed(runner, *words, "--json"))


def failed(runner: CliRunner, *words: str) -> str:
    result = runner.invoke(app, list(words))
    assert (result.exit_code, result.stdout) == (1, "")
    return result.stderr


def test_search_within_limits_and_the_context_of_what_it_finds(harbour: CliRunner) -> None:
    out = printed(harbour, "search", "anchors on hook", "--mode", "text", "--limit", "1")
    known = re.search(r"psg_[0-9a-f]{8}\b", out)
    assert known
    assert "§ Handbook › Anchors" in out
    body = told(harbour, "search", "ferry prize", "--field", "sectors=food", "--author", "tarn")
    assert [one["title"] for one in body["items"]] == ["Bakery wins prize for rye bread"]
    assert body["limits"]["authors"] == ["Jon Tarn"]
    around = printed(harbour, "show", "passage", known[0], "--before", "1", "--after", "0")
    assert "Handbook  passage 2 of 5" in around
    assert "Ropes of pattern 6 hang in the shed on hook 6." in around
    assert "Lamps" not in around
    assert told(harbour, "show", "passage", known[0])["ordinal"] == 1


def test_search_without_words_lists_the_newest(harbour: CliRunner) -> None:
    out = printed(harbour, "search", "--speaker", "holm", "--limit", "1")
    assert "Harbour meeting, 00:10 · Ana Holm" in out
    assert "“We will measure the noise in April. The bakery has offered bread.”" in out
    out = printed(harbour, "search", "--topic", "harbour", "--from", "2026", "--limit", "2")
    assert re.search(r"^1\. Ferry Osprey back in service.*article, 2026-03-20", out, re.MULTILINE)
    assert "the newest of 5" in out
    assert "Nothing matches." in printed(harbour, "search", "--to", "2001")
    assert "nothing to search for" in failed(harbour, "search")
    assert "similar: Ben Reed" in failed(harbour, "search", "x", "--speaker", "Ben Rede")
    assert "dimension=value" in failed(harbour, "search", "x", "--field", "food")


def test_lists_are_printed_in_pages(harbour: CliRunner) -> None:
    out = printed(harbour, "show", "document", "--limit", "1")
    assert re.search(r"^2026-\S+ +article +harbour .* doc_[0-9a-f]{24} *$", out, re.MULTILINE)
    assert "1 of 9 (--limit)" in out
    out = printed(harbour, "show", "recording", "-c", "harbour")
    assert re.search(r"^2026-03-01 +1:00:06 +Harbour meeting +Ana Holm,", out, re.MULTILINE)
    assert told(harbour, "show", "recording", "--speaker", "cem")["total"] == 1
    assert "Osprey" in printed(harbour, "show", "entity")
    assert "Ferry Osprey breaks down" in printed(harbour, "show", "entity", "osprey")
    assert "Ferry Osprey breaks down" in printed(harbour, "show", "story")
    known = told(harbour, "show", "story")["items"][0]["id"]
    assert "Ferry Osprey back in service" in printed(harbour, "show", "story", known)
    events = told(harbour, "show", "timeline", "harbour", "--limit", "2")
    assert (len(events["items"]), events["total"] > 2) == (2, True)
    assert events["items"][0]["at"] <= events["items"][1]["at"]
    out = printed(harbour, "show", "timeline", "harbour", "--from", "2026-03")
    assert "2026-03-20" in out
    assert "2026-02-10" not in out


def on_a_terminal(items: list[ListedTitle], width: int) -> list[str]:
    """The lines of a list on a terminal of this width."""
    out = io.StringIO()
    print_table(Console(file=out, width=width, force_terminal=True, color_system=None), items, ROW)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [40, 60, 120])
def test_a_title_is_whole_on_a_narrow_terminal(width: int) -> None:
    title = "Surplus catch feeds 90 households"
    items = [ListedTitle(day="2025-11-14", kind="article", title=title, authors="Edwin Marsh")]
    lines = on_a_terminal(items, width)
    assert any(title in line for line in lines)
    assert max(map(len, lines)) <= width
    assert ("kind article" in " ".join(lines)) is (width < 80)


def test_a_pipe_gets_whole_lines(harbour: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    out = printed(harbour, "show", "document")
    assert len(out.splitlines()) == 1 + told(harbour, "show", "document")["total"]
    assert "…" not in out
    found = printed(harbour, "search", "national prize rye bread", "--limit", "1", "--mode", "text")
    assert len(found.splitlines()) == 3


def test_a_document_is_shown_with_facts_and_text(harbour: CliRunner) -> None:
    out = printed(harbour, "show", "document", "Handbook")
    assert re.search(r"^id: doc_[0-9a-f]+\nkind: page$", out, re.MULTILINE)
    assert "Ropes of pattern 6 hang in the shed on hook 6." in out
    assert told(harbour, "show", "document", "Handbook")["text"] in out
    assert "similar titles: Handbook" in failed(harbour, "show", "document", "Handbok")


def test_a_transcript_whole_or_in_part(harbour: CliRunner) -> None:
    out = printed(harbour, "show", "recording", "harbour meeting")
    assert "4 of 4 turns" in out
    assert re.search(r"^00:06  Ben Reed *\nThe new engine is loud\. *$", out, re.MULTILINE)
    out = printed(
        harbour, "show", "recording", "harbour", "--from", "0:06", "--to", "10", "--speaker", "ana"
    )
    assert "1 of 4 turns" in out
    assert "Ben Reed" not in out
    assert "0 of " in printed(harbour, "show", "recording", "captions", "--from", "1:00")
    body = told(harbour, "show", "recording", "harbour meeting", "--to", "0:05")
    assert [turn["speaker"] for turn in body["turns"]] == ["Ana Holm"]
    assert "MM:SS" in failed(harbour, "show", "recording", "harbour meeting", "--from", "noon")
    assert "there are 4 recordings" in failed(harbour, "show", "recording", "zzz")
