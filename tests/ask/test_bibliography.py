"""Answers written out: Markdown with a bibliography, CSL-JSON; BibTeX read back."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.library.answer_export import Format, export_answer
from wellread.library.recheck import stored_answer
from wellread.library.works import Work, bibtex, csl_json
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import DocumentFacts
from wellread.values.answers import Question

NEWS = (
    {
        "title": "Ferry *Osprey* [new]",
        "url": "https://herald.example/a (1)",
        "published_at": "2026-01-05",
        "authors": ["Ilse Marrane"],
        "text": "The ferry Osprey was bought for 2.6 million euros in 2021. A tug towed it home.",
    },
    {
        "title": "The pier",
        "url": "https://herald.example/b",
        "published_at": "2026-01-06",
        "text": "The pier_head was painted <green> in May. Nobody was hurt on the pier.",
    },
)
LENIENT: dict[str, dict[str, object]] = {"qa": {"confidence_threshold": 0.05}}
# What BibTeX reads of an entry: its kind, key, and fields.
_ENTRY = re.compile(r"@(\w+)\{([a-z0-9-]+),\n((?:  \w+ = .*,\n)*)\}\n")
_FIELD = re.compile(r"  (\w+) = (?:\{(.*)\}|([a-z]{3})),\n")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home that each test gets a copy of."""
    root = tmp_path_factory.mktemp("bibliography")
    path = root / "news.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in NEWS), encoding="utf-8")
    with open_kb(root / "home", overrides=LENIENT, embedder=ReadableEmbedder()) as made:
        add(made, [str(path)], collection="town")
    return root / "home"


@pytest.fixture
def kb(prepared: Path, tmp_path: Path) -> Iterator[KnowledgeBase]:
    home = Path(shutil.copytree(prepared, tmp_path / "home"))
    with open_kb(home, overrides=LENIENT, embedder=ReadableEmbedder()) as made:
        yield made


async def written(kb: KnowledgeBase, text: str, form: Format = "markdown") -> str:
    given = await final(answer(kb, Question(text=text)))
    return export_answer(kb, *stored_answer(kb, given.id, ""), form)


async def test_markdown_links_each_citation_and_lists_the_sources(kb: KnowledgeBase) -> None:
    text = await written(kb, "What was the ferry Osprey bought for?")
    assert text.startswith("# What was the ferry Osprey bought for?\n")
    said = "The ferry Osprey was bought for 2.6 million euros in 2021."
    assert f"{said} [\\[1\\]](https://herald.example/a%20%281%29#:~:text=" in text
    sources = text.partition("## Sources\n")[2]
    listed = r"1. [Ferry \*Osprey\* \[new\]](https://herald.example/a%20%281%29) – article"
    assert listed in sources
    assert re.search(r"\*Answered by extractive on \d{4}-\d\d-\d\d, confidence 0\.\d\d", text)


async def test_verdicts_are_footnotes_and_every_footnote_is_there(kb: KnowledgeBase) -> None:
    text = await written(kb, "What was the ferry Osprey bought for?")
    body, _, notes = text.partition("## Sources")
    used = re.findall(r"\[\^(\d+)\]", body)
    assert used
    assert re.findall(r"^\[\^(\d+)\]: quoted \(verbatim\)", notes, re.MULTILINE) == used


async def test_what_was_removed_is_not_written_out(kb: KnowledgeBase) -> None:
    given = await final(answer(kb, Question(text="When was the pier painted?")))
    kb.catalogue.remove_sources("town", list(kb.catalogue.sources("town")))
    stored, whole = stored_answer(kb, given.id, "")
    text = export_answer(kb, stored, whole, "markdown")
    assert "> **Stale.**" in text
    assert "painted <" not in text
    assert "herald.example" not in text
    assert export_answer(kb, stored, whole, "bibtex") == ""
    assert json.loads(export_answer(kb, stored, whole, "csl-json")) == []


async def test_sources_are_csl_json(kb: KnowledgeBase) -> None:
    text = await written(kb, "What was the ferry Osprey bought for?", "csl-json")
    first = json.loads(text)[0]
    assert first["id"] == "marrane2026ferry"
    assert first["type"] == "article-newspaper"
    assert first["title"] == "Ferry *Osprey* [new]"
    assert first["author"] == [{"literal": "Ilse Marrane"}]
    assert first["issued"] == {"date-parts": [[2026, 1, 5]]}
    assert first["note"] == "[1] line 1: quoted"


async def test_sources_are_bibtex(kb: KnowledgeBase) -> None:
    text = await written(kb, "What was the ferry Osprey bought for?", "bibtex")
    entries = read_back(text)
    assert entries["marrane2026ferry"]["title"] == "{Ferry *Osprey* [new]}"
    assert entries["marrane2026ferry"]["url"] == "https://herald.example/a%20(1)"
    assert entries["marrane2026ferry"]["note"] == "jsonl; [1] line 1: quoted"
    assert (entries["marrane2026ferry"]["year"], entries["marrane2026ferry"]["month"]) == (
        "2026",
        "jan",
    )


def read_back(text: str) -> dict[str, dict[str, str]]:
    """The entries of a BibTeX file, read strictly: nothing may be left over."""
    entries: dict[str, dict[str, str]] = {}
    rest = text
    while rest:
        entry = _ENTRY.match(rest)
        assert entry, rest[:200]
        rest = rest[entry.end() :].removeprefix("\n")
        key, body = entry.group(2), entry.group(3)
        fields = {}
        for name, braced, bare in _FIELD.findall(body):
            assert is_balanced(braced)
            fields[name] = braced or bare
        assert key not in entries
        assert len(fields) == body.count("\n")
        entries[key] = fields
    return entries


def is_balanced(text: str) -> bool:
    """Whether every brace is closed; BibTeX counts those behind a backslash too."""
    depth = 0
    for mark in re.findall(r"[{}]", text):
        depth += 1 if mark == "{" else -1
        if depth < 0:
            return False
    return depth == 0


@examples(
    title=st.text(max_size=60),
    author=st.text(max_size=30),
    url=st.text(max_size=30).map("https://a.example/".__add__),
)
def test_whatever_a_source_is_called_the_file_can_be_read(
    title: str, author: str, url: str
) -> None:
    document = DocumentFacts(
        id="d",
        version="v",
        collection="c",
        uri="file:///d",
        kind="paper",
        title=title,
        url=url,
        authors=(author,),
        published_at=datetime(2024, 3, 1, tzinfo=UTC),
    )
    work = Work(key="vale2024a", document=document, note=f"{title}; {author}")
    assert set(read_back(bibtex([work]))) == {"vale2024a"}
    assert json.loads(csl_json([work]))[0]["id"] == "vale2024a"
