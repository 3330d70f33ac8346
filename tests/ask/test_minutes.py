"""Minutes, a handbook and a changelog as people keep them: plain files, dated by their names."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

import pytest
from tests.ask.conftest import ask

from wellread.ingest.loaders.front_matter import date_in_name
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import CATALOGUE

FILES = {
    "minutes-2024-05-13.txt": """ROWING CLUB OF THE SOUND
General meeting, 13 May 2024

1. JETTY. The planks at the end are rotten. Agreed to buy oak.

2. BOATS. Two boats need new oars. Put off to June.

3. FEES. They go up by five crowns. Carried.
""",
    "minutes-2024-06-10.md": """# Rowing club
## Minutes of the meeting

### 1. Oars
Ten oars were bought in Lund.

### 2. Summer regatta
The summer regatta is moved to the harbour, since the lake is low.
""",
    "handbook.md": """# Handbook

## The lamp blinks twice
Two blinks mean: the bilge pump is stuck. Switch it off, open the lid and take out the weed.

## The winch
The winch is greased in spring.
""",
    "changelog.md": "# Changelog\n\n- Winch: how the winch is greased by its crew\n",
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    root = tmp_path_factory.mktemp("minutes")
    folder = root / "material"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    low: dict[str, dict[str, object]] = {"qa": {"confidence_threshold": 0.1}}
    with open_kb(root / "home", overrides=low, embedder=ReadableEmbedder()) as opened:
        add(opened, [str(folder)])
        yield opened


@pytest.mark.parametrize(
    "question",
    [
        "Sum up what was settled at the meeting in May 2024.",
        "What was discussed at the meeting of 13 May 2024?",
    ],
)
async def test_the_one_document_of_a_time_is_summed_up(kb: KnowledgeBase, question: str) -> None:
    given = await ask(kb, question)
    assert given.answered_by == CATALOGUE
    assert [line[:9] for line in given.text.splitlines()[1:]] == [
        "- JETTY. ",
        "- BOATS. ",
        "- FEES. T",
    ]
    assert "Agreed to buy oak" in given.text


def test_a_file_is_dated_by_its_name(kb: KnowledgeBase) -> None:
    known = {
        one.uri.rpartition("/")[2]: one.id for one in kb.catalogue.listings.titles(["default"])
    }
    facts = kb.catalogue.facts(list(known.values()))
    assert facts[known["minutes-2024-05-13.txt"]].published_at == datetime(2024, 5, 13, tzinfo=UTC)
    assert facts[known["handbook.md"]].published_at is None


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2024-05-13-to-2024-06-10.md", date(2024, 5, 13)),
        ("minutes-1898-02-01.txt", date(1898, 2, 1)),
        ("from-2024-05-13-to-2024-06-10.txt", None),
        ("order-12024-05-13.txt", None),
        ("order-2024-05-131.txt", None),
        ("plan-2024-13-40.txt", None),
    ],
)
def test_which_date_of_a_name_counts(name: str, day: date | None) -> None:
    found = date_in_name(name)
    assert (found.date() if found else None) == day


async def test_what_is_to_be_done_follows_what_is_wrong(kb: KnowledgeBase) -> None:
    given = await ask(kb, "The lamp blinks twice: what should I do about the bilge pump?")
    said = [one.text for one in given.sentences]
    assert said[:2] == [
        "Two blinks mean: the bilge pump is stuck.",
        "Switch it off, open the lid and take out the weed.",
    ]
