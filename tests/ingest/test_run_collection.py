"""Runs with a collection's settings: foreign archives come in, and follow changes of settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from wellread.errors import SettingsError
from wellread.ingest.integrity.verify import verify
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase

SETTINGS = """
relations:
  leads_to: {inverse: comes_from, words: [leads to]}
rules:
  - match: trees/*.md
    kind: entity
    type: tree
    id: "{file.stem}"
    aliases: [other-names]
    relations:
      - {type: leads_to, from: next}
  - match: drafts/
    skip: true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "wood"
    for name, text in {
        "trees/oak.md": "---\nother-names: [Quercus]\nnext: beech\n---\nThe oak is old.\n",
        "trees/beech.md": "---\ntitle: Beech\n---\nThe beech is smooth.\n",
        "drafts/elm.md": "# Elm\n\nThe elm is gone.\n",
    }.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text)
    return made


def names(kb: KnowledgeBase) -> dict[str, str]:
    return {
        name.casefold(): node.id
        for node in kb.catalogue.graph.entities(["default"])
        for name in (node.id, node.title, *node.aliases)
    }


def test_settings_map_fields_and_are_kept(kb: KnowledgeBase, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "wood.yaml"
    path.write_text(SETTINGS)
    report = add(kb, [str(folder)], settings=path)
    assert report.counts()["added"] == 2
    assert [row.reason for row in report.rows if row.status == "skipped"] == [
        "excluded by the collection's settings"
    ]
    assert names(kb) == {"oak": "oak", "beech": "beech", "quercus": "oak"}
    path.unlink()
    assert add(kb, [str(folder)]).counts()["unchanged"] == 3
    (folder / "trees/ash.md").write_text("The ash bends.\n")
    add(kb, [str(folder)])
    assert "ash" in names(kb)
    (folder / "trees/ash.md").write_text("The ash bends and breaks.\n")
    assert add(kb, [str(folder / "trees/ash.md")]).counts()["updated"] == 1
    assert "ash" in names(kb)  # the rule holds for a file that is added by itself


def test_a_file_in_the_folder_is_found_and_a_change_of_it_is_followed(
    kb: KnowledgeBase, folder: Path
) -> None:
    add(kb, [str(folder)])
    assert names(kb) == {}
    own = folder / "wellread-collection.yaml"
    own.write_text(SETTINGS)
    report = sync(kb, [str(folder)])
    assert report.counts()["updated"] == 2
    assert report.counts()["removed"] == 1
    assert names(kb) == {"oak": "oak", "beech": "beech", "quercus": "oak"}
    assert len(kb.catalogue.documents("default")) == 2  # the draft is left out now
    assert sync(kb, [str(folder)]).counts()["updated"] == 0
    own.write_text(SETTINGS.replace("other-names", "no-names"))
    assert sync(kb, [str(folder)]).counts()["updated"] == 2
    assert names(kb) == {"oak": "oak", "beech": "beech"}
    assert verify(kb).problems == ()


def test_a_broken_settings_file_stops_the_run_before_it_writes(
    kb: KnowledgeBase, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "wood.yaml"
    path.write_text("rules:\n  - mtch: x\n")
    with pytest.raises(SettingsError, match=r"wood\.yaml"):
        add(kb, [str(folder)], settings=path)
    assert kb.catalogue.documents("default") == []
    assert kb.catalogue.jobs.newest()[0].state == "failed"
    assert kb.catalogue.collection_settings.settings("default") is None
