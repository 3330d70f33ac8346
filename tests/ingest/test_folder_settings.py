"""What comes with an added folder is not trusted: its settings, and links that lead out of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from wellread.errors import SettingsError
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase, open_kb
from wellread.store.catalogue.documents.relation_network import RelationNames
from wellread.store.catalogue.run_logs import JobItem
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters

KEEPS = """
relations:
  leads_to: {inverse: comes_from, words: [leads to]}
rules:
  - {match: "*.md", kind: entity, id: "theirs/{file.stem}"}
"""
SKIPS = KEEPS.replace("rules:", "rules:\n  - {match: drafts/, skip: true}")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return folder(tmp_path / "mine")


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    return folder(tmp_path / "theirs")


def folder(made: Path) -> Path:
    for name in ("oak.md", "drafts/elm.md"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(f"# {made.name} {name}\n\nIt stands in the wood of {made.name}.\n")
    return made


def settings_in(made: Path, said: str) -> Path:
    path = made / "wellread-collection.yaml"
    path.write_text(said)
    return path


def entities(kb: KnowledgeBase) -> set[str]:
    return {node.id for node in kb.catalogue.graph.entities(["default"])}


def rows(found: tuple[JobItem, ...], status: str) -> list[str]:
    return sorted(row.uri.rpartition("/")[2] for row in found if row.status == status)


def test_settings_in_a_folder_hold_for_that_folder_alone(
    kb: KnowledgeBase, mine: Path, theirs: Path
) -> None:
    path = settings_in(theirs, KEEPS)
    report = add(kb, [str(theirs), str(mine)])
    assert entities(kb) == {"theirs/oak", "theirs/elm"}
    assert report.notes == (f"{path} applies to its folder",)
    (mine / "ash.md").write_text("The ash bends.\n")
    add(kb, [str(mine)])
    (theirs / "ash.md").write_text("The ash bends.\n")
    add(kb, [str(theirs / "ash.md")])  # a file of the folder that is added by itself
    assert entities(kb) == {"theirs/oak", "theirs/elm"}
    add(kb, [str(theirs)])
    assert entities(kb) == {"theirs/oak", "theirs/elm", "theirs/ash"}
    plain = kb.catalogue.collection_settings.settings("default")
    assert RelationNames(plain).words == {"leads_to": ("leads to",)}
    path.unlink()
    assert add(kb, [str(theirs)]).notes == ()
    assert entities(kb) == set()


def test_files_that_settings_in_a_folder_leave_out_go_and_are_told(
    kb: KnowledgeBase, theirs: Path
) -> None:
    add(kb, [str(theirs)])
    settings_in(theirs, SKIPS)
    report = sync(kb, [str(theirs)])
    assert rows(report.rows, "removed") == ["elm.md"]
    assert entities(kb) == {"theirs/oak"}
    assert report.notes[0].endswith("applies to its folder")
    assert sync(kb, [str(theirs)]).counts()["removed"] == 0


def test_settings_of_the_reader_stand_above_those_of_a_folder(
    kb: KnowledgeBase, mine: Path, theirs: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(KEEPS.replace("theirs/", "own/"))
    add(kb, [str(mine)], settings=own)
    path = settings_in(theirs, SKIPS)
    report = add(kb, [str(theirs)])
    assert report.notes == (f"{path} is ignored: the collection has settings of your own",)
    assert entities(kb) == {"own/oak", "own/elm"}
    assert len(kb.catalogue.documents("default")) == 4
    own.write_text("")  # takes them back
    add(kb, [str(mine)], settings=own)
    add(kb, [str(theirs)])
    assert entities(kb) == {"theirs/oak"}


def test_settings_that_are_a_link_are_none(kb: KnowledgeBase, theirs: Path, tmp_path: Path) -> None:
    (tmp_path / "else.yaml").write_text(SKIPS)
    (theirs / "wellread-collection.yaml").symlink_to(tmp_path / "else.yaml")
    assert add(kb, [str(theirs)]).counts()["added"] == 2
    assert entities(kb) == set()


def test_a_removed_folder_takes_its_settings_along(kb: KnowledgeBase, theirs: Path) -> None:
    settings_in(theirs, KEEPS)
    add(kb, [str(theirs)])
    kb.catalogue.remove_sources("default", list(kb.catalogue.sources("default")))
    assert not kb.catalogue.collection_settings.settings("default")


def test_a_link_out_of_the_folder_is_not_followed(
    kb: KnowledgeBase, mine: Path, theirs: Path
) -> None:
    (theirs / "key.md").symlink_to(mine / "oak.md")
    (theirs / "inside.md").symlink_to(theirs / "oak.md")
    report = add(kb, [str(theirs)])
    assert rows(report.rows, "skipped") == ["key.md"]
    assert rows(report.rows, "added") == ["elm.md", "inside.md", "oak.md"]
    by_glob = add(kb, [str(theirs / "*.md")], collection="globbed")
    assert rows(by_glob.rows, "skipped") == ["key.md"]
    named = add(kb, [str(theirs / "key.md")], collection="named")  # named by the reader
    assert named.counts()["added"] == 1


def test_links_are_followed_where_the_reader_says_so(
    mine: Path, theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (theirs / "key.md").symlink_to(mine / "oak.md")
    (tmp_path / "way").symlink_to(theirs)
    monkeypatch.setenv("WELLREAD_SOURCES_FOLLOW_LINKS", "true")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        assert add(kb, [str(tmp_path / "way")]).counts()["added"] == 3


def test_a_folder_that_is_named_by_a_link_is_read(
    kb: KnowledgeBase, theirs: Path, tmp_path: Path
) -> None:
    (tmp_path / "way").symlink_to(theirs)
    assert add(kb, [str(tmp_path / "way")]).counts()["added"] == 2


def test_what_was_read_through_a_link_before_stays_and_is_told(
    kb: KnowledgeBase, mine: Path, theirs: Path
) -> None:
    (theirs / "key.md").write_text("# Key\n\nThis was a file of the folder.\n")
    add(kb, [str(theirs)])
    (theirs / "key.md").unlink()
    (theirs / "key.md").symlink_to(mine / "oak.md")
    report = sync(kb, [str(theirs)])
    assert (report.counts()["removed"], report.counts()["skipped"]) == (0, 1)
    assert len(kb.catalogue.documents("default")) == 3


def test_a_date_that_is_given_stays_with_the_file(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "talk.srt"
    path.write_text("1\n00:00:01,000 --> 00:00:04,000\nThe oak was felled.\n")
    (row,) = add(kb, [str(path)]).rows
    assert row.reason.startswith("no date")
    (row,) = add(kb, [str(path)], published_at="2023-02-03").rows
    assert (row.status, row.reason) == ("updated", "")
    path.write_text(path.read_text() + "\n2\n00:00:05,000 --> 00:00:06,000\nIn spring.\n")
    add(kb, [str(path)])
    (entry,) = kb.catalogue.listings.documents(Filters(), 2).documents
    assert entry.facts.published_at == datetime(2023, 2, 3, tzinfo=UTC)


def test_a_given_date_and_settings_of_ones_own_exclude_each_other(
    kb: KnowledgeBase, mine: Path, tmp_path: Path
) -> None:
    path = settings_in(tmp_path, KEEPS)
    with pytest.raises(SettingsError, match="go before --date"):
        add(kb, [str(mine)], settings=path, published_at="2023-02-03")
