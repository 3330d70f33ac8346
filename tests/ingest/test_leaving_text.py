"""Text that leaves is nowhere, to the byte, in whatever way it leaves; what was quoted stays."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from wellread.facade import Wellread
from wellread.ingest.integrity.verify import verify
from wellread.ingest.remove import remove_collection, remove_conversation, remove_named
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase
from wellread.learning.feedback_giving import give_feedback
from wellread.store.schema.stored_values import REMOVED
from wellread.store.schema.tables import metadata
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Answer

FERRY = """---
tags: [quixotic]
---
# Xylograph Memorandum

The ferry Osprey was bought for 2.6 million euros in 2021. It carries ninety passengers.

## Timetable

The ferry Osprey leaves the harbour at six every morning. The zelkova crew sleeps on board.
"""
FERRY_NOW = "# Plain report\n\nThe ferry was sold.\n"
YARD = """# The yard

The shipyard Calder built eleven ferries, among them the ferry Osprey.
"""
BOAT = """---
id: osprey
type: boat
---
# Gribbleship Entity

This boat sails in the harbour.
"""
NEWS = """<rss version="2.0"><channel><title>Harbour news</title><link>https://x.example/</link>
<item><title>Jabberseal returns</title><link>https://x.example/seals</link>
<description>{seals}</description></item>
<item><title>Crane sold</title><link>https://x.example/crane</link>
<description>The old steam crane was sold to a museum abroad.</description></item>
</channel></rss>"""
SEALS = "Nineteen grey seals were counted on the northern pier."
SEALS_NOW = "Seals left in May."
QUOTED = "It carries ninety passengers."
# What was written for people keeps the titles that sources had at the time.
WRITTEN = ("answers", "answer_sentences", "answer_citations", "gaps")
QUESTIONS = {
    "quoting": "How many passengers does the ferry Osprey carry?",
    "listing": "How many documents mention Osprey?",
    "declined": "Who painted the ferry Osprey's funnel in green?",
    "news": "How many grey seals were counted?",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Town:
    """A home of four sources of which things were asked, and the folder of the sources."""

    kb: KnowledgeBase
    folder: Path
    answers: dict[str, Answer]

    def now(self, name: str) -> Answer:
        found = self.kb.catalogue.answer(self.answers[name].id)
        assert found is not None
        return found

    def everything(self, besides: tuple[str, ...] = ()) -> str:
        """Every table but ``besides``, and the bytes of all files when there are none of these."""
        with self.kb.catalogue.snapshot() as connection:
            dump = [
                str(tuple(row))
                for table in metadata.sorted_tables
                if table.name not in besides
                for row in connection.execute(table.select())
            ]
        files = [] if besides else [p.read_bytes() for p in self.kb.home.rglob("*") if p.is_file()]
        return "\n".join(dump) + b"\n".join(files).decode("latin-1")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Answer]]:
    root = tmp_path_factory.mktemp("leaving")
    folder = root / "papers"
    folder.mkdir()
    (folder / "zanzibook.md").write_text(FERRY)
    (folder / "yard.md").write_text(YARD)
    (folder / "boat.md").write_text(BOAT)
    (folder / "news.xml").write_text(NEWS.format(seals=SEALS))
    with Wellread(root / "home", embedder=ReadableEmbedder()) as made:
        add(made.kb, [str(folder)])
        answers = {name: made.ask(question) for name, question in QUESTIONS.items()}
        answers["report"] = made.research("What is known about the harbour?").answer
    return root, answers


@pytest.fixture
def town(asked: tuple[Path, dict[str, Answer]], tmp_path: Path) -> Iterator[Town]:
    root, answers = asked
    shutil.copytree(root / "home", tmp_path / "home")
    backup = shutil.copytree(root / "papers", tmp_path / "kept")
    with Wellread(tmp_path / "home", embedder=ReadableEmbedder()) as opened:
        yield Town(kb=opened.kb, folder=root / "papers", answers=answers)
    shutil.rmtree(root / "papers")
    shutil.copytree(backup, root / "papers")


def test_the_answers_are_what_the_tests_take_them_for(town: Town) -> None:
    assert QUOTED in town.answers["quoting"].text
    assert town.answers["listing"].table is not None
    assert "Xylograph Memorandum" in town.answers["declined"].text
    assert town.answers["news"].citations[0].title == "Jabberseal returns"
    assert "Gribbleship Entity" in repr(town.answers["listing"])
    for word in ("Xylograph", "zelkova", "quixotic", "Gribbleship", "Jabberseal", "zanzibook"):
        assert word in town.everything()


def test_an_update_leaves_what_answers_quote_and_nothing_else(town: Town) -> None:
    (town.folder / "zanzibook.md").write_text(FERRY_NOW)
    (town.folder / "boat.md").write_text(BOAT.replace("Gribbleship Entity", "The Osprey boat"))
    assert add(town.kb, [str(town.folder)]).counts()["updated"] == 2
    assert QUOTED in town.everything()  # what an answer quoted, it keeps, and what it called it
    left = town.everything(besides=WRITTEN)
    for words in (QUOTED, "zelkova", "Xylograph", "quixotic", "Memorandum", "Gribbleship"):
        assert words not in left
    assert verify(town.kb).problems == ()


def test_what_was_removed_stays_nameless_when_its_file_is_there_again(town: Town) -> None:
    ferry = town.folder / "zanzibook.md"
    remove_named(town.kb, "default", [str(ferry)])
    add(town.kb, [str(town.folder)])
    assert verify(town.kb).problems == ()
    ferry.write_text(FERRY.replace("Xylograph", "Zincograph"))
    add(town.kb, [str(town.folder)])
    assert verify(town.kb).problems == ()
    (cited, *_) = town.now("quoting").citations
    assert (cited.title, cited.quote) == (REMOVED, "")


def test_why_a_source_matters_names_nothing_that_left(town: Town) -> None:
    told = "The Xylograph Memorandum alone tells it."
    given = town.answers["quoting"]
    cited = tuple(replace(one, why=told) for one in given.citations)
    town.kb.catalogue.record_answer(replace(given, citations=cited))
    assert {one.why for one in town.now("quoting").citations} == {told}
    remove_named(town.kb, "default", [str(town.folder / "zanzibook.md")])
    assert {cited.why for cited in town.now("quoting").citations} == {""}
    assert "Xylograph" not in town.everything()


def test_an_entry_of_a_feed_that_changed_leaves_its_title_and_text(town: Town) -> None:
    news = NEWS.format(seals=SEALS_NOW).replace("Jabberseal returns", "Seals")
    (town.folder / "news.xml").write_text(news)
    sync(town.kb, [str(town.folder)])
    for words in ("Jabberseal", SEALS):
        assert words not in town.everything(besides=WRITTEN)


def test_an_entry_of_a_feed_that_went_leaves_nothing_in_what_does_not_cite_it(town: Town) -> None:
    town.kb.catalogue.record_gap(f"Who says: {SEALS}", "nobody")
    head, _, rest = NEWS.partition("<item><title>Jabberseal")
    (town.folder / "news.xml").write_text(head + rest[rest.index("<item>") :])
    sync(town.kb, [str(town.folder)])
    left = town.everything()
    assert "grey seals were counted on" not in left
    assert "Jabberseal" not in left


def test_the_name_of_a_file_that_went_stands_in_the_run_that_removed_it_only(town: Town) -> None:
    (town.folder / "zanzibook.md").unlink()
    report = sync(town.kb, [str(town.folder)])
    assert [row.uri.endswith("zanzibook.md") for row in report.rows if row.status == "removed"]
    assert "zanzibook" not in town.everything(besides=("job_items",))
    items = town.kb.catalogue.jobs.items(report.job_id, "removed")
    assert [one.uri.rpartition("/")[2] for one in items] == ["zanzibook.md"]
    (first,) = [job for job in town.kb.catalogue.jobs.newest() if job.action == "add"]
    assert REMOVED in {one.uri for one in town.kb.catalogue.jobs.items(first.id)}
    again = sync(town.kb, [str(town.folder)])
    assert again.counts()["removed"] == 0
    assert "zanzibook" not in town.everything()
    assert town.kb.catalogue.jobs.counts(report.job_id)["removed"] == 1


def test_a_file_that_is_removed_by_name_leaves_no_name(town: Town) -> None:
    path = town.folder / "zanzibook.md"
    add(town.kb, [str(path)])
    report = remove_named(town.kb, "default", [str(path)])
    assert report.traces == ()
    left = town.everything()
    for word in ("zanzibook", "Xylograph", "zelkova", "quixotic"):
        assert word not in left
    job = next(one for one in town.kb.catalogue.jobs.newest() if REMOVED in one.inputs)
    assert job.named == ()


def test_a_collection_takes_the_names_of_its_files_along(town: Town) -> None:
    report = remove_collection(town.kb, "default")
    assert report.traces == ()
    left = town.everything()
    for word in ("zanzibook", "Xylograph", "zelkova", "quixotic", "Jabberseal", "Gribbleship"):
        assert word not in left


def test_a_conversation_takes_everything_along_that_it_left(town: Town) -> None:
    kb = town.kb
    with Wellread(kb.home, embedder=ReadableEmbedder()) as made:
        known = made.ask("Who fed the wombatross of the harbour?").session_id
        made.research("What is known about the wombatross?", session_id=known)
        answer = made.ask("How many passengers has the wombatross ferry Osprey?", session_id=known)
    give_feedback(kb, answer.id, {"score": 10, "comment": "wombatross"}, author="")
    assert len(kb.catalogue.research.newest()) == 2
    assert remove_conversation(kb, known, "") == 3
    assert "wombatross" not in town.everything()
    assert len(kb.catalogue.research.newest()) == 1
    assert remove_conversation(kb, known, "") is None


@pytest.mark.parametrize("way", ["sync", "remove"])
def test_what_people_are_told_of_a_removed_source_does_not_name_it(town: Town, way: str) -> None:
    town.kb.catalogue.record_gap("Who?", "only “Xylograph Memorandum” is near")
    path = town.folder / "zanzibook.md"
    path.unlink()
    if way == "remove":
        remove_named(town.kb, "default", [str(path)])
    else:
        sync(town.kb, [str(town.folder)])
    after = "█████████ ██████████"
    reasons = [gap.reason for gap in town.kb.catalogue.gaps() if gap.question == "Who?"]
    assert reasons == [f"only “{after}” is near"]
