"""Any text checked: its sentences, whatever its citations look like, and their verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.ask.answer import answer, final
from wellread.ask.retrieve.ranking import pack
from wellread.ask.retrieve.search import search
from wellread.ask.verify.check_claims import is_quotation, missing_amounts
from wellread.errors import RequestError, UnknownCollectionError
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.library.check_text import CheckedText, GivenText, check, check_texts, sentences_of
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import Judge, ScriptedModel, judging
from wellread.types import Filters
from wellread.values.answers import Answer, Question

OUTAGE = (
    "The outage of 14 October lasted nine hours. It cut the power of 310 homes in Oldwick. "
    "The council approved the third turbine."
)
OUTAGE_SENTENCES = [f"{one}." for one in OUTAGE.rstrip(".").split(". ")]
TALK = """WEBVTT

00:00:01.000 --> 00:00:05.000
<v Ana>The boathouse roof leaks in two places.

00:01:10.000 --> 00:01:16.000
<v Ben>The boathouse roof will be repaired in March.
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("It rains [1].", "It rains."),
        ("It rains [1](https://x.example/a).", "It rains."),
        ("It rains (Smith 2020).", "It rains."),
        ("It rains (Smith et al., 2020; Jones & Poe, 2019, p. 5).", "It rains."),
        ("It rains【4†source】.", "It rains."),
        ("It rains<sup>3</sup>.", "It rains."),
        ("It **rains** in [Oldwick](https://x.example).", "It rains in Oldwick."),
        ("It rains (in spring) in 2020.", "It rains (in spring) in 2020."),
        ("It rained (from 1990 to 2020).", "It rained (from 1990 to 2020)."),
        ("- It rains.", "It rains."),
    ],
)
def test_markers_of_others_are_no_part_of_a_sentence(text: str, sentence: str) -> None:
    (found,) = sentences_of(text)
    assert found.text == sentence


def test_sentences_keep_their_places() -> None:
    text = (
        "# Head\r\n\r\nIt rains [1]. It pours (Poe 2020).\n\n- It ends.\n\n## References\n1. Poe\n"
    )
    found = sentences_of(text)
    assert [one.text for one in found] == ["It rains.", "It pours.", "It ends."]
    assert [one.span.of(text) for one in found] == [
        "It rains [1].",
        "It pours (Poe 2020).",
        "It ends.",
    ]


@given(st.text(max_size=300))
def test_every_span_is_in_the_text(text: str) -> None:
    end = 0
    for one in sentences_of(text):
        assert end <= one.span.start <= one.span.end <= len(text)
        end = one.span.end


@pytest.mark.parametrize(
    ("words", "quoted"),
    [
        ("The roof leaks in two places.", True),
        ("the roof  leaks in two places", False),  # other capitals
        ("The roof leaks in two places. It is old.", True),
        ("roof leaks in two places", False),
        ("It is old", True),
        ("the shed is sound", False),  # the rest of the sentence denies it
    ],
)
def test_only_whole_sentences_are_a_quotation(words: str, quoted: bool) -> None:
    text = "The roof leaks in two places. It is old. Nobody says that the shed is sound."
    assert is_quotation(words, text) is quoted


# --- against texts ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder: Path = tmp_path_factory.mktemp("checked")
    (folder / "outage.md").write_text(f"# The outage\n\n{OUTAGE}\n", encoding="utf-8")
    (folder / "talk.vtt").write_text(TALK, encoding="utf-8")
    with open_kb(folder / "home", embedder=ReadableEmbedder()) as made:
        add(made, [str(folder / "outage.md")], collection="news")
        add(made, [str(folder / "talk.vtt")], collection="talks")
        yield made


def told(kb: KnowledgeBase, text: str, *sources: str) -> CheckedText:
    given = [GivenText(text=source, title=f"Paper {n}") for n, source in enumerate(sources)]
    return check_texts(kb, text, given)


def test_each_sentence_has_a_verdict_and_its_passage(kb: KnowledgeBase) -> None:
    found = told(
        kb,
        "The outage of 14 October lasted nine hours [7]. It cut the power of 240 homes. Why so? "
        "A third turbine was approved.",
        "Tea is served at the pier.",
        OUTAGE,
    )
    names = [sentence.verdict.name for sentence in found.sentences]
    assert names == ["quoted", "partial", "not_checked", "not_checked"]
    assert [citation.quote for citation in found.citations] == OUTAGE_SENTENCES
    assert found.citations[0].title == "Paper 1"
    assert found.sentences[1].verdict.reason == "the number 240 stands nowhere in the cited text"
    assert [sentence.citations for sentence in found.sentences] == [(1,), (2,), (), (3,)]
    assert {name: count for name, count in found.counts().items() if count} == {
        "quoted": 1,
        "partial": 1,
        "not_checked": 2,
    }
    assert not found.borne_out()


def test_what_is_borne_out(kb: KnowledgeBase) -> None:
    quoted = told(kb, f"{OUTAGE_SENTENCES[2]} So what?", OUTAGE)
    assert quoted.borne_out(strict=True)
    reworded = told(kb, "They approved a turbine.", OUTAGE)
    assert reworded.borne_out()
    assert not reworded.borne_out(strict=True)


def test_a_passage_deep_in_a_long_source_is_found(kb: KnowledgeBase) -> None:
    source = "Sheep graze on the upper meadow. " * 400 + OUTAGE + " Rain fell." * 300
    found = told(kb, "It cut the power of 310 homes in Oldwick.", source)
    (citation,) = found.citations
    assert citation.source_span.of(source) == citation.quote
    assert citation.quote == "It cut the power of 310 homes in Oldwick."


