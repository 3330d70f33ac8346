"""A source says who may read its documents; what it says acts at the next run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from wellread.answers import Question
from wellread.ask.answer import answer, final
from wellread.errors import SettingsError
from wellread.identity import NO_ONE, Asker, facts_of
from wellread.ingest.integrity.verify import verify
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.seen_by import seen_by
from wellread.reports import ResearchRequest
from wellread.research.research import begin, usual_limits
from wellread.store.catalogue import Catalogue
from wellread.store.recovery.moving import move_catalogue
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Document, Filters

WHO = ("ana", "group:board")
PAGE = "---\ntitle: Minutes\n{}---\n\nThe ferry was bought for a secret sum.\n"
OPEN = PAGE.format("")
NAMED = PAGE.format("readers: [Ana, 'group:board']\n")
RECORD = {"title": "Minutes", "text": "The ferry was bought for a secret sum."}
SOURCES = {
    "page.md": NAMED,
    "talk.md": "---\nkind: transcript\nreaders: [ana, group:board]\n---\n\n"
    + "\n\n".join(f"**Ana Holm:** The ferry {n}.\n\n**Ben Reed:** Loud." for n in range(3)),
    "news.jsonl": json.dumps({**RECORD, "readers": WHO}),
    "news.json": json.dumps([{**RECORD, "Readers": WHO}]),
    "past.jsonl": json.dumps({"question": "Who?", "answer": "The ferry.", "readers": WHO}),
    "past.csv": "question,answer,readers\nWho?,The ferry.,ana; group:board\n",
    "talk.vtt": "WEBVTT\n\nNOTE readers: ana, group:board\n\n00:01.000 --> 00:02.000\nThe ferry.\n",
    "talk.json": json.dumps({"segments": [{"start": 0, "text": "The ferry."}], "readers": WHO}),
    "page.rst": ":readers: ana, group:board\n\nThe ferry was bought for a secret sum.\n",
}
UNCLEAR = (
    "ana",
    "[]",
    "",
    "{ana: true}",
    "[1]",
    "[[ana]]",
    "['group:']",
    "[two words]",
    "['']",
    "[ana]\nReaders: [ben]",
    json.dumps([f"somebody-{number}" for number in range(200)]),
)


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


def written(folder: Path, name: str, said: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(said, encoding="utf-8")
    return path


def of(kb: KnowledgeBase, *names: str) -> KnowledgeBase:
    """As somebody has it who may read the collection and is called so."""
    asker = Asker(owner="somebody", reads=frozenset({"default"}), names=frozenset(names))
    return seen_by(kb, asker)


def shown(kb: KnowledgeBase, *names: str) -> list[str]:
    """The titles that they see; they find by words and by meaning what they see."""
    view = of(kb, *names)
    listed = view.catalogue.documents("default")
    vector = kb.embedder.embed(["the ferry"], "query")[0]
    for hits in (
        view.index.search_text("ferry", Filters(), 50),
        view.index.search_text("ferry", Filters(), 5_000),
        view.index.search_vector(vector, Filters(), 50),
    ):
        assert {one.document_id for one in hits} == {one.id for one in listed}
    return [one.title for one in listed]


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_names_the_readers_of_its_document(
    kb: KnowledgeBase, folder: Path, name: str
) -> None:
    report = add(kb, [str(written(folder, name, SOURCES[name]))])
    assert [row.status for row in report.rows] == ["added"]
    (known,) = kb.catalogue.documents("default")
    document = kb.catalogue.document(known.id)
    assert document is not None
    assert document.readers == WHO
    assert "readers" not in document.taxonomy
    assert shown(kb) == shown(kb, "ben", "board", "group:ana") == []
    assert shown(kb, "ana") == shown(kb, "group:board", "ben") == [known.title]
    whole, theirs = (one.catalogue.listings.listed(known.id) for one in (kb, of(kb, "ana")))
    assert whole is not None
    assert theirs is not None
    assert (whole.readers, theirs.readers) == (WHO, None)  # who else may is not theirs to know


@pytest.mark.parametrize("said", UNCLEAR)
def test_what_is_no_list_of_names_is_read_by_nobody(
    kb: KnowledgeBase, folder: Path, said: str
) -> None:
    written(folder, "other.md", OPEN)
    path = written(folder, "page.md", PAGE.format(f"readers: {said}\n"))
    report = add(kb, [str(folder)])
    (failed,) = (row for row in report.rows if row.status == "failed")
    assert failed.uri == path.as_uri()
    assert "readers" in failed.reason
    assert [one.uri for one in kb.catalogue.documents("default")] == [
        (folder / "other.md").as_uri()
    ]
    view = of(kb, "ana").catalogue
    assert view.troubled_sources([], 10) == []
    assert view.jobs.newest() == []
    assert len(kb.catalogue.troubled_sources([], 10)) == 1


def test_a_bad_line_says_which_and_takes_its_file_along(kb: KnowledgeBase, folder: Path) -> None:
    lines = [json.dumps(RECORD), json.dumps({**RECORD, "readers": "ana"})]
    (row,) = add(kb, [str(written(folder, "news.jsonl", "\n".join(lines)))]).rows
    assert row.status == "failed"
    assert "line 2" in row.reason
    assert kb.catalogue.documents("default") == []


def test_readers_change_without_the_text(kb: KnowledgeBase, folder: Path) -> None:
    for said, ana, ben in (
        (OPEN, ["Minutes"], ["Minutes"]),
        (NAMED, ["Minutes"], []),
        (PAGE.format("readers: [ben]\n"), [], ["Minutes"]),
        (OPEN, ["Minutes"], ["Minutes"]),
    ):
        written(folder, "page.md", said)
        sync(kb, [str(folder)])
        assert (shown(kb, "ana"), shown(kb, "ben")) == (ana, ben)


def test_readers_that_become_unclear_hide_what_was_read_before(
    kb: KnowledgeBase, folder: Path
) -> None:
    path = written(folder, "page.md", OPEN)
    add(kb, [str(folder)])
    (known,) = kb.catalogue.documents("default")
    written(folder, "page.md", PAGE.format("readers: ana\n"))
    report = sync(kb, [str(folder)])
    assert [row.status for row in report.rows] == ["failed"]
    assert shown(kb) == shown(kb, "ana") == []
    assert kb.catalogue.named_documents([known.id]) == {known.id: (NO_ONE,)}
    written(folder, "page.md", OPEN)  # byte for byte what was read first
    sync(kb, [str(path)])
    assert shown(kb) == ["Minutes"]


SETTINGS = """
readers:
  minutes/draft*: [ben]
  minutes/: [group:board]
