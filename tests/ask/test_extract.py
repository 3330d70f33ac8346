"""The extractive answerer: verbatim, about the question, without repeats."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doubles.evidence import evidence_of

from wellread.answers import Question
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ask.write.extract import extract
from wellread.ask.write.passage_reading import Chooser
from wellread.models.readers.lexical import LexicalReader
from wellread.questions import Analysis
from wellread.testing.embedding import ReadableEmbedder

LEXICAL = Chooser(sentences=LexicalReader(ReadableEmbedder))


def read(question: str) -> Analysis:
    return analyse(Question(text=question), Vocabulary(), date(2026, 1, 15))


def chosen(question: str, *texts: str, most: int = 3) -> list[str]:
    found = extract(read(question), evidence_of(*texts), LEXICAL, most=most)
    return [claim.text for claim in found.claims]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(min_size=1, max_size=400), min_size=1, max_size=5),
    st.text(min_size=1, max_size=80).filter(lambda text: text.strip() != ""),
)
def test_every_claim_is_verbatim_for_any_text(texts: list[str], question: str) -> None:
    evidence = evidence_of(*texts)
    found = extract(read(question), evidence, LEXICAL, most=4)
    by_key = {piece.key: piece for piece in evidence}
    for claim in found.claims:
        assert claim.source is not None
        assert claim.text == claim.source.of(by_key[claim.keys[0]].text)
        assert claim.text in found.text
        assert claim.text.strip() == claim.text != ""


def test_the_sentence_about_the_question_leads() -> None:
    answer = chosen(
        "How many homes lost power in Oldwick?",
        "The ferry runs every hour. The outage cut the power of 310 homes in Oldwick. Tea is free.",
        "A market is held in Oldwick every Friday afternoon.",
    )
    assert answer[0] == "The outage cut the power of 310 homes in Oldwick."


def test_the_same_thing_is_not_said_twice() -> None:
    answer = chosen(
        "When does the tool library open?",
        "The tool library opens at nine on Saturdays.",
        "The tool library opens at nine on Saturdays.",
        "On Saturdays the tool library opens at nine.",
    )
    assert len(answer) == 1


def test_a_sentence_that_leans_on_the_one_before_brings_it_along() -> None:
    answer = chosen(
        "What does the heat pump of the harbour bath cost per year?",
        "The harbour bath got a heat pump in May. It costs the harbour bath 900 euros per year.",
        most=1,
    )
    assert answer == [
        "The harbour bath got a heat pump in May.",
        "It costs the harbour bath 900 euros per year.",
    ]


def test_questions_and_headings_are_not_answers() -> None:
    answer = chosen(
        "Why was the turbine stopped?",
        "Why was the turbine stopped?\n\nThe turbine\n\n"
        "The turbine was stopped because a pump broke.",
    )
    assert answer == ["The turbine was stopped because a pump broke."]


def test_a_fact_is_told_in_one_sentence_without_filler() -> None:
    answer = chosen(
        "When was the Oldwick lighthouse built?",
        "The Oldwick lighthouse was built in 1887. The lighthouse has a red door. "
        "Visitors of the lighthouse may climb the stairs on Sundays.",
    )
    assert answer == ["The Oldwick lighthouse was built in 1887."]


def test_items_of_one_list_come_as_a_list_under_what_introduces_it() -> None:
    text = (
        "The repair café refuses these appliances:\n\n- microwave ovens of any appliances maker\n"
        "- gas appliances of any kind\n\nCoffee is free at the bar by the door."
    )
    found = extract(
        read("Which appliances does the repair café refuse?"),
        evidence_of(text),
        LEXICAL,
        most=2,
    )
    assert found.text == (
        "The repair café refuses these appliances:\n- microwave ovens of any appliances maker\n"
        "- gas appliances of any kind"
    )
    assert len(found.claims) == 3


def test_a_comparison_shows_each_side_under_its_name() -> None:
    found = extract(
        read("What is the difference between the tool library and the repair café?"),
        evidence_of(
            "The tool library lends drills and ladders for two weeks.",
            "The tool library is open on Saturdays.",
            "The repair café mends broken things together with their owners.",
        ),
        LEXICAL,
        most=3,
    )
    library, café = found.text.split("\n\n")
    assert library.startswith("**Tool library:** The tool library ")
    assert café == (
        "**Repair café:** The repair café mends broken things together with their owners."
    )


def test_sentences_with_other_numbers_are_no_repeats() -> None:
    answer = chosen(
        "How many homes lost power in Oldwick?",
        "The outage cut the power of 310 homes in Oldwick.",
        "The outage cut the power of 240 homes in Oldwick.",
    )
    assert len(answer) == 2


def test_no_evidence_gives_no_claim() -> None:
    assert chosen("Anything?") == []


def test_what_something_is_comes_from_the_sentence_that_says_so() -> None:
    answer = chosen(
        "What is a swap shop?",
        "Here is the swap shop of Oldwick. A swap shop (give box) is a place to leave things.",
    )
    assert answer[0].startswith("A swap shop (give box) is a place")


def test_a_line_below_a_heading_is_no_sentence() -> None:
    answer = chosen(
        "What is the winter crossing to Skerrick?",
        "Ferries\nThe winter crossing to Skerrick, from October\n\n"
        "The winter crossing to Skerrick is made by a battery ferry.",
    )
    assert answer == ["The winter crossing to Skerrick is made by a battery ferry."]


def test_the_head_of_a_table_is_no_answer() -> None:
    answer = chosen(
        "What is the rated power of the turbine Ansa?",
        "Turbine | In service since | Rated power\nAnsa | June 2022 | 600 kW\n",
    )
    assert answer == ["Ansa | June 2022 | 600 kW"]


def test_things_named_one_after_the_other_are_the_answer_and_nothing_else() -> None:
    answer = chosen(
        "Which four mills belong to the mill guild?",
        "The mill guild was founded by millers. Mills of the mill guild have blue doors.",
        "There are four mills in the mill guild: the oat mill in Upton, the saw mill at the ford, "
        "the paper mill and, since 2021, the small mill on the quay.",
    )
    assert [one[:20] for one in answer] == ["There are four mills"]


@pytest.mark.parametrize(
    "question",
    [
        "What does MGL stand for?",
        "What is the meaning of MGL?",
        "What does MGL mean and what is it?",
        "What's MGL?",
    ],
)
def test_initials_are_told_by_the_words_that_they_stand_for(question: str) -> None:
    told = "Dues go to the Mill Guild of the Lowlands (MGL) in May."
    answer = chosen(question, "MGL is mentioned by the millers. Each door has MGL on it.", told)
    assert answer == [told]


def test_a_side_is_not_filled_with_what_only_compares_with_it() -> None:
    found = extract(
        read("How does the old ferry differ from the new ferry?"),
        evidence_of(
            "The old ferry carries twelve cars and burns diesel oil.",
            "The engine room is much quieter than the new ferry in summer.",
            "The new ferry carries thirty cars and runs on batteries.",
        ),
        LEXICAL,
        most=3,
    )
    assert found.text == (
        "**Old ferry:** The old ferry carries twelve cars and burns diesel oil.\n\n"
        "**New ferry:** The new ferry carries thirty cars and runs on batteries."
    )


def test_another_word_of_one_stem_names_no_side() -> None:
    found = extract(
        read("What is the difference between a representative and a host?"),
        evidence_of(
            "Two boats represent the harbour in the race.",
            "A representative speaks for a team in another team.",
            "A host is somebody who keeps the door of a meeting.",
        ),
        LEXICAL,
        most=3,
    )
    assert "Two boats" not in found.text
    assert "**Host:** A host is somebody who keeps the door of a meeting." in found.text


def test_what_both_sides_are_is_enough_where_no_aspect_is_asked_about() -> None:
    found = extract(
        read("Compare the slow round with the open hour."),
        evidence_of(
            "Bring tea to the slow round and the open hour.",
            "The slow round is a talk in which each person speaks once. The slow round was late.",
            "The open hour is a time in which anybody may come. The open hour is loved by many.",
        ),
        LEXICAL,
        most=3,
    )
    assert (
        "**Slow round:** The slow round is a talk in which each person speaks once." in found.text
    )
    assert found.text.endswith("**Open hour:** The open hour is a time in which anybody may come.")


def test_what_a_thing_is_leads_what_is_told_about_it() -> None:
    answer = chosen(
        "Tell me about the net loft.",
        "Visitors of the net loft tell stories about the net loft on Sundays.",
        "The net loft is a workshop that lends tools.",
    )
    assert answer[0] == "The net loft is a workshop that lends tools."


def test_one_item_that_is_a_sentence_comes_without_what_introduces_its_list() -> None:
    answer = chosen(
        "Why should the lamp oil be stored outside?",
        "Tips:\n\n- Store the lamp oil outside because its vapour burns easily.\n"
        "- Wear gloves when you clean the brushes after a day.\n",
        most=1,
    )
    assert answer == ["Store the lamp oil outside because its vapour burns easily."]


def test_an_entry_of_a_bibliography_is_no_answer() -> None:
    answer = chosen(
        "What are the limits of tide models?",
        "The limits of tide models. arXiv preprint arXiv:1602.02410.\n\n"
        "Tide models leave out the limits that wind sets.",
    )
    assert answer == ["Tide models leave out the limits that wind sets."]


def test_what_an_item_is_called_is_no_answer_of_its_own() -> None:
    answer = chosen("What about the jetty?", "- JETTY. Oak planks were bought.\n- BOATS. Two leak.")
    assert answer == ["Oak planks were bought."]


def test_what_is_called_so_says_what_the_name_stands_for() -> None:
    answer = chosen(
        "What is Old Tom?",
        "Old Tom was talked about on Old Tom day by friends of Old Tom.",
        "The millers of Upton built a small wind mill called Old Tom.",
    )
    assert answer == ["The millers of Upton built a small wind mill called Old Tom."]


def test_the_asked_amount_comes_before_a_list_of_such_things() -> None:
    answer = chosen(
        "How many grains does the mill of Upton grind?",
        "Grains that the mill of Upton does grind are oats, rye, barley and wheat, and many more.",
        "The mill of Upton is known to grind nine grains.",
    )
    assert answer == ["The mill of Upton is known to grind nine grains."]


def test_where_only_the_claim_is_said_its_reason_follows() -> None:
    said = "Ida holds that a wet mill stone wears out sooner."
    why = "Damp flour cakes in its grooves and grinds them down."
    answer = chosen(
        "Why does Ida hold that a wet mill stone wears out sooner?",
        f"{said} {why} Lunch was late. The dog slept.",
        most=1,
    )
    assert answer[:2] == [said, why]
    given = "A wet mill stone wears out sooner because damp flour cakes."
    assert chosen("Why does a wet mill stone wear out?", f"{given} {why}", most=1) == [given]


def test_what_is_announced_by_its_number_is_told() -> None:
    lead = "The miller's loan is tied to two strict conditions."
    both = "The wheel must turn by May, and the pond must be fenced."
    rest = "The vote was close."
    asked = "Under which conditions was the loan given to the miller?"
    assert chosen(asked, f"{lead} {both} {rest}", most=1) == [lead, both]
    parts = ["The first is a wheel that turns by May.", "The second is a fence round the pond."]
    assert chosen(asked, f"{lead} {' '.join(parts)} {rest}", most=1) == [lead, *parts]
    amount = "How many conditions are tied to the miller's loan?"
    assert chosen(amount, f"{lead} {both} {rest}", most=1) == [lead]


def test_a_part_of_a_list_brings_the_list_that_is_asked_for() -> None:
    duties = (
        "The keeper of the mill pond is in charge of:\n\n- fish\n- the sluice of the mill pond\n"
        "- the two geese\n"
    )
    answer = chosen("What does the keeper of the mill pond have to do?", duties, most=1)
    assert {"fish", "the two geese"} <= set(answer)


@pytest.mark.parametrize("opening", ["In this paper", "This study"])
def test_what_a_text_calls_itself_needs_no_sentence_before_it(opening: str) -> None:
    told = f"{opening} measures eleven mills of Upton by their noise."
    text = f"Noise has gained much interest of late. {told}"
    assert chosen("How many mills of Upton are measured?", text, most=1) == [told]
