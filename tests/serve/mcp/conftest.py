"""The official client against the server in memory, in both protocols."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent

from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.mcp.mcp_server import mcp_server
from wellread.serve.mcp.tool_calls import ServedLibrary
from wellread.testing.embedding import ReadableEmbedder

MODES = ("legacy", "2026-07-28")
CHAPTERS = 900


def text_of(result: CallToolResult) -> str:
    """The text of a result, which is one block."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def chronicle() -> str:
    """A document far longer than a result may be; each chapter names its own year."""
    lines = ["# Chronicle of the mill\n"]
    for number in range(CHAPTERS):
        year = 1000 + number
        lines.append(
            f"In the year {year} the mill ground {number + 7} sacks of barley, and the miller "
            f"called “Odo the {number}th” mended the sluice with oak, clay and rope from Harlow.\n"
        )
    lines.append("The zephyr gate was closed for ever by the abbess Wiborada.\n")
    return "\n".join(lines)


@pytest.fixture
def mode() -> str:
    """The protocol that the client speaks; a test of both is parametrized."""
    return MODES[-1]


@pytest.fixture
def client(kb: KnowledgeBase, mode: str) -> Client:
    """A client of the server over the small town, not connected yet."""
    return Client(mcp_server(ServedLibrary(kb=kb)), mode=mode)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """A home to which nothing was added."""
    with open_kb(tmp_path / "empty", embedder=ReadableEmbedder()) as opened:
        yield opened


@pytest.fixture(scope="session")
def long_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one long document and one hundred and fifty short ones."""
    root = tmp_path_factory.mktemp("long")
    (root / "chronicle.md").write_text(chronicle(), encoding="utf-8")
    rows = root / "short"
    rows.mkdir()
    for number in range(150):
        text = f"Ledger {number}: the toll of bridge {number} was paid in eels.\n"
        (rows / f"ledger-{number:03}.txt").write_text(text, encoding="utf-8")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as made:
        add(made, [str(root / "chronicle.md")], collection="mill")
        add(made, [str(rows)], collection="ledgers")
    return root / "home"


@pytest.fixture
def long_kb(long_home: Path, tmp_path: Path) -> Iterator[KnowledgeBase]:
    """The knowledge base of a copy of it."""
    shutil.copytree(long_home, tmp_path / "long")
    with open_kb(tmp_path / "long", embedder=ReadableEmbedder()) as opened:
        yield opened


@pytest.fixture
def long_client(long_kb: KnowledgeBase, mode: str) -> Client:
    """A client of the server over the long document."""
    return Client(mcp_server(ServedLibrary(kb=long_kb)), mode=mode)
