from __future__ import annotations

import pytest

from wellread.evaluation.cases import Case, Expected, Resolver, Targets, WantedDocument, WantedSpan
from wellread.kb import KnowledgeBase
from wellread.types import DocumentFacts, Filters, PageMark, Span


def case_of(expected: Expected, *collections: str) -> Case:
    return Case(
        id="c",
        line=1,
        turns=("?",),
        expected=expected,
        filters=Filters(collections=collections),
    )


def document(town: KnowledgeBase, *names: str, collection: str = "town") -> Targets:
    wanted = tuple(WantedDocument(document=name) for name in names)
    return Resolver(town).targets(case_of(Expected(documents=wanted), collection))


def place(town: KnowledgeBase, span: WantedSpan, collection: str = "town") -> Targets:
    return Resolver(town).targets(case_of(Expected(spans=(span,)), collection))


def facts(town: KnowledgeBase, title: str, collection: str = "town") -> DocumentFacts:
    (found,) = [each for each in town.catalogue.documents(collection) if each.title == title]
    return found


def texts(town: KnowledgeBase, targets: Targets) -> list[str]:
    (places,) = targets.spans.values()
    return town.catalogue.texts(list(places))


def test_a_document_is_known_by_id_address_end_of_address_or_title(town: KnowledgeBase) -> None:
    ferry = facts(town, "The ferry")
    lamp = facts(town, "Lighthouse lamp replaced")
    for name in (ferry.id, ferry.uri, "ferry.md", "my material/ferry.md", "the  FERRY"):
        assert document(town, name).met_by(ferry.id) == {name}, name
        assert document(town, name).missing == ()
    for name in (lamp.url, "https://news.example/2025/lighthouse", "2025/lighthouse/"):
        assert document(town, name).met_by(lamp.id) == {name}, name


def test_the_end_of_an_address_begins_at_a_separator(town: KnowledgeBase) -> None:
    lamp = facts(town, "Lighthouse lamp replaced")
    bakery = facts(town, "Bakery opens")
    found = document(town, "lighthouse")
    assert found.met_by(lamp.id) == {"lighthouse"}
    assert found.met_by(bakery.id) == frozenset()
    for name in ("erry.md", "material/ferry.md", "/", "ferry"):
        assert document(town, name).missing == (f"document {name}",), name
        assert document(town, name).grades == {name: 1.0}


def test_one_name_for_documents_of_two_collections_is_met_by_either(town: KnowledgeBase) -> None:
    wanted = Expected(documents=(WantedDocument(document="ferry.md"),))
    both = Resolver(town).targets(case_of(wanted))
    here = facts(town, "The ferry")
    there = facts(town, "The ferry", "archive")
    assert both.ranking([here.id, there.id]) == [{"ferry.md"}, {"ferry.md"}]
    only = Resolver(town).targets(case_of(wanted, "archive"))
    assert only.ranking([here.id, there.id]) == [frozenset(), {"ferry.md"}]


def test_a_ranking_holds_each_document_once(town: KnowledgeBase) -> None:
    ferry, bakery = facts(town, "The ferry").id, facts(town, "Bakery opens").id
    targets = document(town, "ferry.md")
    assert targets.ranking([bakery, bakery, ferry, bakery]) == [frozenset(), {"ferry.md"}]


def test_a_quote_is_found_wherever_it_stands(town: KnowledgeBase) -> None:
    once = place(town, WantedSpan(document="ferry.md", quote="bought   for\n2.6 million"))
    assert texts(town, once) == ["bought for 2.6 million"]
    twice = place(town, WantedSpan(document="ferry.md", quote="the ferry LEAVES"))
    assert texts(town, twice) == ["The ferry leaves", "the ferry leaves"]
    assert list(twice.grades) == ["ferry.md"]


def test_minutes_and_moments_are_looked_up_in_the_marks(town: KnowledgeBase) -> None:
    def said(begin: float, finish: float) -> str:
        (text,) = texts(town, place(town, WantedSpan(document="roof.vtt", seconds=(begin, finish))))
        return text

    assert "repaired in March" in said(70, 70)
    assert "repaired in March" in said(75, 75)
    assert "Welcome" not in said(75, 75)
    assert "tool library" in said(120, 180)
    whole = said(0, 120)
    assert "Welcome" in whole
    assert "repaired" in whole
    assert "tool library" not in whole


def test_a_page_is_everything_on_it(town: KnowledgeBase) -> None:
    targets = place(town, WantedSpan(document="seagrass.pdf", page=2), "archive")
    ((known, span),) = next(iter(targets.spans.values()))
    stored = town.catalogue.document(known)
    assert stored is not None
    pages = [mark for mark in stored.marks if isinstance(mark, PageMark)]
    for mark in pages:
        inside = Span(start=mark.start, end=mark.end)
        assert span.overlaps(inside) == (mark.page == 2)


def test_characters_are_taken_as_they_are(town: KnowledgeBase) -> None:
    targets = place(town, WantedSpan(document="ferry.md", start=0, end=9))
    ferry = facts(town, "The ferry")
    assert targets.spans_met_by(ferry.id, Span(start=8, end=20)) == {"0:ferry.md"}
    assert targets.spans_met_by(ferry.id, Span(start=9, end=20)) == frozenset()
    assert targets.spans_met_by("doc_other", Span(start=0, end=5)) == frozenset()


@pytest.mark.parametrize(
    ("span", "missing"),
    [
        (WantedSpan(document="ferry.md", quote="a submarine"), "quote “a submarine” of ferry.md"),
        (WantedSpan(document="ferry.md", page=3), "page 3 of ferry.md"),
        (WantedSpan(document="roof.vtt", seconds=(900, 960)), "second 900 of roof.vtt"),
        (WantedSpan(document="ferry.md", start=0, end=99_999), "characters 0 to 99999 of ferry.md"),
        (WantedSpan(document="gone.md", quote="x"), "document gone.md"),
    ],
)
def test_what_is_not_there_is_told_and_cannot_be_met(
    town: KnowledgeBase, span: WantedSpan, missing: str
) -> None:
    targets = place(town, span)
    assert targets.missing == (missing,)
    assert targets.span_grades == {f"0:{span.document}": 1.0}
    assert targets.spans_met_by(facts(town, "The ferry").id, Span(start=0, end=500)) == frozenset()
