"""Rules of a collection, carried out on a small archive of a harbour museum."""

from __future__ import annotations

import json

import pytest

from wellread.errors import SourceError
from wellread.ingest.loaders.base import ENTRIES, LoaderLimits, Source
from wellread.ingest.pipeline import kinds
from wellread.ingest.settings.collection import CollectionSettings
from wellread.ingest.settings.mapping import SourceRules
from wellread.types import Document, Relation

SETTINGS = r"""
relations:
  see_also: {inverse: see_also}
  shown_in: {inverse: shows}
  part_of: {inverse: has_part}
  names: {inverse: named_in}
  talk_on: {inverse: talked_about_in}
rules:
  - match: boats/*/*.md
    kind: entity
    type: boat
    id: "{file.stem}"
    url: https://museum.example/boats/{file.stem}
    title: craft
    summary: {find: "<short>(.+?)</short>"}
    aliases: [nick, {text: "the {craft}"}]
    taxonomy:
      rig: {text: "{file.folder}"}
      woods: [hull.wood, mast.wood]
    relations:
      - {type: see_also, from: related.link, pattern: "boat (?P<target>.+)"}
      - {type: shown_in, from: exhibits.*.hall, target: "hall-{value}"}
      - {type: part_of, target: "{file.folder}"}
    links:
      - {type: names, label: "(?i)boat (?P<target>.+)"}
      - {type: names, href: "term:(?P<target>.+)", target: "term/{target}"}
      - {type: names, find: '\[\[(?P<target>[^\]|]+)'}
  - match: terms.yaml
    entries: words.*
    type: term
    id: "term/{entry.key}"
    title: label
    text: [meaning, note]
    links: [{type: names, href: "term:(?P<target>.+)", target: "term/{target}"}]
  - match: notes/*.md
    kind: article
    id: "{path}"
    type: note
    url: https://museum.example/notes/{number}
    published_at: written
  - match: talks/*.md
    kind: transcript
    id: "{file.stem}"
    media_url: {find: 'player (\S+)'}
    relations: [{type: talk_on, from: about}]
  - match: drafts/
    skip: true
  - match: plain/*.md
    taxonomy: {}
"""

BOAT = """---
craft: "*Ida*, a cutter"
nick: [Ida, Old Ida]
hull: {wood: oak}
mast: {wood: [pine, oak]}
related:
  - {title: The sloop, link: boat Wave}
  - {title: A page, link: "https://elsewhere.example"}
  - {title: Herself, link: boat ida}
  - {title: Another kind, link: a boat gone by}
exhibits:
  spring: {hall: 3}
  autumn: {hall: 5}
---
<short>
A fast
boat.
</short>

She outran the [sloop][boat wave] and her [jib](term:jib). See [[Tern|the tern]].

`[[not a link in code]]` is one all the same.
"""

TERMS = """
words:
  jib:
    label: The *jib*
    meaning: A **small** sail before the [mast](term:mast).
    note: Old word.
  mast: {label: Mast}
"""

NOTE = """---
path: /notes/1/
written: 2024-05-06
---
## News

- **A new rope:** it came from far
  away.

- [Paint][] was short.

## The old [pier](x)
"""


def settings() -> CollectionSettings:
    return CollectionSettings.parse(SETTINGS, "museum.yaml")


def source_of(path: str, text: str) -> Source:
    name = path.rpartition("/")[2]
    return Source(uri=f"file:///m/{path}", name=name, data=text.encode(), collection="museum")


def loaded(path: str, text: str) -> list[Document]:
    """As a worker does it: the reading comes as plain JSON."""
    rule = settings().rule_for(path)
    if rule is None:
        return kinds.load(source_of(path, text), LoaderLimits())
    made = SourceRules(rule=rule, relative=path)
    reading = SourceRules.from_plain(json.loads(json.dumps(made.to_plain())))
    assert reading.identity == made.identity
    return kinds.load(source_of(path, text), LoaderLimits(), reading)


def reader_of(path: str) -> SourceRules:
    rule = settings().rule_for(path)
    assert rule is not None
    return SourceRules(rule=rule, relative=path)


def test_fields_of_others_become_ours() -> None:
    (boat,) = loaded("boats/cutter/ida.md", BOAT)
    assert (boat.kind, boat.title) == ("entity", "Ida, a cutter")
    assert boat.url == "https://museum.example/boats/ida"
    assert boat.summary == "A fast boat."
    assert boat.taxonomy == {"rig": ("cutter",), "woods": ("oak", "pine")}
    assert boat.entity is not None
    assert (boat.entity.entity_id, boat.entity.entity_type) == ("ida", "boat")
    assert boat.entity.aliases == ("Ida", "Old Ida", "the *Ida*, a cutter")


def test_edges_come_from_fields_and_links() -> None:
    (boat,) = loaded("boats/cutter/ida.md", BOAT)
    assert boat.entity is not None
    assert boat.entity.relations == (
        Relation(type="see_also", target="Wave"),
        Relation(type="shown_in", target="hall-3"),
        Relation(type="shown_in", target="hall-5"),
        Relation(type="part_of", target="cutter"),
        Relation(type="names", target="wave"),
        Relation(type="names", target="term/jib"),
        Relation(type="names", target="Tern"),
        Relation(type="names", target="not a link in code"),
    )


def test_a_file_of_entries_becomes_an_entity_each() -> None:
    jib, mast = loaded("terms.yaml", TERMS)
    assert (jib.title, jib.text) == ("The jib", "A small sail before the mast.\n\nOld word.")
    assert jib.uri == "file:///m/terms.yaml#jib"
    assert jib.entity is not None
    assert jib.entity.entity_id == "term/jib"
    assert jib.entity.relations == (Relation(type="names", target="term/mast"),)
    assert (mast.title, mast.text) == ("Mast", "Mast")
    assert jib.marks == ()


def test_a_broken_file_of_entries_names_the_line() -> None:
    with pytest.raises(SourceError, match="neither YAML nor JSON, line 3"):
        loaded("terms.yaml", "words:\n  jib: 1\n  - mast\n")


def test_an_entity_without_its_id_is_refused() -> None:
    with pytest.raises(SourceError, match=r"no value to fill \{path\} with"):
        loaded("notes/1.md", "A note without front matter.\n")


def test_other_kinds_of_documents_can_be_nodes() -> None:
    (note,) = loaded("notes/1.md", NOTE)
    assert note.kind == "article"
    assert note.url == ""  # there is no number to make it of
    assert note.entity is not None
    assert note.entity.entity_id == "/notes/1/"
    assert note.published_at is not None
    assert note.published_at.isoformat() == "2024-05-06T00:00:00+00:00"


def test_a_rule_can_leave_files_out_and_empty_the_taxonomy() -> None:
    assert reader_of("drafts/a.md").loader_name("markdown") == ""
    assert reader_of("terms.yaml").loader_name("") == ENTRIES
    text = "---\ncolours: [red, blue]\n---\nWords.\n"
    (plain,) = loaded("plain/a.md", text)
    (free,) = loaded("else/a.md", text)
    assert (plain.taxonomy, free.taxonomy) == ({}, {"colours": ("red", "blue")})


def test_a_folded_tree_of_lists_is_not_unfolded() -> None:
    layers = ["a0: &a0 []"] + [f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]" for n in range(1, 12)]
    matter = "\n".join([*layers, "nick: *a11", "craft: Ida"])
    (boat,) = loaded("boats/cutter/ida.md", f"---\n{matter}\n---\nA boat.\n")
    assert boat.entity is not None
    assert boat.entity.aliases == ("the Ida",)
