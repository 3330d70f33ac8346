"""``sync``: what is gone from the source goes, and nothing else does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.ingest.conftest import statuses

from wellread.ingest.integrity.verify import verify
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    made.mkdir()
    for name in ("ferry", "mill", "quay"):
        (made / f"{name}.txt").write_text(f"The {name} stands by the water.\n")
    return made


def held(kb: KnowledgeBase, collection: str = "default") -> list[str]:
    return [each.uri.rsplit("/", 1)[-1] for each in kb.catalogue.documents(collection)]


def test_what_is_gone_goes_and_what_changed_is_read(kb: KnowledgeBase, folder: Path) -> None:
    add(kb, [str(folder)])
    (folder / "mill.txt").unlink()
    (folder / "quay.txt").write_text("The quay was built anew.\n")
    (folder / "pier.txt").write_text("A pier came.\n")
    assert statuses(sync(kb, [str(folder)])) == {
        "ferry.txt": "unchanged",
        "mill.txt": "removed",
        "quay.txt": "updated",
        "pier.txt": "added",
    }
    assert held(kb) == ["ferry.txt", "pier.txt", "quay.txt"]
    assert verify(kb).problems == ()
    assert statuses(sync(kb, [str(folder)])) == dict.fromkeys(
        ("ferry.txt", "pier.txt", "quay.txt"), "unchanged"
    )


@pytest.mark.parametrize("left", ["", " \n\n"])
def test_a_file_that_holds_nothing_any_more_has_no_document(
    kb: KnowledgeBase, folder: Path, left: str
) -> None:
    (folder / "log.dat").write_text('{"title": "Log", "text": "The log stands by the water."}\n')
    for name in ("plan.md", "torn.md"):
        (folder / name).write_text("# Plan\n\nThe plan hangs by the door.\n")
    add(kb, [str(folder)])
    (folder / "log.dat").write_text("")  # nothing says any more of what kind it was
    (folder / "plan.md").write_text(left)
    (folder / "torn.md").write_text("---\ntitle: [\n---\nIt is torn.\n")  # its last text stays
    told = statuses(sync(kb, [str(folder)]))
    assert (told["log.dat"], told["plan.md"], told["torn.md"]) == ("removed", "removed", "failed")
    assert held(kb) == ["ferry.txt", "mill.txt", "quay.txt", "torn.md"]
    assert verify(kb).problems == ()
    (folder / "plan.md").write_text("# Plan\n\nThe plan is back.\n")
    assert statuses(sync(kb, [str(folder)]))["plan.md"] == "added"


def test_add_removes_nothing(kb: KnowledgeBase, folder: Path) -> None:
    add(kb, [str(folder)])
    (folder / "mill.txt").unlink()
    add(kb, [str(folder)])
    assert held(kb) == ["ferry.txt", "mill.txt", "quay.txt"]


def test_only_what_lies_under_the_inputs_goes(
    kb: KnowledgeBase, folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "papers-of-others"  # its name begins like the folder's
    shutil.copytree(folder, other)
    add(kb, [str(folder), str(other)])
    add(kb, [str(folder)], collection="second")
    shutil.rmtree(other)
    (folder / "mill.txt").unlink()
    sync(kb, [str(folder)])
    assert sorted(held(kb)) == sorted(
        ["ferry.txt", "quay.txt", "ferry.txt", "mill.txt", "quay.txt"]
    )
    assert len(held(kb, "second")) == 3


def test_a_folder_that_is_not_there_or_empty_removes_nothing(
    kb: KnowledgeBase, folder: Path
) -> None:
    add(kb, [str(folder)])
    moved = folder.rename(folder.with_name("elsewhere"))
    assert statuses(sync(kb, [str(folder)])) == {"papers": "failed"}
    folder.mkdir()  # a mount point without its disk
    report = sync(kb, [str(folder)])
    (row,) = report.rows
    assert row.status == "failed"
    assert "3 sources from earlier runs were kept" in row.reason
    assert len(held(kb)) == 3
    folder.rmdir()
    moved.rename(folder)
    assert set(statuses(sync(kb, [str(folder)])).values()) == {"unchanged"}


def test_what_a_pattern_found_before_and_does_not_now_goes(kb: KnowledgeBase, folder: Path) -> None:
    add(kb, [str(folder / "[fm]*.txt")])
    add(kb, [str(folder / "quay.txt")])
    (folder / "mill.txt").unlink()
    (folder / "quay.txt").unlink()
    assert statuses(sync(kb, [str(folder / "[fm]*.txt")])) == {
        "ferry.txt": "unchanged",
        "mill.txt": "removed",
    }
    assert held(kb) == ["ferry.txt", "quay.txt"]


def test_a_file_that_became_unreadable_keeps_its_document(kb: KnowledgeBase, folder: Path) -> None:
    add(kb, [str(folder)])
    (folder / "mill.txt").unlink()
    (folder / "mill.txt").symlink_to(folder / "nowhere.txt")
    (folder / "quay.txt").unlink()
    fared = statuses(sync(kb, [str(folder)]))
    assert (fared["mill.txt"], fared["quay.txt"]) == ("failed", "removed")
    assert held(kb) == ["ferry.txt", "mill.txt"]
