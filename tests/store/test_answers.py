"""Stored answers: kept whole, stale when a source changes, without quotes when it goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update
from tests.store.made import change, citation

from wellread.codec import to_plain
from wellread.store.catalogue import Catalogue
from wellread.store.schema.tables import answers
from wellread.types import Locator, Span
from wellread.values.answers import (
    Answer,
    Confidence,
    Conflict,
    Related,
    Sentence,
    Step,
    Usage,
    Verdict,
    VerdictName,
    View,
)

TEXT = "The ferry runs at noon."
OTHER = "Gannets are said to rest."
ANSWER = f"{TEXT} [1] {OTHER} [2]"


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    opened = Catalogue.open(tmp_path / "catalogue.db")
    opened.commit([change("ferry", TEXT), change("gannet", OTHER)])
    yield opened
    opened.close()


def sentence(number: int, text: str, method: str) -> Sentence:
    start = ANSWER.index(text)
    return Sentence(
        text=text,
        span=Span(start=start, end=start + len(text)),
        verdict=Verdict(
            name=VerdictName.SUPPORTED,
            method=method,
            score=1,
            key=f"e{number}",
            source=Span(start=0, end=len(text)),
        ),
        citations=(number,),
    )


def answer(name: str = "ans_1") -> Answer:
    sentences = (sentence(1, TEXT, "verbatim"), sentence(2, OTHER, "support"))
    return Answer(
        id=name,
        question="When?",
        text=ANSWER,
        citations=(
            citation(1, "ferry", TEXT, sentences[0].span),
            citation(2, "gannet", OTHER, sentences[1].span),
        ),
        sentences=sentences,
        confidence=Confidence(score=0.75, band="high", reasoning="two sources"),
        answered_by="extractive",
        session_id="ses_1",
        data_gaps=("winter",),
        usage=Usage(input_tokens=3, cost=0.25),
        steps=(Step(name="retrieve", seconds=0.5, found=2),),
    )


def stale(catalogue: Catalogue) -> dict[str, bool]:
    return {stored.id: stored.stale for stored in catalogue.answers()}


def test_an_answer_comes_back_whole(catalogue: Catalogue) -> None:
    catalogue.record_answer(answer())
    assert catalogue.answer("ans_1") == answer()
    assert catalogue.answer("nobody") is None
    (stored,) = catalogue.answers()
    assert (stored.id, stored.question, stored.session_id) == ("ans_1", "When?", "ses_1")
    assert (stored.answered_by, stored.confidence, stored.stale) == ("extractive", 0.75, False)


def test_a_changed_source_makes_the_answer_stale(catalogue: Catalogue) -> None:
    catalogue.record_answer(answer())
    catalogue.commit([change("gannet", OTHER)])
    assert stale(catalogue) == {"ans_1": False}
    catalogue.commit([change("gannet", f"{OTHER} And fly.")])
    assert stale(catalogue) == {"ans_1": True}
    assert catalogue.answer("ans_1") == answer()  # what it quotes is still said


def test_what_was_quoted_of_an_older_version_goes_with_the_source(catalogue: Catalogue) -> None:
    catalogue.commit([change("seals", f"{LONG}. Short one.")])
    cited = (citation(1, "seals", f"{LONG}. Short one.", Span(start=0, end=4)),)
    catalogue.record_answer(replace(answer(), citations=cited, notes=(SAID,)))
    catalogue.commit([change("seals", "Nobody counts them any more.")])
    catalogue.record_answer(replace(answer("ans_2"), citations=(), notes=(SAID,)))
    catalogue.remove_sources("main", ["seals"])
    for name in ("ans_1", "ans_2"):
        kept = repr(catalogue.answer(name))
        assert "seal" not in kept
        assert "As is known, ███" in kept


def test_a_removed_source_takes_its_words_out_of_the_answer(catalogue: Catalogue) -> None:
    catalogue.record_answer(answer())
    catalogue.record_answer(replace(answer("ans_2"), citations=answer().citations[1:]))
    catalogue.remove_sources("main", ["ferry"])
    assert stale(catalogue) == {"ans_1": True, "ans_2": True}
    kept, quoting = catalogue.answer("ans_1"), catalogue.answer("ans_2")
    assert kept is not None
    assert quoting is not None
    gone, stays = kept.citations
    told = (gone.quote, gone.title, gone.url, gone.link, gone.locator)
    assert told == ("", "(removed)", "", "", Locator(label=""))
    assert stays == answer().citations[1]
    assert kept.text == f"███ █████ ████ ██ █████ [1] {OTHER} [2]"
    for one in kept.sentences:
        assert one.span.of(kept.text) == one.text
    assert quoting.text.startswith("███ █████ ████ ██ ████")
    assert quoting.citations == answer().citations[1:]


def test_a_sentence_in_other_words_keeps_its_words(catalogue: Catalogue) -> None:
    said = replace(answer(), text=ANSWER.replace("Gannets are", "Birds were"))
    catalogue.record_answer(replace(said, sentences=said.sentences[:1]))
    catalogue.remove_sources("main", ["gannet"])
    kept = catalogue.answer("ans_1")
    assert kept is not None
    assert kept.text == said.text
    assert [cited.quote for cited in kept.citations] == [TEXT, ""]


def test_an_answer_of_an_older_release_is_read_without_what_is_gone(catalogue: Catalogue) -> None:
    catalogue.record_answer(answer())
    with catalogue._database.write() as connection:
        body = {**to_plain(answer()), "premises": ["it sank"]}
        connection.execute(update(answers).values(body=body))
    assert catalogue.answer("ans_1") == answer()


LONG = "The harbour master counts every single seal on the northern pier before breakfast"
SAID = f"As is known, {LONG.lower().replace(' ', '  ')}, and so on."


def test_whatever_field_quotes_a_removed_source_is_blacked_out(catalogue: Catalogue) -> None:
    catalogue.commit([change("seals", f"{LONG}. Short one.")])
    told = replace(
        answer(),
        question=f"Is it true that {LONG}?",
        citations=(citation(1, "seals", f"{LONG}. Short one.", Span(start=0, end=4)),),
        data_gaps=(SAID,),
        conflicts=(Conflict(about=SAID, views=(View(text=SAID),), reason=SAID),),
        related=(Related(kind="document", title=SAID, reason=SAID),),
        suggestions=(SAID,),
        standalone=SAID,
        notes=(SAID,),
        steps=(Step(name=SAID, seconds=0.5),),
        confidence=Confidence(score=0.75, band="high", reasoning=SAID),
    )
    catalogue.record_answer(told)
    catalogue.remove_sources("main", ["seals"])
    kept = catalogue.answer("ans_1")
    assert kept is not None
    assert "seal" not in repr(kept)
    assert kept.data_gaps[0].startswith("As is known, ███  ███████")
    assert len(kept.data_gaps[0]) == len(SAID)
    assert kept.data_gaps[0].endswith(", and so on.")
    assert catalogue.answers()[0].question == kept.question
    assert kept.question.startswith("Is it true that ███")


def test_a_quotation_across_two_sentences_is_blacked_out_in_both(catalogue: Catalogue) -> None:
    source = "one two three four. five six seven eight"
    catalogue.commit([change("numbers", source)])
    text = "One two three four. Five six seven eight."
    spans = (Span(start=0, end=19), Span(start=20, end=41))
    catalogue.record_answer(
        replace(
            answer(),
            text=text,
            citations=(citation(1, "numbers", source, spans[0]),),
            sentences=tuple(
                replace(sentence(1, TEXT, "support"), text=span.of(text), span=span)
                for span in spans
            ),
        )
    )
    catalogue.remove_sources("main", ["numbers"])
    kept = catalogue.answer("ans_1")
    assert kept is not None
    assert [one.text for one in kept.sentences] == ["███ ███ █████ █████", "████ ███ █████ █████."]
    assert [one.span.of(kept.text) for one in kept.sentences] == [
        one.text for one in kept.sentences
    ]


def test_answers_are_looked_through_also_where_a_source_loses_a_document(
    catalogue: Catalogue,
) -> None:
    catalogue.commit([change("seals", f"{LONG}. Short one.", source="feed")])
    catalogue.record_answer(replace(answer(), citations=()))
    catalogue.record_answer(replace(answer("ans_2"), citations=(), notes=(SAID,)))
    catalogue.commit([change("terns", OTHER, source="feed")])
    assert stale(catalogue) == {"ans_1": False, "ans_2": True}
    assert "seal" not in repr(catalogue.answer("ans_2"))


def test_answers_that_do_not_cite_it_forget_its_words_too(catalogue: Catalogue) -> None:
    catalogue.commit([change("seals", LONG)])
    told = replace(answer(), citations=(), suggestions=(SAID, "What else?"))
    catalogue.record_answer(told)
    catalogue.record_answer(replace(answer("ans_2"), citations=()))
    catalogue.record_gap(f"Why is it that {LONG}?", "nothing was found")
    catalogue.remove_sources("main", ["seals"])
    kept = catalogue.answer("ans_1")
    assert kept is not None
    assert "seal" not in repr(kept)
    assert kept.suggestions == ("What else?",)
    assert catalogue.answer("ans_2") == replace(answer("ans_2"), citations=())
    (gap,) = catalogue.gaps()
    assert "seal" not in gap.question
    assert gap.reason == "nothing was found"
    assert stale(catalogue) == {"ans_1": True, "ans_2": False}


def test_an_answer_recorded_after_its_source_changed_is_stale(catalogue: Catalogue) -> None:
    catalogue.commit([change("ferry", "The ferry is gone.")])
    catalogue.record_answer(answer())
    assert stale(catalogue) == {"ans_1": True}
    assert catalogue.answer("ans_1") == answer()


def test_an_answer_recorded_after_its_source_went_does_not_quote_it(catalogue: Catalogue) -> None:
    catalogue.remove_sources("main", ["ferry"])
    catalogue.record_answer(answer())
    assert stale(catalogue) == {"ans_1": True}
    kept = catalogue.answer("ans_1")
    assert kept is not None
    assert [cited.quote for cited in kept.citations] == ["", OTHER]
    assert TEXT not in kept.text
