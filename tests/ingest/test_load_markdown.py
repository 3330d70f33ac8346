"""Markdown: pages, entities, pages of fields alone, transcripts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import LoaderContract, source_of
from wellread.types import Document, LineMark, Relation

PAGE = """---
title: Winter berths
author: [Ida Lund, Tor Vik]
date: 2024-11-05
tags: [harbour, winter]
---
# Winter berths

The *inner* basin stays open
until the first **hard** frost.

## Fees

- A small boat pays ten crowns
  for each night.
- Children fish for free.

| berth | crowns |
|---|---|
| inner | 10 |

```
pump --basin inner
pump --stop
```
"""

ENTITY = """---
id: pump-share
title: Pump share
type: practice
aliases: [shared pumps, pump pool]
relations:
  - {type: practised_by, target: harbour-guild}
  - needs: [dry-shed]
sectors: [water, boats]
scale: regional
---
Neighbours own three pumps together.
"""

FIELDS = """---
title: Ice watch
aliases: [frost watch]
excerpt: >
  Volunteers measure the ice every morning.
---
"""

TALK = """---
title: Evening at the pier
speakers: [Ida Lund, Tor Vik]
date: 2024-02-03
---
## Opening

**Ida Lund (Minister of Piers)**: [00:00:12] The pier needs
new planks.

**Tor Vik**: [00:01:05] Who pays for them?

**Ida Lund (Minister of Piers)**: [01:00:02] The guild pays half.

**Tor Vik**: [01:00:09] And the rest?
"""

BROKEN_MATTER = "---\ntitle: [unclosed\ndate: 2024\n---\nText.\n"


def load(name: str, text: str) -> Document:
    (document,) = kinds.load(source_of(name, text), LoaderLimits())
    return document


class TestPage(LoaderContract):
    good = source_of("berths.md", PAGE)
    expected_kind = "page"
    quotes = (
        ("inner basin stays open until the first hard frost", {"line": 9}),
        ("until the first hard frost.", {"line": 10, "heading": ("Winter berths",)}),
        ("- A small boat pays ten crowns for each night.", {"line": 14}),
        ("for each night", {"line": 15, "heading": ("Winter berths", "Fees")}),
        ("Children fish", {"line": 16}),
        ("inner | 10", {"line": 20}),
        ("pump --stop", {"line": 24}),
    )
    broken = (
        source_of("matter.md", BROKEN_MATTER),
        source_of("bytes.md", bytes(range(256))),
        source_of("blank.md", "---\ndraft: true\n---\n\n"),
    )


class TestEntity(LoaderContract):
    good = source_of("pump-share.md", ENTITY)
    expected_kind = "entity"
    quotes = (("Neighbours own three pumps", {"line": 12}),)
    broken = (source_of("loose.md", "---\nid: a\nrelations: [{type: needs}]\n---\nText.\n"),)


class TestFieldsAlone(LoaderContract):
    good = source_of("ice.md", FIELDS)
    expected_kind = "page"
    quotes = (("Volunteers measure the ice every morning.", {"line": 4}),)
    broken = (source_of("scalar.md", "---\nid: 7\n---\n"),)


class TestTalk(LoaderContract):
    good = source_of("pier.md", TALK)
    expected_kind = "transcript"
    quotes = (
        (
            "The pier needs new planks.",
            {"speaker": "Ida Lund", "begin": 12.0, "heading": ("Opening",)},
        ),
        ("new planks", {"line": 9}),
        ("Who pays for them?", {"speaker": "Tor Vik", "begin": 65.0, "line": 11}),
        ("The guild pays half.", {"begin": 3602.0}),
    )
    broken = (source_of("silent.md", TALK.replace("speakers: [", "speakers: [[")),)


def test_front_matter_becomes_facts() -> None:
    page = load("berths.md", PAGE)
    assert page.title == "Winter berths"
    assert page.authors == ("Ida Lund", "Tor Vik")
    assert page.published_at == datetime(2024, 11, 5, tzinfo=UTC)
    assert page.taxonomy == {"tags": ("harbour", "winter")}


def test_an_entity_has_aliases_relations_and_taxonomy() -> None:
    document = load("pump-share.md", ENTITY)
    entity = document.entity
    assert entity is not None
    assert (entity.entity_id, entity.entity_type) == ("pump-share", "practice")
    assert entity.aliases == ("shared pumps", "pump pool")
    assert entity.relations == (
        Relation(type="practised_by", target="harbour-guild"),
        Relation(type="needs", target="dry-shed"),
    )
    assert document.taxonomy["sectors"] == ("water", "boats")
    assert document.taxonomy["scale"] == ("regional",)


def test_hard_breaks_stay_and_soft_ones_do_not() -> None:
    text = load("breaks.md", "one  \ntwo\\\nthree<br>\nfour\nfive\n").text
    assert text == "one\ntwo\nthree\nfour five"


BLOCKS = {
    "comment": "\n<!--\n---\ntitle: 'Nets: mending'\nauthors: [Ida Lund, Tor Vik]\n---\n-->\n"
    "Mend it.\n",
    "toml": '+++\ntitle = "Nets: mending"\nauthor = "Ida Lund & Tor Vik"\n+++\nMend it.\n',
    "json": '{\n  "title": "Nets: mending",\n  "author": "Ida Lund, Tor Vik"\n}\n\nMend it.\n',
    "colon": "\n\n---\ntitle: Nets: mending\nauthor: Ida Lund and Tor Vik\n---\nMend it.\n",
}


@pytest.mark.parametrize("name", BLOCKS)
def test_front_matter_of_other_programs(name: str) -> None:
    source = source_of("nets.md", BLOCKS[name])
    (document,) = kinds.load(source, LoaderLimits())
    assert document.title == "Nets: mending"
    assert document.authors == ("Ida Lund", "Tor Vik")
    assert document.text == "Mend it."
    line = BLOCKS[name].split("\n").index("Mend it.") + 1
    assert [mark.line for mark in document.marks if isinstance(mark, LineMark)] == [line]
    assert bool(source.remarks) == (name == "colon")


@pytest.mark.parametrize(
    ("author", "people"),
    [
        ("Lund, Ida", ("Lund, Ida",)),
        ("Bread and Butter Letters", ("Bread and Butter Letters",)),
        ("Ida Lund; Tor Vik", ("Ida Lund", "Tor Vik")),
        ("Ida Lund, Tor Vik, and Jo Berg", ("Ida Lund", "Tor Vik", "Jo Berg")),
    ],
)
def test_several_authors_in_a_line(author: str, people: tuple[str, ...]) -> None:
    (document,) = kinds.load(
        source_of("a.md", f"---\nauthor: {author}\n---\nText.\n"), LoaderLimits()
    )
    assert document.authors == people


VAULT_NOTE = """---
tags: ["#boats"]
---
# Slip