"""


def test_a_folder_says_it_by_patterns_and_a_document_for_itself(
    kb: KnowledgeBase, folder: Path
) -> None:
    for name in ("minutes/a.md", "minutes/draft.md", "b.md"):
        written(folder, name, PAGE.format("").replace("Minutes", name))
    written(folder, "minutes/own.md", NAMED.replace("group:board", "cas"))
    settings = written(folder, "wellread-collection.yaml", SETTINGS)
    add(kb, [str(folder)])
    assert shown(kb) == ["b.md"]
    assert shown(kb, "group:board") == ["b.md", "minutes/a.md"]
    assert shown(kb, "ben") == ["b.md", "minutes/draft.md"]
    assert shown(kb, "cas") == ["b.md", "Minutes"]
    assert "minutes" not in str(of(kb, "ben").catalogue.collection_settings.settings("default"))
    settings.write_text(SETTINGS.replace("minutes/:", "'*':").replace("group:board", "ben"))
    sync(kb, [str(folder)])
    assert shown(kb) == []
    assert shown(kb, "ben") == ["b.md", "minutes/a.md", "minutes/draft.md"]
    settings.unlink()
    sync(kb, [str(folder)])
    assert shown(kb) == ["b.md", "minutes/a.md", "minutes/draft.md"]


def test_a_new_file_of_a_known_folder_is_under_its_patterns(
    kb: KnowledgeBase, folder: Path
) -> None:
    written(folder, "wellread-collection.yaml", SETTINGS)
    written(folder, "minutes/a.md", OPEN)
    add(kb, [str(folder)])
    path = written(folder, "minutes/a.md", OPEN.replace("secret", "very secret"))
    add(kb, [str(path)])
    assert shown(kb) == []
    assert shown(kb, "group:board") == ["Minutes"]


def test_what_a_folder_says_of_readers_holds_whatever_else_is_taken(
    kb: KnowledgeBase, folder: Path, tmp_path: Path
) -> None:
    written(folder, "minutes/a.md", OPEN)
    written(folder, "other.md", OPEN.replace("Minutes", "Other"))
    skips = 'rules: [{match: "*.md", skip: true}]\n'
    written(folder, "wellread-collection.yaml", SETTINGS + skips)
    report = add(kb, [str(folder)], folder_settings=lambda _: False)
    assert "is not taken" in report.notes[0]
    assert shown(kb) == ["Other"]
    own = written(tmp_path, "own.yaml", 'rules: [{match: "*.md", kind: article}]\n')
    add(kb, [str(folder)], settings=own)
    assert shown(kb) == ["Other"]
    assert shown(kb, "group:board") == ["Minutes", "Other"]


def test_settings_that_name_no_readers_add_nothing(kb: KnowledgeBase, folder: Path) -> None:
    written(folder, "page.md", OPEN)
    written(folder, "wellread-collection.yaml", "readers:\n  '*.md': ana\n")
    with pytest.raises(SettingsError, match="line 2: readers"):
        add(kb, [str(folder)])
    assert kb.catalogue.documents("default") == []


def test_a_source_of_some_that_name_readers_is_known_to_all_and_its_run_is_not(
    kb: KnowledgeBase, folder: Path
) -> None:
    lines = [json.dumps(RECORD), json.dumps({**RECORD, "title": "Board", "readers": ["ana"]})]
    path = written(folder, "news.jsonl", "\n".join(lines))
    add(kb, [str(path)])
    assert shown(kb) == ["Minutes"]
    assert shown(kb, "ana") == ["Minutes", "Board"]
    assert of(kb).catalogue.source("default", path.as_uri()) is not None
    assert of(kb).catalogue.jobs.newest() == of(kb, "ana").catalogue.jobs.newest() == []
    assert len(kb.catalogue.jobs.newest()) == 1


def test_stories_and_names_are_made_of_what_everybody_reads(
    kb: KnowledgeBase, folder: Path
) -> None:
    for number, day in enumerate((5, 6)):
        news = {
            "title": "Ferry Osprey breaks down",
            "published_at": f"2026-01-0{day}",
            "url": f"https://herald.example/{number}",
            "text": "The ferry Osprey broke down off the harbour on Monday, and a tug towed it.",
        }
        written(folder, f"{number}.jsonl", json.dumps(news))
    entity = "---\nid: osprey\ntype: entity\ntitle: Osprey\n---\n\nOsprey is a ferry.\n"
    written(folder, "osprey.md", entity)
    add(kb, [str(folder)])
    (story,) = kb.catalogue.stories.latest(["default"])
    assert story.items == 2
    assert kb.catalogue.graph.mention_totals(["default"]) != {}
    written(folder, "1.jsonl", json.dumps({**news, "readers": ["ana"]}))
    written(folder, "osprey.md", entity.replace("---\n\n", "readers: [ana]\n---\n\n"))
    sync(kb, [str(folder)])
    for view in (kb, of(kb), of(kb, "ana")):
        (story,) = view.catalogue.stories.latest(["default"])
        assert (story.items, story.sources) == (1, 1)
        assert view.catalogue.graph.mention_totals(["default"]) == {}


def test_what_was_drawn_from_it_is_there_for_whom_it_names(kb: KnowledgeBase, folder: Path) -> None:
    add(kb, [str(written(folder, "page.md", NAMED)), str(written(folder, "other.md", OPEN))])
    ana, ben = of(kb, "ana"), of(kb, "ben")
    asked = Question(text="What was the ferry bought for?")
    given = asyncio.run(final(answer(ana, asked)))
    run = ResearchRequest(question=replace(asked, mode="deep"), limits=usual_limits(ana))
    run_id = asyncio.run(begin(ana, run))
    kb.catalogue.remove_documents([one.document_id for one in given.citations])
    for view, there in ((ana, True), (ben, False)):
        assert (view.catalogue.answer(given.id) is not None) is there
        assert (view.catalogue.research.get(run_id, "somebody") is not None) is there
        assert view.catalogue.feedback.harmful_by() == {}
        assert (view.catalogue.jobs.newest() != []) is there


def test_an_answer_that_quotes_it_goes_when_it_names_others(
    kb: KnowledgeBase, folder: Path
) -> None:
    path = written(folder, "page.md", OPEN)
    add(kb, [str(path)])
    given = asyncio.run(final(answer(of(kb), Question(text="What was the ferry bought for?"))))
    assert given.citations
    written(folder, "page.md", NAMED)
    add(kb, [str(path)])
    assert of(kb).catalogue.answer(given.id) is None
    assert of(kb).catalogue.sessions.answers("somebody") == []
    assert of(kb, "ana").catalogue.answer(given.id) is not None


@pytest.mark.sqlite_only
def test_a_moved_catalogue_keeps_the_readers(
    kb: KnowledgeBase, folder: Path, tmp_path: Path
) -> None:
    add(kb, [str(written(folder, "page.md", NAMED))])
    assert verify(kb).problems == ()
    assert move_catalogue(kb.catalogue, tmp_path / "moved.db")
    moved = Catalogue.open(tmp_path / "moved.db")
    (known,) = moved.documents("default")
    assert moved.named_documents([known.id]) == {known.id: WHO}
    assert moved.sources("default") == kb.catalogue.sources("default")
    moved.close()


def test_a_document_that_names_nobody_has_the_hash_it_always_had() -> None:
    plain = Document(collection="c", uri="file:///a", kind="page", title="A", text="words")
    assert facts_of(plain) == "fct_06c21e134519b63f2b7ffb07"
    assert facts_of(plain) != facts_of(replace(plain, readers=("ana",)))
