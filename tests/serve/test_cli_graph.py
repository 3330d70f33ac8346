"""``wellread show entity``: what is known of a node."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wellread.ingest.joining.mention_linking import link_mentions
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.serve.cli import app
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


def run(runner: CliRunner, *words: str) -> tuple[int, str, str]:
    result = runner.invoke(app, list(words))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_an_entity_is_shown_with_relations_and_mentions(runner: CliRunner, commons: Path) -> None:
    code, out, _ = run(runner, "show", "entity", "white ferry")
    assert code == 0
    facts = "entity: Ferry Kittiwake\ntype: vessel\nid: kittiwake\ncollection: harbour\n"
    assert out.startswith(f"{facts}also called: the white ferry\n")
    assert "sectors: transport" in out
    assert re.search(r"^moors_at +Long Pier +long-pier *$", out, re.MULTILINE)
    assert re.search(r"^run_by +tide cooperative *$", out, re.MULTILINE)
    assert "Named in 2 documents, 2 times" in out
    assert re.search(r"^ +1 +Harbour news +2025-03-04 +§ Harbour", out, re.MULTILINE)
    assert "Everyone waits here for" in out


def test_relations_are_read_from_the_other_end(runner: CliRunner, commons: Path) -> None:
    code, out, _ = run(runner, "show", "entity", "long-pier", "-c", "harbour")
    assert code == 0
    assert re.search(r"^← moors_at +Ferry Kittiwake +kittiwake *$", out, re.MULTILINE)


def test_what_is_not_there_names_what_looks_like_it(runner: CliRunner, commons: Path) -> None:
    code, out, err = run(runner, "show", "entity", "Kitiwake ferry")
    assert (code, out) == (1, "")
    assert "no entity is called 'Kitiwake ferry' (similar names: Ferry Kittiwake" in err
    code, out, err = run(runner, "show", "entity", "zzzz", "--json")
    assert code == 1
    assert json.loads(err)["error"] == "not_found"
    assert json.loads(err)["hint"] == "`wellread show entity` lists what is there"
    code, _, err = run(runner, "show", "entity", "kittiwake", "-c", "atlantis")
    assert code == 1
    assert "no collection named 'atlantis'" in err
