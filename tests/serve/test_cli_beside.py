"""``ask --detailed``, ``ask --coverage``, and why a source matters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import printed
from typer.testing import CliRunner

PAGE = """---
title: The ferry
sectors: [transport]
scale: [town]
---

The harbour is deep. Boats come and go. The ferry Osprey was bought for 2.6 million euros in 2021.
It carries ninety passengers. It leaves at six. Nobody likes the noise. Gulls do.
"""
BREAD = "---\ntitle: Bread\nsectors: [food]\nscale: [island]\n---\n\nThe bakery sells rye bread.\n"
ASKED = "How much was the ferry Osprey bought for?"
QUOTE = "The ferry Osprey was bought for 2.6 million euros in 2021. It carries ninety passengers."


@pytest.fixture
def added(runner: CliRunner, tmp_path: Path) -> CliRunner:
    """Two pages with values of two dimensions, in two collections."""
    for name, text in (("ferry", PAGE), ("bread", BREAD)):
        path = tmp_path / f"{name}.md"
        path.write_text(text, encoding="utf-8")
        shown(runner, "add", str(path), "-c", "town" if name == "ferry" else "bakery")
    return runner


def shown(runner: CliRunner, *words: str) -> str:
    return " ".join(printed(runner, *words).split())


def asked(runner: CliRunner, *options: str) -> Any:
    return json.loads(printed(runner, "ask", ASKED, "--json", *options))


def test_detailed_shows_the_sentences_around_a_quotation(added: CliRunner) -> None:
    around = f"The harbour is deep. Boats come and go. “{QUOTE}” It leaves at six."
    assert around not in shown(added, "ask", ASKED)
    told = shown(added, "ask", ASKED, "--detailed")
    assert around in told
    assert "cache" in told
    (context,) = asked(added, "--detailed")["contexts"]
    assert context["number"] == 1
    assert context["before"] == "The harbour is deep. Boats come and go."
    assert context["after"] == "It leaves at six. Nobody likes the noise."
    assert "contexts" not in asked(added)


def test_links_are_shown_unless_the_settings_say_otherwise(
    added: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "file://" in shown(added, "ask", ASKED)
    monkeypatch.setenv("WELLREAD_CITATIONS_INCLUDE_LINKS", "false")
    assert "file://" not in shown(added, "ask", ASKED)
    assert asked(added)["citations"][0]["link"].startswith("file://")