> [!tip]- Tide first
> Wait for [[Tides#Spring|the flood]].

The ==winch== holds [[Ropes]] and [[1]](x.md). See ![[slip.png]] `==code==`. ^slip-a1
%% ask nobody %%

%%
```compressed-json
N4KAkARALgng
```
%%

```dataview
TABLE tide
```

Cost: 2^10 == 1024 == 0x400.
"""


def test_a_note_of_obsidian_is_read_as_its_words() -> None:
    (document,) = kinds.load(source_of("Slip.md", VAULT_NOTE), LoaderLimits())
    assert document.text == (
        "Slip\n\nTide first\nWait for the flood.\n\nThe winch holds Ropes and [1]. See ==code==."
        "\n\nCost: 2^10 == 1024 == 0x400."
    )
    assert document.taxonomy == {"tags": ("boats",)}
    assert [mark.line for mark in document.marks if isinstance(mark, LineMark)][-1] == 22


@pytest.mark.parametrize(
    ("folder", "fields", "kind"),
    [
        ("site/_posts/", "date: 2025-03-04", "article"),
        ("News/2025/", "date: 2025-03-04", "article"),
        ("", "date: 2025-03-04\nlayout: post", "article"),
        ("notes/", "date: 2025-03-04", "page"),
        ("news/", "weight: 1", "page"),
        ("news/", "date: 2025-03-04\nkind: page", "page"),
    ],
)
def test_dated_posts_are_articles(folder: str, fields: str, kind: str) -> None:
    source = source_of("nets.md", f"---\n{fields}\n---\nThe nets are dry.\n")
    moved = replace(source, uri=f"file:///home/ida/{folder}nets.md")
    (document,) = kinds.load(moved, LoaderLimits())
    assert document.kind == kind
