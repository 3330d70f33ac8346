"""The settings file of a collection: what it may say, and how it complains."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wellread.errors import SettingsError
from wellread.ingest.settings.collection import CollectionSettings, Rule

EXAMPLES = Path(__file__).parents[2] / "examples" / "collections"

GOOD = """
relations:
  see_also: {inverse: see_also}
  part_of: {inverse: has_part, words: [part of, belongs to]}
rules:
  - match: drafts/*
    skip: true
  - match: ["boats/*.md", "ships/*.md"]
    kind: entity
    id: "{file.stem}"
    aliases: [nick, also]
    relations:
      - {type: see_also, from: related.link}
  - match: "*.md"
    kind: page
"""


def parse(text: str) -> CollectionSettings:
    return CollectionSettings.parse(text, "harbour.yaml")


def test_the_first_rule_that_matches_counts() -> None:
    settings = parse(GOOD)
    assert [
        rule.kind if (rule := settings.rule_for(path)) else "none"
        for path in ("boats/a.md", "ships/b.md", "drafts/c.md", "log/d.md", "log/e.pdf")
    ] == ["entity", "entity", None, "page", "none"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "rules:\n  - match: a.md\n    knid: page\n",
            "harbour.yaml, line 3: rules.0.knid is not known",
        ),
        ("rules:\n  - match: a\n  - kind: page\n", "line 3: rules.1.match is missing"),
        ("rules:\n  - match: a\n    kind: poem\n", "line 3: rules.0.kind has to be"),
        ("rules: [\n", "harbour.yaml, line 2: not YAML: "),
        ("- a\n- b\n", "harbour.yaml, line 1: "),
        (
            "rules:\n  - match: a\n    taxonomy:\n      x: {find: '('}\n",
            "line 4: rules.0.taxonomy.x.0.find: not a regular expression",
        ),
        ("rules:\n  - match: a\n    id: '{file.steem}'\n", "{file.steem} is not known"),
        ("rules:\n  - match: a\n    aliases: also\n", "need an id"),
        ("rules:\n  - match: a\n    entries: terms.*\n    id: x\n", "entries and text go together"),
        (
            "rules:\n  - match: a\n    id: x\n    links: [{type: t, href: h, label: l}]\n",
            "one of href, label and find",
        ),
        (
            "rules:\n  - match: a\n    title: [name, {fnid: x}]\n",
            "line 3: rules.0.title.1: give the name of a field, {find",
        ),
        (
            "rules:\n  - match: a\n    published_at: on\n",
            "line 3: rules.0.published_at.0: give the name of a field",
        ),
        (
            "rules:\n  - match: a\n    id: x\n    relations: [{type: kin}]\n",
            "give from, target or both",
        ),
        (
            "rules:\n  - match: a\n    id: x\n    relations: [{type: kin, from: f}]\n",
            "relations does not declare kin",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse(text)
    assert told in str(caught.value)


def test_stored_settings_of_another_release_are_refused() -> None:
    assert CollectionSettings.from_plain({"hierarchies": [{"file": "a"}]}) == CollectionSettings()
    with pytest.raises(SettingsError, match=r"rules\.0\.colour"):
        CollectionSettings.from_plain({"rules": [{"match": ["a"], "colour": "red"}]})


@pytest.mark.parametrize("name", ["optech.yaml", "s3_patterns.yaml"])
def test_the_examples_are_right(name: str) -> None:
    settings = CollectionSettings.read(EXAMPLES / name)
    assert settings.rules
    assert CollectionSettings.from_plain(settings.to_plain()) == settings


def test_the_reference_is_right_and_whole() -> None:
    page = (EXAMPLES.parents[1] / "docs" / "collections.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 1
    for example in examples:
        assert parse(example).relations
    told = set(re.findall(r"`(\w+)`|^ *(?:- )?(\w+):", page, re.MULTILINE))
    known = {*Rule.model_fields, *CollectionSettings.model_fields}
    assert known - {name for pair in told for name in pair} == set()
