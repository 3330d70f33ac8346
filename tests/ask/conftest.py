"""What tests of asking share: a home made of texts, opened with the readable embedder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Answer, Question

Files = Mapping[str, str | bytes]


class MakeHome(Protocol):
    """Makes a home of collections, each with its files by their names."""

    def __call__(self, **collections: Files) -> Path: ...


@pytest.fixture(scope="session")
def make_home(tmp_path_factory: pytest.TempPathFactory) -> MakeHome:
    def make(**collections: Files) -> Path:
        root = tmp_path_factory.mktemp("made")
        with open_kb(root / "home", embedder=ReadableEmbedder()) as kb:
            for name, files in collections.items():
                (root / name).mkdir()
                for file, said in files.items():
                    content = said if isinstance(said, bytes) else said.encode()
                    (root / name / file).write_bytes(content)
                add(kb, [str(root / name)], collection=name)
        return root / "home"

    return make


@pytest.fixture(scope="module")
def kb(home: Path) -> Iterator[KnowledgeBase]:
    """The home of the module, opened once: what a test asks there changes no other test."""
    with open_kb(home, embedder=ReadableEmbedder()) as opened:
        yield opened


def jsonl(items: Iterable[Mapping[str, object]]) -> str:
    return "".join(json.dumps(one) + "\n" for one in items)


async def ask(kb: KnowledgeBase, text: str) -> Answer:
    """The answer to a question, which is not one that was kept."""
    return await final(answer(kb, Question(text=text, fresh=True)))
