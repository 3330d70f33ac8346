from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.store.made import put

from wellread.errors import StoreError
from wellread.ingest.joining import story_refresh as making
from wellread.ingest.joining.story_refresh import StoryReport, refresh_stories
from wellread.kb import KnowledgeBase, open_kb
from wellread.store.catalogue.documents.story_records import ItemRecord, Stories, Story
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Document, Kind

NEWS = "news"
FIRST = datetime(2026, 1, 5, tzinfo=UTC)
FERRY = {
    "Ferry Osprey breaks down": "The ferry Osprey broke down off the harbour on Monday morning. "
    "A tug towed the ferry home with ninety passengers, and nobody was hurt on board.",
    "Ferry Osprey back in service": "The ferry Osprey is back in service with a new engine. "
    "Passengers of the ferry who lost a day get their fare back at the harbour office.",
    "Council wants a second ferry": "The council wants a second ferry beside the Osprey, since "
    "the harbour depends on one engine. Two offers for ferries are on the table.",
}
BREAD = {
    "Bakery wins prize for rye bread": "The village bakery won the national prize for rye bread. "
    "The bakers use caraway seeds from the school garden in the bread, they said.",
    "Rye bread now in the capital": "The prize bread of the village bakery is sold in the capital. "
    "Every morning a van takes two hundred loaves of rye from the bakery to the market.",
}


def article(
    title: str, text: str, day: int, host: str = "herald.example", kind: Kind = "article"
) -> Document:
    return Document(
        collection=NEWS,
        uri=f"https://{host}/{title.replace(' ', '-')}",
        kind=kind,
        title=title,
        text=text,
        url=f"https://{host}/{title.replace(' ', '-')}",
        published_at=FIRST + timedelta(days=day),
    )


def week() -> list[Document]:
    """Five articles on five days, of two subjects in turn."""
    mixed = [*FERRY.items(), *BREAD.items()]
    order = [0, 3, 1, 4, 2]
    return [article(*mixed[place], day) for day, place in enumerate(order)]


def commit(kb: KnowledgeBase, documents: Sequence[Document]) -> None:
    put(kb.catalogue, *documents)


def gathered(kb: KnowledgeBase) -> dict[str, list[str]]:
    """Title of each story to the titles of its items."""
    stored = kb.catalogue.stories
    return {
        story.title: [item.title for item in stored.items(story.id)] for story in stored.latest()
    }


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def told_words(kb: KnowledgeBase) -> set[str]:
    """Every word in the table of stories."""
    cells = kb.catalogue.integrity.cells()
    return words(" ".join(str(value) for table, _, value in cells if table == "stories"))


def only_story(kb: KnowledgeBase) -> Story:
    (story,) = kb.catalogue.stories.latest()
    return story


def opened(home: Path, **stories: Any) -> KnowledgeBase:
    kb = open_kb(home, overrides={"stories": stories}, embedder=ReadableEmbedder())
    kb.live()
    return kb


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with opened(tmp_path / "home") as made:
        yield made


def test_news_of_a_week_becomes_two_stories(kb: KnowledgeBase) -> None:
    commit(kb, week())
    report = refresh_stories(kb, NEWS)
    assert (report.documents, report.items, report.repeats, report.updated) == (5, 5, 0, 2)
    assert sorted(map(sorted, gathered(kb).values())) == [sorted(BREAD), sorted(FERRY)]
    for title, items in gathered(kb).items():
        assert title in items


def test_a_story_tells_when_it_was_and_by_how_many_in_words_of_its_items(
    kb: KnowledgeBase,
) -> None:
    commit(kb, [article(title, text, day) for day, (title, text) in enumerate(FERRY.items())])
    refresh_stories(kb, NEWS)
    story = only_story(kb)
    assert (story.first_at, story.last_at) == (FIRST, FIRST + timedelta(days=2))
    assert (story.items, story.sources, story.dirty) == (3, 1, False)
    assert 0 < story.novelty < 1
    assert {"ferry", "Osprey"} & set(story.terms)
    assert len(story.summary) == 3
    assert len({one.document_id for one in story.summary}) == 3
    for one in story.summary:
        assert kb.catalogue.texts([(one.document_id, one.span)]) == [one.text]


def test_a_second_refresh_does_nothing(kb: KnowledgeBase) -> None:
    commit(kb, week())
    refresh_stories(kb, NEWS)
    before = kb.catalogue.stories.latest()
    again = refresh_stories(kb, NEWS)
    assert (again.documents, again.items, again.updated) == (0, 0, 0)
    assert [story.id for story in kb.catalogue.stories.latest()] == [story.id for story in before]


