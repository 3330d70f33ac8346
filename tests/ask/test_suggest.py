"""Further questions read well, share words with the question, and do not repeat one form."""

from __future__ import annotations

import pytest

from wellread.ask.deliver.suggestions import Around, Linked, suggestions
from wellread.questions import Analysis
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.types import DocumentFacts, Filters, Hit, Kind, Passage, Span

ASKED = "How do I repair an old kettle?"


def hit(heading: str, text: str, title: str = "Guide to repairs", kind: Kind = "page") -> Hit:
    known = f"doc_{title}"
    facts = DocumentFacts(
        id=known, version="v", collection="c", uri="file:///a", kind=kind, title=title
    )
    passage = Passage(
        id=f"psg_{title}_{heading}",
        document_id=known,
        version="v",
        span=Span(start=0, end=len(text)),
        text=text,
        context=f"{title} — {heading}",
    )
    return Hit(passage=passage, document=facts, score=1.0)


def node(title: str) -> EntityNode:
    known = title.lower()
    return EntityNode(
        collection="c",
        id=known,
        type="thing",
        title=title,
        aliases=(),
        url="",
        document_id=f"doc_{known}",
        documents=(f"doc_{known}",),
    )


def linked(subject: str, title: str) -> Linked:
    return Linked(subject=node(subject), node=node(title), reads="linked")


def around(*hits: Hit, asked: str = ASKED, links: tuple[Linked, ...] = ()) -> Around:
    subjects = {link.subject.id: link.subject for link in links}
    nodes = [*subjects.values(), *(link.node for link in links)]
    return Around(
        analysis=Analysis(question=asked, type="factual", terms=(), names=(), filters=Filters()),
        subjects=tuple(subjects.values()),
        links=links,
        hits=hits,
        texts=tuple(one.passage.text.casefold() for one in hits),
        past={},
        described=frozenset(one.document_id for one in nodes),
    )


@pytest.mark.parametrize(
    ("heading", "text", "subject"),
    [
        ("Safety", "Kettles are a matter of safety.", "safety"),
        ("Idea", "A kettle is mended. The idea came from Ada.", "the idea"),
        ("Common mistakes", "People open a kettle too early.", "common mistakes"),
        ("How membership works", "Who has a kettle can join.", "how membership works"),
        ("Open question", "The open question is who pays for kettles.", "the open question"),
        ("Care", "Care\\nKettles want care.", "care"),
        ("2.3 Worn parts", "A kettle has worn parts.", "worn parts"),
        ("8. Worn parts", "A kettle has worn parts.", "worn parts"),
    ],
)
def test_a_heading_that_the_passage_speaks_of_is_a_subject(
    heading: str, text: str, subject: str
) -> None:
    question = f"What does “Guide to repairs” say about {subject}?"
    assert suggestions(around(hit(heading, text))) == (question,)


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("Count", "Count the kettles before you close."),
        ("Purpose", "Kettles are mended here."),
        ("Purpose", "Purpose\nKettles are mended here."),
        ("Open question", "Nobody knows who pays for kettles."),
        ("Find the room", "You need a room for kettles."),
        ("Notes", "Some notes on kettles."),
        ("Step 3: Worn parts", "A kettle has worn parts."),
    ],
)
def test_a_heading_that_names_a_task_or_is_not_spoken_of_is_left_out(
    heading: str, text: str
) -> None:
    assert suggestions(around(hit(heading, text))) == ()


def test_what_shares_no_word_with_the_question_is_not_suggested() -> None:
    far = hit("Common mistakes", "Bread is baked too hot.", title="Baking")
    near = hit("Common mistakes", "An old kettle is hard to repair.", title="Small things")
    nearer = hit("Tools and parts", "Parts of a kettle.", title="Parts")
    assert suggestions(around(far)) == ()
    (first,) = suggestions(around(far, nearer, near))
    assert first == "What does “Small things” say about common mistakes?"


def test_links_that_share_words_with_the_question_go_first_and_far_ones_never() -> None:
    text = "The Tool Library lends what a Repair Café needs."
    links = tuple(
        linked("Repair Café", title) for title in ("Seagrass", "Tool Library", "Kettle Club")
    )
    found = suggestions(around(hit("Notes", text), links=links))
    assert any("Kettle Club" in one for one in found)
    assert not any("Seagrass" in one for one in found)
    without = suggestions(around(hit("Notes", text), links=links[:2]))
    assert any("Tool Library" in one for one in without)


def test_a_name_within_a_name_is_no_connection() -> None:
    links = (linked("Kettle Club", "Kettle Club House"),)
    found = suggestions(around(hit("Notes", "The Kettle Club House."), links=links))
    assert not any("connected" in one for one in found)


def test_of_a_list_one_of_its_entities_is_suggested() -> None:
    links = (linked("Kettle Club", "Seagrass"),)
    assert suggestions(around(asked="How many local groups repair things?", links=links)) == (
        "What is known about Kettle Club?",
    )
    assert suggestions(around(asked="What is the Kettle Club?", links=links)) == ()


def test_made_up_forms_take_turns() -> None:
    links = (linked("Repair Café", "Kettle Club"), linked("Repair Café", "Tool Library"))
    hits = (
        hit("Common mistakes", "At the Repair Café and the Tool Library, kettles.", title="Tips"),
        hit("Notes", "The Repair Café mends kettles.", title="News", kind="article"),
    )
    firsts = {
        suggestions(around(*hits, asked=f"How do I repair {what} kettle?", links=links))[0].split()[
            2
        ]
        for what in ("a", "an old", "the", "every", "my", "our", "her", "his")
    }
    # "What does “Tips” say", "How is Repair ... connected", "What is the latest", "What is known"
    assert firsts == {"“Tips”", "Repair", "the", "known"}