def test_a_model_judges_in_one_call(kb: KnowledgeBase) -> None:
    unsupported = {"number": 1, "verdict": "unsupported", "quote": "lasted nine hours"}
    model = ScriptedModel([], judge=judging(unsupported))
    with open_kb(kb.home, embedder=ReadableEmbedder(), model=model) as judged:
        found = told(judged, "The outage was short. All slept well.", OUTAGE)
        stored = check(judged, "The outage was short.")
    names = [sentence.verdict.name for sentence in found.sentences]
    assert names == ["unsupported", "not_checked"]
    assert [one.verdict.name for one in stored.sentences] == ["unsupported"]
    assert stored.citations[0].quote == "lasted nine hours"
    assert not found.borne_out()
    assert len(model.judged) == 2


@pytest.mark.parametrize("text", ["", "  \n", "# Heading", "[1]"])
def test_a_text_without_a_sentence_is_refused(kb: KnowledgeBase, text: str) -> None:
    with pytest.raises(RequestError, match="no sentence"):
        told(kb, text, OUTAGE)


def test_too_many_sentences_and_no_source_are_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(RequestError, match="501 sentences are too many"):
        told(kb, "It rains.\n" * 501, OUTAGE)
    with pytest.raises(RequestError, match="no text to check against"):
        told(kb, "It rains.", " ")
    with pytest.raises(RequestError, match="no text to check against"):
        told(kb, "It rains.")


# --- against what is stored ------------------------------------------------------------------


def test_only_the_named_collections_count(kb: KnowledgeBase) -> None:
    sentence = "It cut the power of 310 homes in Oldwick."
    talks = check(kb, sentence, filters=Filters(collections=("talks",)))
    assert [one.verdict.name for one in talks.sentences] == ["partial"]
    with pytest.raises(UnknownCollectionError):
        check(kb, sentence, filters=Filters(collections=("nowhere",)))


@pytest.mark.parametrize(
    ("sentence", "source", "missing"),
    [
        ("They paid 66 million.", "They paid 66,000,000 euros.", ()),
        ("Batches had four million tokens.", "a batch size of 4M tokens", ()),
        ("It has 13B parameters.", "LLaMA-13B is small.", ()),
        ("It took about three weeks.", "It took 21 days.", ()),
        ("It took five weeks.", "It took 21 days.", ("five weeks",)),
        ("It lasted two days.", "It lasted 47 hours.", ("two days",)),
    ],
)
def test_an_amount_is_warned_of_where_it_stands_nowhere(
    sentence: str, source: str, missing: tuple[str, ...]
) -> None:
    assert missing_amounts(sentence, [source]) == missing


FERRY = "The ferry Osprey was bought for 2.6 million euros in 2021. It carries ninety passengers."
PIER = "The ferry Osprey lands at the north pier, where tea is served to ferry passengers."
QUESTION = "What does the ferry Osprey carry?"
LENIENT: dict[str, dict[str, object]] = {
    "qa": {"confidence_threshold": 0.0},
    "cache": {"answers": False},
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, text in (("ferry", FERRY), ("pier", PIER)):
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(tmp_path / "ferry.md"), str(tmp_path / "pier.md")], collection="town")
    return tmp_path / "home"


async def answered(
    home: Path, reply: str, *, strict: bool = False, judge: Judge | None = None
) -> Answer:
    """The answer to ``QUESTION`` when the model replies ``reply``: FERRY and PIER in it become
    the keys of those passages.
    """
    embedder = ReadableEmbedder()
    model = ScriptedModel([], judge=judge)
    with open_kb(home, overrides=LENIENT, embedder=embedder, model=model) as kb:
        keys = {
            piece.text: piece.key
            for piece in pack(kb, search(kb, QUESTION, Filters(collections=("town",))))
        }
        said = reply.replace("FERRY", keys[FERRY]).replace("PIER", keys[PIER])
        model._replies.append(said)
        return await final(answer(kb, Question(text=QUESTION, strict=strict)))


async def test_repaired_citations_are_counted_and_point_to_the_right_source(home: Path) -> None:
    given = await answered(
        home,
        "It carries ninety passengers [PIER]. The ferry Osprey was bought for 2.6 million euros in "
        "2021 [FERRY]. The ferry Osprey lands at the north pier, where tea is served to ferry "
        "passengers.",
    )
    assert given.repaired_citations == 2
    cited = {citation.id: citation.title for citation in given.citations}
    titles = [[cited[number] for number in one.citations] for one in given.sentences]
    assert titles == [["Ferry"], ["Ferry"], ["Pier"]]
    assert {one.verdict.name for one in given.sentences} == {"quoted"}


async def test_strict_leaves_no_empty_list_behind(home: Path) -> None:
    bad = [{"number": n, "verdict": "unsupported", "quote": "tea is served"} for n in (3, 4)]
    lead = {"number": 2, "verdict": "nothing"}
    given = await answered(
        home,
        "## Size\n\nIt carries ninety passengers [FERRY].\n\n## Jazz\n\nThe crew plays:\n"
        "- Trumpets in summer [PIER].\n- Trombones in winter [PIER].",
        strict=True,
        judge=judging(lead, *bad),
    )
    assert given.dropped_sentences == 3
    assert "## Size\n\nIt carries ninety passengers. [1]" in given.text
    assert "Jazz" not in given.text