def test_day_by_day_makes_the_stories_that_a_week_at_once_makes(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    commit(kb, week())
    refresh_stories(kb, NEWS)
    with opened(tmp_path / "other") as other:
        for document in week():
            commit(other, [document])
            refresh_stories(other, NEWS)
        assert gathered(other) == gathered(kb)
        placed = [list(one.catalogue.stories.placed(NEWS)) for one in (kb, other)]
        assert placed[0] == placed[1]


def test_a_copy_is_no_second_source_and_an_independent_report_is(kb: KnowledgeBase) -> None:
    title, text = next(iter(FERRY.items()))
    commit(kb, [article(title, text, 0)])
    commit(kb, [article(title, text, 1, host="copy.example")])
    assert refresh_stories(kb, NEWS).repeats == 1
    assert (only_story(kb).items, only_story(kb).sources) == (2, 1)
    other = list(FERRY)[1]
    commit(kb, [article(other, FERRY[other], 2, host="current.example")])
    refresh_stories(kb, NEWS)
    assert (only_story(kb).items, only_story(kb).sources) == (3, 2)


def test_nothing_of_a_changed_article_stays(kb: KnowledgeBase) -> None:
    title, text = next(iter(FERRY.items()))
    commit(kb, [article(title, text, 0)])
    refresh_stories(kb, NEWS)
    assert "tug" in told_words(kb)
    commit(kb, [article(title, text.replace("tug", "trawler"), 0)])
    assert "tug" not in told_words(kb)
    refresh_stories(kb, NEWS)
    assert "tug" not in told_words(kb)
    assert "trawler" in told_words(kb)


def test_other_settings_make_the_stories_anew(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as kb:
        commit(kb, week())
        refresh_stories(kb, NEWS)
        assert len(gathered(kb)) == 2
    with opened(tmp_path / "home", kinds=["page"]) as kb:
        refresh_stories(kb, NEWS)
        assert gathered(kb) == {}
        assert refresh_stories(kb, NEWS).updated == 0


def test_stories_can_be_switched_off(tmp_path: Path) -> None:
    with opened(tmp_path / "home", enabled=False) as kb:
        commit(kb, week())
        assert refresh_stories(kb, NEWS) == StoryReport()
        assert gathered(kb) == {}


def test_what_a_killed_refresh_left_untold_is_told_later(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> int:
        raise StoreError("killed")

    commit(kb, week())
    with monkeypatch.context() as patched:
        patched.setattr(Stories, "set_texts", killed)
        with pytest.raises(StoreError):
            refresh_stories(kb, NEWS)
    assert gathered(kb) == {}
    report = refresh_stories(kb, NEWS)
    assert (report.items, report.updated) == (0, 2)
    assert len(gathered(kb)) == 2


def test_a_killed_refresh_goes_on_where_it_was(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "BATCH_ITEMS", 1)
    commit(kb, week())
    keep = Stories.keep
    kept = 0

    def stop_at_third(self: Stories, collection: str, items: Sequence[ItemRecord]) -> None:
        nonlocal kept
        kept += 1
        if kept == 3:
            raise StoreError("killed")
        keep(self, collection, items)

    monkeypatch.setattr(Stories, "keep", stop_at_third)
    with pytest.raises(StoreError):
        refresh_stories(kb, NEWS)
    monkeypatch.setattr(Stories, "keep", keep)
    assert refresh_stories(kb, NEWS).items == 3
    with opened(tmp_path / "other") as other:
        commit(other, week())
        refresh_stories(other, NEWS)
        assert gathered(other) == gathered(kb)


def test_an_item_of_a_removed_article_is_gone_from_its_story(kb: KnowledgeBase) -> None:
    documents = week()
    commit(kb, documents)
    refresh_stories(kb, NEWS)
    own = words(documents[0].text).difference(*(words(one.text) for one in documents[1:]))
    assert own & told_words(kb)
    kb.catalogue.remove_sources(NEWS, [documents[0].uri])
    assert not own & told_words(kb)
    assert [sorted(items) for items in gathered(kb).values()] == [sorted(BREAD)]
    assert refresh_stories(kb, NEWS).updated == 1
    assert sorted(len(items) for items in gathered(kb).values()) == [2, 2]
    assert not own & told_words(kb)
