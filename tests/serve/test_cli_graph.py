"""``wellread show entity``: what is known of a node."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.serve.conftest import run
from typer.testing import CliRunner

from wellread.ingest.joining.mention_linking import link_mentions
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder

FERRY = """---
id: kittiwake
type: vessel
title: Ferry Kittiwake
aliases: [the white ferry]
sectors: [transport]
excerpt: Sails to the island.
relations:
  - {type: moors_at, target: Long Pier}
  - {type: run_by, target: tide cooperative}
---
The ferry sails twice a day.
"""
PIER = """---
id: long-pier
type: place
title: Long Pier
---
Everyone waits here for the Ferry Kittiwake.
"""
NEWS = """---
title: Harbour news
date: 2025-03-04
---
# Harbour news

## Repairs

It rained. The [b]white ferry[/b] was late, and Ferry Kittiwake did not sail. Long Pier is open.
"""


@pytest.fixture
def commons(home: Path, tmp_path: Path) -> Path:
    """A home with two entities and a page that names them."""
    folder = tmp_path / "commons"
    folder.mkdir()
    for name, text in (("ferry.md", FERRY), ("pier.md", PIER), ("news.md", NEWS)):
        (folder / name).write_text(text, encoding="utf-8")
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(folder)], collection="harbour")
        kb.catalogue.collection_settings.set_settings(
            "harbour", {"relations": {"run_by": {"inverse": "runs"}}}
        )
        link_mentions(kb.catalogue, "harbour")
    return home


def test_an_entity_is_shown_with_relations_and_mentions(runner: CliRunner, commons: Path) -> None:
    code, out, _ = run(runner, "show", "entity", "white ferry")
    assert code == 0
    assert re.search(r"^Ferry Kittiwake +vessel$", out, re.MULTILINE)
    assert "kittiwake in “harbour”" in out
    assert "also called the white ferry" in out
    assert "sectors: transport" in out
    assert "type: vessel" not in out  # said already
    assert re.search(r"^moors_at +Long Pier +long-pier *$", out, re.MULTILINE)
    assert re.search(r"^run_by +tide cooperative +not there yet *$", out, re.MULTILINE)
    assert "Named in 2 documents, 2 times" in out
    assert re.search(r"1× Harbour news +2025-03-04 +§ Harbour news › Repairs", out)
    assert "Everyone waits here for the Ferry Kittiwake." in out
