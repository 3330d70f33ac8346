"""Any text checked: its sentences, whatever its citations look like, and their verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.errors import RequestError, UnknownCollectionError
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.library.check_text import CheckedText, GivenText, check, check_texts, sentences_of
from wellread.models.readers.lexical import LexicalReader
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.reader_contract import RulingReader, ruling
from wellread.types import Filters

OUTAGE = (
    "The outage of 14 October lasted nine hours. It cut the power of 310 homes in Oldwick. "
    "The council approved the third turbine."
)
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
        ("It rains [1, 2][^3].", "It rains."),
        ("It rains [1](https://x.example/a).", "It rains."),
        ("It rains (Smith 2020).", "It rains."),
        ("It rains (Smith et al., 2020; Jones & Poe, 2019, p. 5).", "It rains."),
        ("It rains (see Smith 2020).", "It rains."),
        ("It rains【4†source】.", "It rains."),
        ("It rains.¹²", "It rains."),
        ("It rains<sup>3</sup>.", "It rains."),
        ("It rains (source: the herald).", "It rains."),
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


def test_a_section_called_sources_with_sentences_stays() -> None:
    found = sentences_of("It rains.\n\n## Sources\n\nWater comes from clouds.\n\n- Snow too.")
    assert [one.text for one in found] == ["It rains.", "Water comes from clouds.", "Snow too."]


@given(st.text(max_size=300))
def test_every_span_is_in_the_text(text: str) -> None:
    end = 0
    for one in sentences_of(text):
        assert end <= one.span.start <= one.span.end <= len(text)
        end = one.span.end


# --- against texts ---------------------------------------------------------------------------


def told(text: str, *sources: str) -> CheckedText:
    given = [GivenText(text=source, title=f"Paper {n}") for n, source in enumerate(sources)]
    return check_texts(text, given, LexicalReader(ReadableEmbedder))


def test_each_sentence_has_a_verdict_and_its_passage() -> None:
    found = told(
        "The outage of 14 October lasted nine hours [7]. It cut the power of 240 homes. Why so?",
        "Tea is served at the pier.",
        OUTAGE,
    )
    names = [sentence.verdict.name for sentence in found.sentences]
    assert names == ["quoted", "unsupported", "not_checked"]
    first, second = found.citations
    assert (first.quote, first.title) == ("The outage of 14 October lasted nine hours.", "Paper 1")
    assert second.quote == "It cut the power of 310 homes in Oldwick."
    assert found.sentences[1].verdict.reason == "number 240 is not in the cited passage"
    assert [sentence.citations for sentence in found.sentences] == [(1,), (2,), ()]
    assert {name: count for name, count in found.counts().items() if count} == {
        "quoted": 1,
        "unsupported": 1,
        "not_checked": 1,
    }
    assert not found.borne_out()


def test_what_is_borne_out() -> None:
    assert told("The outage lasted nine hours. So what?", OUTAGE).borne_out(strict=True)
    partly = told("The council approved the third turbine in Skerrick.", OUTAGE)
    assert [one.verdict.name for one in partly.sentences] == ["partial"]
    assert partly.borne_out()
    assert not partly.borne_out(strict=True)


def test_a_passage_deep_in_a_long_source_is_found() -> None:
    source = "Sheep graze on the upper meadow. " * 400 + OUTAGE + " Rain fell." * 300
    found = told("It cut the power of 310 homes in Oldwick.", source)
    (citation,) = found.citations
    assert citation.source_span.of(source) == citation.quote
    assert citation.quote == "It cut the power of 310 homes in Oldwick."


def test_a_judge_may_rule() -> None:
    found = check_texts(
        "The council likes the approved turbine a lot.",
        [GivenText(text=OUTAGE)],
        LexicalReader(ReadableEmbedder),
        reader=RulingReader(
            lambda cases: [ruling("unsupported", "it does not say so")] * len(cases)
        ),
        most=5,
    )
    assert [one.verdict.method for one in found.sentences] == ["reader"]


@pytest.mark.parametrize("text", ["", "  \n", "# Heading", "[1]"])
def test_a_text_without_a_sentence_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="no sentence"):
        told(text, OUTAGE)


def test_too_many_sentences_and_no_source_are_refused() -> None:
    with pytest.raises(RequestError, match="501 sentences are too many"):
        told("It rains.\n" * 501, OUTAGE)
    with pytest.raises(RequestError, match="no text to check against"):
        told("It rains.", " ")
    with pytest.raises(RequestError, match="no text to check against"):
        told("It rains.")


# --- against what is stored ------------------------------------------------------------------


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder: Path = tmp_path_factory.mktemp("checked")
    (folder / "outage.md").write_text(f"# The outage\n\n{OUTAGE}\n", encoding="utf-8")
    (folder / "talk.vtt").write_text(TALK, encoding="utf-8")
    with open_kb(folder / "home", embedder=ReadableEmbedder()) as made:
        add(made, [str(folder / "outage.md")], collection="news")
        add(made, [str(folder / "talk.vtt")], collection="talks")
        yield made


def test_stored_passages_bear_a_sentence_out(kb: KnowledgeBase) -> None:
    found = check(kb, "It cut the power of 310 homes in Oldwick [1].")
    (sentence,) = found.sentences
    (citation,) = found.citations
    assert sentence.verdict.method == "verbatim"
    assert (citation.title, citation.locator.heading) == ("The outage", ("The outage",))
    assert citation.quote == "It cut the power of 310 homes in Oldwick."


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("Ben said the boathouse roof will be repaired in March.", "supported"),
        ("Ana said the boathouse roof will be repaired in March.", "unsupported"),
    ],
)
def test_words_are_checked_by_who_said_them(kb: KnowledgeBase, sentence: str, name: str) -> None:
    (checked,) = check(kb, sentence).sentences
    assert checked.verdict.name == name


def test_only_the_named_collections_count(kb: KnowledgeBase) -> None:
    sentence = "It cut the power of 310 homes in Oldwick."
    talks = check(kb, sentence, filters=Filters(collections=("talks",)))
    assert [one.verdict.name for one in talks.sentences] == ["unsupported"]
    with pytest.raises(UnknownCollectionError):
        check(kb, sentence, filters=Filters(collections=("nowhere",)))


def test_a_sentence_that_says_all_of_it_and_more_bears_it_out() -> None:
    source = GivenText(
        title="Kittiwake carries first passengers",
        text="A brass band played on the quay while two school classes went on board. The ferry "
        "cost 6.8 million euros, with the charging arm, as figures that Halden Ferries gave to the "
        "harbour office, the council and two newspapers of the region show.",
    )
    told = check_texts(
        "The Kittiwake cost 6.8 million euros.", [source], LexicalReader(ReadableEmbedder)
    )
    assert [sentence.verdict.name for sentence in told.sentences] == ["supported"]
    assert "in this order" in told.sentences[0].verdict.reason
    turned = check_texts(
        "6.8 million euros cost the Kittiwake.", [source], LexicalReader(ReadableEmbedder)
    )
    assert [sentence.verdict.name for sentence in turned.sentences] == ["unsupported"]
