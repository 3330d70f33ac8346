"""Sessions: whose they are, what their turns are, and that removing one leaves no trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.store.made import answer_of, change, known

from wellread.store.catalogue import Catalogue
from wellread.types import EntityFacts
from wellread.values.answers import Answer, Related


def answer(number: int, session: str = "ses_1", owner: str = "ann") -> Answer:
    return answer_of(
        id=f"ans_{session}_{owner}_{number}",
        question=f"Question {number}?",
        text=f"Answer {number}.",
        session_id=session,
        owner=owner,
    )


def test_the_first_answer_makes_the_session_and_names_it(catalogue: Catalogue) -> None:
    catalogue.record_answer(replace(answer(1), question="Why " + "so " * 40 + "late?"))
    catalogue.record_answer(answer(2))
    (found,) = catalogue.sessions.of("ann")
    assert (found.id, found.turns) == ("ses_1", 2)
    assert found.title.startswith("Why so so")
    assert found.title.endswith("…")
    assert len(found.title) <= 80
    assert found.seen_at >= found.created_at


def test_a_session_gets_another_title_in_one_short_line(catalogue: Catalogue) -> None:
    catalogue.record_answer(answer(1))
    assert catalogue.sessions.rename("ses_1", "ann", f"The\n ferry {'x' * 200}")
    (found,) = catalogue.sessions.of("ann")
    assert found.title.startswith("The ferry")
    assert len(found.title) <= 80


def test_turns_are_the_first_and_the_newest_oldest_first(catalogue: Catalogue) -> None:
    for number in range(1, 8):
        catalogue.record_answer(answer(number))
    told = [one.question for one in catalogue.sessions.turns("ses_1", "ann", 3)]
    assert told == ["Question 1?", "Question 6?", "Question 7?"]
    whole = [one.question for one in catalogue.sessions.turns("ses_1", "ann", 20)]
    assert whole == [f"Question {number}?" for number in range(1, 8)]


def test_what_is_somebody_elses_is_the_same_as_nothing(catalogue: Catalogue) -> None:
    catalogue.record_answer(answer(1))
    sessions = catalogue.sessions
    assert sessions.known("ses_1", "ann")
    assert not sessions.known("ses_1", "bob")
    assert not sessions.known("ses_9", "ann")
    assert sessions.of("bob") == []
    assert sessions.session("ses_1", "bob") is None
    assert sessions.turns("ses_1", "bob", 5) == []
    assert sessions.answers("bob") == []
    assert sessions.answer("ans_ses_1_ann_1", "bob") is None
    assert not sessions.rename("ses_1", "bob", "Mine")
    assert sessions.remove("ses_1", "bob") is None
    found = sessions.answer("ans_ses_1_ann_1", "ann")
    assert found is not None
    assert found[1] == answer(1)


def test_two_owners_have_sessions_of_the_same_name(catalogue: Catalogue) -> None:
    catalogue.record_answer(answer(1, "s1"))
    catalogue.record_answer(answer(1, "s1", "bob"))
    assert catalogue.sessions.remove("s1", "ann") == 1
    assert not catalogue.sessions.known("s1", "ann")
    assert [session.id for session in catalogue.sessions.of("bob")] == ["s1"]
    assert len(catalogue.sessions.turns("s1", "bob", 5)) == 1


TITLE = "Œuvre of Straße"


def found(catalogue: Catalogue, words: str, owner: str = "ann", **page: int) -> list[str]:
    return [one.id for one in catalogue.sessions.of(owner, words=words, **page)]


def test_sessions_are_found_by_title_question_and_answer(catalogue: Catalogue) -> None:
    catalogue.record_answer(replace(answer(1, "ses_1"), text="The Ärmel is Blue. [1]"))
    catalogue.record_answer(replace(answer(2, "ses_1"), question="Who owns the LIGHTHOUSE?"))
    catalogue.record_answer(replace(answer(1, "ses_2"), text="A blue boat.", question=TITLE))
    assert found(catalogue, "blue") == ["ses_2", "ses_1"]
    assert found(catalogue, "blue", limit=1, offset=1) == ["ses_1"]
    assert found(catalogue, "  lighthouse BLUE ") == ["ses_1"]  # in two of its turns
    assert found(catalogue, "lighthouse boat") == []
    assert found(catalogue, "ärMEL") == ["ses_1"]  # JSON escapes it in the body
    assert [session.title for session in catalogue.sessions.of("ann", 1)] == [TITLE]
    assert found(catalogue, "œuvre strasse blue") == ["ses_2"]
    assert found(catalogue, "house") == ["ses_1"]
    assert found(catalogue, " ") == ["ses_2", "ses_1"]
    assert found(catalogue, "medium") == []  # the band of the confidence, which is no text
    catalogue.record_answer(answer(3, "ses_1"))
    assert found(catalogue, "blue") == ["ses_1", "ses_2"]


@pytest.mark.parametrize("word", ["%", "_", "/", "100%", "a_b", "c/d", "\\"])
def test_what_means_something_to_the_database_is_taken_literally(
    catalogue: Catalogue, word: str
) -> None:
    catalogue.record_answer(replace(answer(1, "ses_1"), text=f"So {word} it is."))
    catalogue.record_answer(replace(answer(1, "ses_2"), text="So 1000 aXb cd it is."))
    assert found(catalogue, word) == ["ses_1"]


@pytest.mark.sqlite_only
def test_removing_a_session_leaves_no_trace(catalogue: Catalogue, tmp_path: Path) -> None:
    secret = "Who sold the lighthouse keeper's parrot?"
    catalogue.record_answer(replace(answer(1), question=secret))
    catalogue.record_gap(secret, "nothing found about parrot")
    catalogue.record_answer(answer(1, "ses_2"))
    catalogue.record_gap("Question 1?", "asked by others too")
    assert catalogue.sessions.remove("ses_1", "ann") == 1
    assert [one.id for one in catalogue.sessions.of("ann")] == ["ses_2"]
    assert [one.session_id for one in catalogue.answers()] == ["ses_2"]
    assert [gap.question for gap in catalogue.gaps()] == ["Question 1?"]
    assert not catalogue.forgetting.rewritten()
    assert catalogue.forgetting.rewrite()
    assert b"parrot" not in (tmp_path / "catalogue.db").read_bytes()


def test_a_gap_stays_while_another_answer_has_its_question(catalogue: Catalogue) -> None:
    for session in ("ses_1", "ses_2"):
        catalogue.record_answer(answer(1, session))
    catalogue.record_gap("Question 1?", "nothing")
    catalogue.sessions.remove("ses_1", "ann")
    assert [gap.question for gap in catalogue.gaps()] == ["Question 1?"]
    catalogue.sessions.remove("ses_2", "ann")
    assert catalogue.gaps() == []


def declined(*related: Related) -> Answer:
    titles = "; ".join(one.title for one in related)
    return replace(
        answer(1),
        text=f"The sources do not answer this question. The nearest material is: {titles}.",
        answered_by="none",
        related=related,
        suggestions=tuple(f"What does {one.title} say?" for one in related),
        notes=tuple(f"follow-up: “it” is “{one.title}”" for one in related),
        standalone=f"How old is {related[0].title}?",
    )


def of(name: str, title: str) -> Related:
    return Related(kind="document", title=title, id=known(name), collection="main")


def test_an_answer_does_not_name_what_was_removed(catalogue: Catalogue) -> None:
    catalogue.commit(
        [change("parrot", title="Secret parrot"), change("harbour", title="The harbour")]
    )
    given = declined(of("parrot", "Secret parrot"), of("harbour", "The harbour"))
    catalogue.record_answer(given)
    catalogue.remove_sources("main", ["parrot"])
    found = catalogue.answer(given.id)
    assert found is not None
    assert [one.title for one in found.related] == ["The harbour"]
    assert found.suggestions == ("What does The harbour say?",)
    assert "parrot" not in repr(found)
    assert "The harbour" in found.text
    assert len(found.text) == len(given.text)
    (stored,) = catalogue.answers()
    assert not stored.stale  # it rests on none of them


def test_a_document_whose_mention_went_with_another_is_forgotten_too(catalogue: Catalogue) -> None:
    catalogue.commit([change("parrot", title="Secret parrot"), change("cage", title="Iron cage")])
    item = replace(of("cage", "Iron cage"), reason="linked: Secret parrot lives in Iron cage")
    catalogue.record_answer(replace(answer(1), related=(item,)))
    for name in ("parrot", "cage"):
        catalogue.remove_sources("main", [name])
        assert catalogue.forgetting.quoting_removed() == {}


def test_the_former_title_of_a_changed_source_goes_with_it_too(
    catalogue: Catalogue,
) -> None:
    catalogue.commit(
        [change("parrot", title="Secret parrot"), change("harbour", title="The harbour")]
    )
    given = declined(of("parrot", "Secret parrot"), of("harbour", "The harbour"))
    catalogue.record_answer(given)
    catalogue.commit([change("parrot", title="Another title")])
    found = catalogue.answer(given.id)
    assert found is not None
    assert found.text == given.text
    assert [item.title for item in found.related] == ["Another title", "The harbour"]
    assert catalogue.forgetting.fresh_but_outdated() == []
    assert catalogue.forgetting.quoting_removed() == {}
    catalogue.remove_sources("main", ["parrot"])
    assert "parrot" not in repr(catalogue.answer(given.id))


def test_an_entity_that_was_removed_is_named_no_more(catalogue: Catalogue) -> None:
    catalogue.commit(
        [
            change(
                "parrot",
                title="Secret parrot",
                kind="entity",
                entity=EntityFacts(entity_id="birds/parrot"),
            )
        ]
    )
    named = Related(kind="entity", title="Secret parrot", id="birds/parrot", collection="main")
    given = declined(named)
    catalogue.record_answer(given)
    catalogue.remove_sources("main", ["parrot"])
    found = catalogue.answer(given.id)
    assert found is not None
    assert found.related == ()
    assert "parrot" not in repr(found)
