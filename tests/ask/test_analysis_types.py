"""The type of a question by what was learned from examples, and the sides of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.train_question_type import examples, words_of
from numpy.typing import NDArray
from tests.store.made import kept

from wellread.ask.understand.analyse import analyse, load_model
from wellread.ask.understand.vocabulary import Vocabulary, forms_of, vocabulary_of
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import Purpose
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.testing.embedding import ReadableEmbedder
from wellread.text.tokens import key_of
from wellread.types import Document, EntityFacts, Relation
from wellread.values.answers import Question
from wellread.values.question import Analysis, QuestionType

NODES = [
    EntityNode(
        collection="main",
        id=title.lower(),
        type="craft",
        title=title,
        aliases=(),
        document_id=title,
        documents=(title,),
        url="",
    )
    for title in ("Weaving", "Loom", "Natural dye")
]
NAMES = forms_of(NODES)
VOCABULARY = Vocabulary(
    names=NAMES,
    kinds=frozenset({"article", "entity"}),
    entity_types=frozenset({"craft"}),
    taxonomy={key_of("rural"): (("scales", "rural"),)},
    dimensions=frozenset({"scales"}),
)


def read(question: str) -> Analysis:
    return analyse(Question(text=question), VOCABULARY, date(2026, 1, 15))


CASES: dict[QuestionType, tuple[str, ...]] = {
    "factual": (
        "Which costs are covered?",
        "What is weaving?",
        "How much does the loom weigh?",
        "How many metres of yarn are needed?",
        "Why is wool better than cotton?",
        "Is there a heater in the hall?",
        "Which street is the shop in?",
        "What did the articles say about wool?",
        "What is a loom used for?",
        "What would it cost to mend it?",
        "Which part of the sheep is shorn first?",
        "How does the shuttle change direction?",
    ),
    "counting": (
        "How many weavers are there?",
        "List all crafts",
        "What is the number of articles about wool?",
        "How often was the loom mentioned?",
        "Which crafts need wool? Give me all of them.",
    ),
    "temporal": (
        "When was the loom built?",
        "In which year did the mill close?",
        "Since when have there been looms here?",
        "How long ago did the fair begin?",
    ),
    "gap_finding": (
        "Is there anything about felt?",
        "Do we have something on basketry?",
        "Has anyone written about lace?",
        "Is felt mentioned anywhere?",
        "Is there a craft for the blind?",
        "Anything on lace?",
    ),
    "meta": (
        "Which scales are covered?",
        "What scales are there?",
        "What does this collection cover?",
        "How well is lace covered?",
        "Which scales are under-represented?",
        "Where are the gaps in the coverage of lace?",
        "What do you know?",
        "Which group has no entries?",
    ),
    "trend": (
        "How has interest in weaving changed over time?",
        "Is wool becoming more common?",
        "What is the trend in dye prices?",
        "How did the market develop from 2019 to 2023?",
        "What changed in the rules since 2020?",
    ),
    "comparative": (
        "What is the difference between wool and cotton?",
        "Wool or cotton?",
        "Is wool cheaper than cotton?",
        "weaving vs natural dye",
        "How does weaving compare to felting?",
    ),
    "persona": (
        "What would Ada Moor say about lace?",
        "How might the guild respond to a ban?",
        "From the guild's point of view, is it fair?",
        "Imagine you are a weaver. What do you buy first?",
        "Would the guild support a school?",
    ),
    "relational": (
        "How is weaving related to felting?",
        "What does weaving depend on?",
        "Who uses the loom?",
        "What is the connection between weaving and natural dye?",
        "What is weaving part of?",
    ),
    "synthesis": (
        "Summarise the talk on wool",
        "Tell me about weaving",
        "What are the main arguments against nylon?",
        "Give me an overview of the trade",
    ),
    "exploratory": (
        "Which crafts help old people?",
        "What kinds of looms exist?",
        "Show me examples of good practice",
        "Find articles on lace",
        "Which rural crafts pay?",
    ),
}


@pytest.mark.parametrize(
    ("question", "expected"),
    [(question, name) for name, questions in CASES.items() for question in questions],
)
def test_the_type_is_told_by_the_wording(question: str, expected: QuestionType) -> None:
    found = read(question)
    assert found.type == expected
    assert found.reasons[0].startswith(expected)


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("What is the difference between wool and cotton?", ("wool", "cotton")),
        ("Wool or cotton?", ("Wool", "cotton")),
        ("Which is better for socks, wool or cotton?", ("wool", "cotton")),
        ("weaving versus natural dye", ("weaving", "natural dye")),
        ("How does the loom compare to the frame?", ("loom", "frame")),
        ("How do wool and cotton differ?", ("wool", "cotton")),
        ("Compare wool with cotton in terms of price", ("wool", "cotton")),
        ("Is wool more costly than plain cotton?", ("wool", "plain cotton")),
        ("What are the advantages of wool over cotton?", ("wool", "cotton")),
        ("Where do Ada Moor and Ben Hill disagree about fees?", ("Ada Moor", "Ben Hill")),
        ("What differs for weaving when natural dye comes in?", ("weaving", "natural dye")),
        ("What is different today?", ()),
    ],
)
def test_the_sides_of_a_comparison(question: str, sides: tuple[str, ...]) -> None:
    assert read(question).sides == sides


class Leaning:
    """An embedder of some name, whose vectors are those that speak most for trends."""

    dimensions = 384

    def __init__(self, identity: str) -> None:
        column = load_model().turning[:-1, load_model().types.index("trend")]
        self.identity, self.vector = identity, 9 * column / np.linalg.norm(column)
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        self.asked += texts
        return np.stack([self.vector for _ in texts])


@pytest.mark.parametrize(
    ("question", "identity", "asked"),
    [
        ("Flax, weft and wool in 2019!", "all-MiniLM-L6-v2/any", ["Flax, weft and wool!"]),
        ("How many weavers are there?", "all-MiniLM-L6-v2/any", []),
        ("Flax, weft and wool in 2019!", "another/any", []),
    ],
)
def test_the_vector_is_asked_where_the_words_leave_it_open(
    question: str, identity: str, asked: list[str]
) -> None:
    embedder, today = Leaning(identity), date(2026, 1, 15)
    known = replace(VOCABULARY, published=(date(2018, 1, 1), date(2020, 1, 1)))
    alone = analyse(Question(text=question), known, today)
    found = analyse(Question(text=question), known, today, embedder)
    assert (found.type, embedder.asked) == ("trend" if asked else alone.type, asked)
    assert alone.type != "trend"


def test_the_model_was_learned_from_these_examples() -> None:
    given = list(examples())
    assert load_model().words == words_of(given)
    assert set(load_model().types) == {one.type for one in given}


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with open_kb(tmp_path, embedder=ReadableEmbedder()) as opened:
        yield opened


def put(kb: KnowledgeBase, name: str, **fields: Any) -> None:
    whole = {"collection": "main", "kind": "article", "title": name, "text": f"About {name}."}
    kb.catalogue.commit([kept(Document(uri=f"file:///{name}", **(whole | fields)))])


def test_a_question_is_read_with_what_the_catalogue_holds(kb: KnowledgeBase) -> None:
    moment = datetime(2024, 3, 1, tzinfo=UTC)
    put(
        kb,
        "mill",
        kind="entity",
        entity=EntityFacts(
            entity_id="mill",
            entity_type="place",
            aliases=("the old grinder",),
            relations=(Relation(type="owned_by", target="guild"),),
        ),
        taxonomy={"scales": ("municipal",)},
    )
    put(kb, "Merger", published_at=moment, authors=("Ada Moor",), source_type="bulletin")
    known = vocabulary_of(kb)
    assert known.collections == ("main",)
    assert known.entity_types == {"place"}
    found = analyse(
        Question(text="What do bulletins by Ada Moor say of the old grinder?"),
        known,
        date(2026, 1, 15),
    )
    assert [one.entity_id for one in found.entities] == ["mill"]
    assert {(one.kind, one.value) for one in found.constraints} == {
        ("source_type", "bulletin"),
        ("author", "Ada Moor"),
    }


def test_it_is_held_until_something_changes(kb: KnowledgeBase) -> None:
    put(kb, "one", authors=("Ada Moor",))
    before = vocabulary_of(kb)
    assert "benhill" not in before.authors
    kb.catalogue.record_gap("what is missing?", "nothing is known")
    assert vocabulary_of(kb) is before
    put(kb, "two", authors=("Ben Hill",))
    after = vocabulary_of(kb)
    assert after is not before
    assert all(key in after.authors for key in ("benhill", "ben", "hill"))


def test_what_another_process_writes_is_seen(kb: KnowledgeBase) -> None:
    put(kb, "one", authors=("Ada Moor",))
    before = vocabulary_of(kb)
    with open_kb(kb.home, embedder=ReadableEmbedder()) as other:
        put(other, "two", authors=("Ben Hill",))
        after = vocabulary_of(kb)
        assert "benhill" in after.authors
        other.catalogue.collection_settings.set_settings("main", {"relations": {}})
        assert vocabulary_of(kb) is not after
        other.catalogue.remove_sources("main", ["file:///two"])
        assert "benhill" not in vocabulary_of(kb).authors
        assert vocabulary_of(kb).authors.get("moor", ()) == before.authors.get("moor", ())
        other.catalogue.remove_sources("main", ["file:///one"])
    assert vocabulary_of(kb).collections == ()
