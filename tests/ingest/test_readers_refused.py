"""A source that still names its readers is refused: rights are per collection."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wellread.errors import SettingsError
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase

BODY = "\n\nThe ferry was bought.\n"
SPEECH = "".join(f"\n\n**Ana Holm:** The ferry {n}.\n\n**Ben Reed:** Loud." for n in range(3))
CUE = "\n\n00:01.000 --> 00:02.000\nreaders: the ferry.\n"
RECORD = {"title": "M", "text": "The ferry."}
REFUSED = {
    "plain.md": f"---\ntitle: M\nreaders: [ana]\n---{BODY}",
    "mark.md": f"\ufeff---\ntitle: M\nreaders: [ana]\n---{BODY}",
    "blanks.md": f"---  \ntitle: M\nreaders: [ana]\n---\t{BODY}",
    "windows.md": "---\r\nreaders: [ana]\r\n---\r\n\r\nThe ferry.",
    "quoted.md": f"---\n'Readers ': ana\n---{BODY}",
    "capitals.md": f"---\nREADERS : ana\n---{BODY}",
    "nested.md": f"---\nmeta:\n  readers: [ana]\n---{BODY}",
    "flow.md": f"---\n{{title: M, readers: [ana]}}\n---{BODY}",
    "talk.md": f"---\nkind: transcript\nreaders: [ana]\n---{SPEECH}",
    "note.vtt": f"WEBVTT\n\nNOTE readers: ana{CUE}",
    "page.rst": ":Readers: ana\n\nThe ferry.\n",
    "news.jsonl": f"{json.dumps(RECORD)}\n{json.dumps({**RECORD, 'Readers': ['ana']})}",
    "news.json": json.dumps([{**RECORD, "readers": "ana"}]),
    "past.jsonl": json.dumps({"question": "Who?", "answer": "The ferry.", "readers": ["ana"]}),
    "past.csv": "question,answer, Readers\nWho?,The ferry.,ana\n",
    "speech.json": json.dumps({"segments": [{"start": 0, "text": "Hm."}], "readers": ["ana"]}),
}
READ = {  # that it is a word of a text, or of a value, refuses nothing
    "value.md": f"---\nsummary: For writers, readers and all\nreader: Ana\n---{BODY}",
    "block.md": f"---\nsummary: |\n  Readers: 12\n---{BODY}",
    "comment.md": f"---\ntitle: M\n# readers: [ana]\n---{BODY}",
    "text.md": "# M\n\nreaders: [ana]\n",
    "example.md": f"---\ntitle: M\n---\n\n```yaml\nreaders: [ana]\n```{BODY}",
    "letter.md": f"Dear all,\nReaders: please note.{BODY}",
    "cue.vtt": f"WEBVTT{CUE}",
    "inner.jsonl": json.dumps({**RECORD, "stats": {"readers": 3}}),
}


def test_however_it_says_so(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, said in (REFUSED | READ).items():
        (folder / name).write_text(said, encoding="utf-8", newline="")
    rows = {row.uri.rpartition("/")[2]: row for row in add(kb, [str(folder)]).rows}
    told = {name for name, row in rows.items() if "rights are per collection" in row.reason}
    assert told == {name for name, row in rows.items() if row.status == "failed"} == set(REFUSED)


def test_what_was_read_before_stays_as_it_was(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"# M{BODY}")
    add(kb, [str(path)])
    before = kb.catalogue.documents("default")
    path.write_text(REFUSED["plain.md"])
    (row,) = sync(kb, [str(path)]).rows
    assert row.status == "failed"
    assert kb.catalogue.documents("default") == before


def test_settings_that_name_readers_add_nothing(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "page.md").write_text(f"# M{BODY}")
    settings = folder / "wellread-collection.yaml"
    settings.write_text("Readers:\n  '*.md': [ana]\n")
    with pytest.raises(SettingsError, match="rights are per collection"):
        add(kb, [str(folder)])
    settings.unlink()
    # As release 0007 kept what a file given with --settings said of readers.
    stored = {"readers": {"": {"*.md": ["ana"]}}}
    kb.catalogue.collection_settings.set_settings("default", stored)
    with pytest.raises(SettingsError, match="stored settings of 'default'"):
        sync(kb, [str(folder)])
    assert kb.catalogue.documents("default") == []
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    assert [row.status for row in add(kb, [str(folder)], settings=empty).rows] == ["added"]
