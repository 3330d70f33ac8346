"""German: questions in German on German notes, with dates, numbers, persons and word forms."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from wellread.ask.answer import answer, final
from wellread.ask.retrieve.search import search
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.question_parts import expected_answer
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.identity import Asker
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.seen_by import view_for
from wellread.text.languages import in_english
from wellread.types import Filters
from wellread.values.answers import Question

Notes = Mapping[str, Mapping[str, Any]]


def notes_of(name: str) -> Notes:
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text("utf-8"))


NOTES, HELD_BACK = notes_of("german"), notes_of("german_held_back")


def filled(folder: Path, notes: Notes) -> KnowledgeBase:
    for name, note in notes.items():
        path = folder / "notes" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(" ".join(note["text"].split()), encoding="utf-8")
    kb = open_kb(folder / "home")
    add(kb, [str(folder / "notes")])
    return kb


def answered(kb: KnowledgeBase, notes: Notes) -> list[str]:
    """The questions whose first citation is of their note and quotes the answer."""
    right = []
    for name, note in notes.items():
        for question, words in note["asked"]:
            found = asyncio.run(final(answer(kb, Question(text=question, fresh=True))))
            first = next(iter(found.citations), None)
            if first and first.title.lower() == name and words in first.quote:
                right.append(question)
    return right


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with filled(tmp_path_factory.mktemp("german"), NOTES) as opened:
        yield opened


def test_every_question_is_answered_from_its_note(kb: KnowledgeBase) -> None:
    assert answered(kb, NOTES) == [q for note in NOTES.values() for q, _ in note["asked"]]


def test_questions_held_back(tmp_path: Path) -> None:
    with filled(tmp_path, HELD_BACK) as opened:
        assert len(answered(opened, HELD_BACK)) >= 11  # of 12; may only rise


def test_the_language_is_a_fact_of_the_document(kb: KnowledgeBase, tmp_path: Path) -> None:
    (collection,) = kb.catalogue.collection_names()
    documents = kb.catalogue.documents(collection)
    assert {document.language for document in documents} == {"de"}
    declared = tmp_path / "sv.md"
    declared.write_text("---\nlanguage: sv\n---\nThe note says what it is.\n", encoding="utf-8")
    with open_kb(tmp_path / "home") as other:
        add(other, [str(declared)])
        (name,) = other.catalogue.collection_names()
        (document,) = other.catalogue.documents(name)
        assert document.language == "sv"


@pytest.mark.parametrize(
    ("asked", "name"), [("Hof", "käserei"), ("Mann", "chor"), ("Bohrmaschinen", "bibliothek")]
)
def test_words_are_found_in_other_forms(kb: KnowledgeBase, asked: str, name: str) -> None:
    reader = view_for(kb, Asker(owner="ada", reads=frozenset(kb.catalogue.collection_names())))
    for asking in (kb, reader):
        found = search(asking, asked, Filters(), mode="text")
        assert found[0].document.title.lower() == name
        assert len(found) == 1


@pytest.mark.parametrize(
    ("question", "kind", "answer_kind"),
    [
        ("Wann wurde das Bootshaus eröffnet?", "temporal", "date"),
        ("Wie viele Bienenvölker hält die Imkerei?", "counting", "number"),
        ("Wer leitet die Imkerei?", "factual", "person"),
        ("Wo probt der Chor?", "factual", "place"),
        ("Was kostet eine Bohrmaschine?", "factual", "number"),
        ("Was ist der Unterschied zwischen dem Chor und der Imkerei?", "comparative", "other"),
    ],
)
def test_what_is_asked_for(question: str, kind: str, answer_kind: str) -> None:
    words = Vocabulary(languages=frozenset({"de"}))
    analysis = analyse(Question(text=question), words, date(2026, 1, 1))
    assert (analysis.language, analysis.type) == ("de", kind)
    assert expected_answer(in_english(question, analysis.language)) == answer_kind
    assert not analysis.sides or analysis.sides == ("chor", "imkerei")
