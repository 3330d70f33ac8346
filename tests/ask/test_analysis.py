"""What questions are read as: names, limits, subject, mode, over a small vocabulary."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import Vocabulary, forms_of, people_by_key
from wellread.errors import RequestError
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.text.tokens import key_of
from wellread.types import Filters, Mode
from wellread.values.answers import Question
from wellread.values.question import Analysis

TODAY = date(2026, 1, 15)  # a Thursday


def node(known: str, title: str, *aliases: str, sort: str = "thing") -> EntityNode:
    return EntityNode(
        collection="main",
        id=known,
        type=sort,
        title=title,
        aliases=aliases,
        document_id=f"doc-{known}",
        documents=(f"doc-{known}",),
        url="",
    )


NODES = (
    node("ferry", "Electric ferry Plover", "the night boat"),
    node("bakery", "Corn Street Bakery", "the street bakery"),
    node("rota", "Rota", sort="practice"),
    node("role", "Role", sort="practice"),
    node("rbf", "Replace-by-fee (RBF)"),
    node("hub", "Harbour Upkeep Board", "HUB"),
    node("cafe", "Repair café", "repair meeting"),
    node("n80", "Weekly Bulletin #80", sort="bulletin"),
    node("tide", "The tide gates", "the gates"),
)
NAMES = forms_of(NODES)
VOCABULARY = Vocabulary(
    names=NAMES,
    collections=("main", "archive"),
    kinds=frozenset({"article", "paper", "transcript", "entity"}),
    source_types=frozenset({"bulletin", "public_notice", "pdf"}),
    languages=frozenset({"en", "de"}),
    speakers=people_by_key(["Ada Moor", "Ben Hill", "Ben Stone", "Will Dent", "Bo Ek"]),
    authors=people_by_key(["Cleo Ray", "Ada Moor", "Finance Committee"]),
    taxonomy={
        key_of("municipal"): (("scales", "municipal"),),
        key_of("energy"): (("sectors", "energy"),),
        key_of("meeting-practices"): (("group", "meeting-practices"),),
    },
    dimensions=frozenset({"scales", "sectors", "group"}),
    entity_types=frozenset({"practice", "bulletin"}),
    published=(date(2019, 3, 1), date(2025, 12, 20)),
)


def read(question: str, vocabulary: Vocabulary = VOCABULARY, mode: Mode = "auto") -> Analysis:
    return analyse(Question(text=question, mode=mode), vocabulary, TODAY)


def limits(question: str) -> list[tuple[str, str]]:
    return [(one.kind, one.value) for one in read(question).constraints]


def named(question: str) -> list[tuple[str, str]]:
    found = read(question)
    return [(one.span.of(found.question), one.entity_id) for one in found.entities]


# --- entities --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "spelling", "entity"),
    [
        ("What does the electric ferry Plover cost?", "electric ferry Plover", "ferry"),
        ("What does the Plover's battery weigh?", "Plover", "ferry"),
        ("What does RBF change?", "RBF", "rbf"),
        ("How does replace-by-fee work?", "replace-by-fee", "rbf"),
        ("Are repair cafes open to all?", "repair cafes", "cafe"),
        ("Who funds the HUB?", "HUB", "hub"),
        ("What was in bulletin 80?", "bulletin 80", "n80"),
        ("What was in Bulletin #80?", "Bulletin #80", "n80"),
        ("What is a rota?", "rota", "rota"),
        ("What is a role?", "role", "role"),
    ],
)
def test_an_entity_is_found_as_people_write_it(question: str, spelling: str, entity: str) -> None:
    assert named(question) == [(spelling, entity)]


@pytest.mark.parametrize(
    "question",
    [
        "What role does the mate play?",  # an everyday word in its everyday sense
        "Which hub handles freight in Oldwick?",  # the acronym is written in capitals
        "Is there a gate at the mill?",  # "the gates" are not a gate
        "What does the ferry cost?",  # only the proper name stands for the whole title
        "What is the plovers egg?",
    ],
)
def test_what_only_looks_like_a_name_is_none(question: str) -> None:
    assert [entity for _, entity in named(question) if entity != "ferry"] == []


def test_a_part_that_two_entities_share_is_nobodys() -> None:
    names = forms_of([node("a", "Electric ferry Plover"), node("b", "Motor launch Plover")])
    assert key_of("Plover") not in names


# --- time ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "window"),
    [
        ("What did they say last week?", "2026-01-05 to 2026-01-11"),
        ("What did they say in the past 30 days?", "2025-12-16 to 2026-01-15"),
        ("What changed at the mill this year?", "2026-01-01 to 2026-12-31"),
        ("What was discussed in March?", "2025-03-01 to 2025-03-31"),
        ("What was discussed in May 2023?", "2023-05-01 to 2023-05-31"),
        ("What was discussed between March and June 2023?", "2023-03-01 to 2023-06-30"),
        ("How did it develop from 2019 to 2021?", "2019-01-01 to 2021-12-31"),
        ("What has been said since 1 November 2025?", "from 2025-11-01"),
        ("What was said after June 2023?", "from 2023-07-01"),
        ("What was said before 2020?", "until 2019-12-31"),
        ("What was reported on 15 October 2025?", "2025-10-15"),
        ("Which bulletins from winter 2022 mention ice?", "2022-12-01 to 2023-02-28"),
        ("I moved here in 2019. What was said in 2021?", "2021-01-01 to 2021-12-31"),
    ],
)
def test_a_time_window_is_read(question: str, window: str) -> None:
    assert ("time", window) in limits(question)


@pytest.mark.parametrize(
    "question",
    [
        "May I borrow a ladder?",
        "What happened in the August storm?",
        "When is the report on the 14 October outage due?",
        "How long was the mill dark on 14 October?",
        "How much did the fund pay out last year?",
        "What is planned for the 2026 budget?",
        "What does CVE-2021-17144 break?",
        "Who built the mill in 1937?",  # before anything was published
        "What was said before the flood?",  # which has no date
        "Compare what was said in 2022 and in 2024",
        "What was the price on 31 February 2023?",
    ],
)
def test_no_window_is_read_into_other_dates(question: str) -> None:
    assert [value for kind, value in limits(question) if kind == "time"] == []


def test_a_window_holds_its_whole_last_day() -> None:
    (one,) = read("What was reported in Q4 2025?").constraints
    assert one.filters == Filters(
        published_from=datetime(2025, 10, 1, tzinfo=UTC),
        published_to=datetime(2025, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    )


# --- people ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Ada Moor say about ice?", ("speaker", "Ada Moor")),
        ("What did Ada say about ice?", ("speaker", "Ada Moor")),
        ("According to Ben Hill, who is late?", ("speaker", "Ben Hill")),
        ("What did Ada Moor and Ben Hill argue about?", ("speaker", "Ada Moor, Ben Hill")),
        ("What did Cleo Ray write about ice?", ("author", "Cleo Ray")),
        ("What does Ray say about ice?", ("author", "Cleo Ray")),
        ("Which papers by Ada Moor deal with ice?", ("author", "Ada Moor")),
        ("What did Ada find in her paper?", ("author", "Ada Moor")),
        ("Count the notices by the Finance Committee", ("author", "Finance Committee")),
    ],
)
def test_whose_words_are_asked_for(question: str, expected: tuple[str, str]) -> None:
    found = [one for one in limits(question) if one[0] in ("speaker", "author")]
    assert found == [expected]


@pytest.mark.parametrize(
    "question",
    [
        "Who is Ada Moor?",
        "What did Ben say about ice?",  # two of that name
        "What did Ada Byron say about ice?",  # somebody else
        "What will say the most?",
        "Who said that Ada Moor is late?",
        "What would Ada Moor say about ice?",  # need not be in her own words
        "What did the Finance Committee decide?",
    ],
)
def test_a_person_who_is_talked_about_is_no_limit(question: str) -> None:
    assert [one for one in limits(question) if one[0] in ("speaker", "author")] == []


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("What did the industrial designer say about buttons?", ["Industrial Designer"]),
        ("What does the designer say about buttons?", ["Industrial Designer"]),
        ("What did the user interface designer say about buttons?", []),
        ("What is there according to the user interface guidelines?", []),
    ],
)
def test_a_speaker_is_meant_by_the_whole_name_or_a_part_of_their_own(
    question: str, meant: list[str]
) -> None:
    roles = Vocabulary(speakers=people_by_key(["Industrial Designer", "User Interface"]))
    read = analyse(Question(text=question), roles, TODAY)
    assert [one.value for one in read.constraints] == meant
    assert ("user interface" in read.subject) == (not meant)


# --- sources ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What do the papers say about ice?", [("kind", "paper")]),
        ("Are there any studies on ice?", [("kind", "paper")]),
        ("What news is there about ice?", [("kind", "article")]),
        ("How many bulletins mention ice?", [("source_type", "bulletin")]),
        ("Is there a bulletin about ice?", [("source_type", "bulletin")]),
        ("What do articles in German say?", [("kind", "article"), ("language", "de")]),
    ],
)
def test_kinds_of_sources_limit(question: str, expected: list[tuple[str, str]]) -> None:
    assert sorted(limits(question)) == sorted(expected)


@pytest.mark.parametrize(
    "question",
    [
        "How are paper bags made?",
        "What do viral studies use it for?",
        "Who edits Science News?",
        "What types of articles are there?",
        "Which web pages mention ice?",  # none is held
        "Which Danish articles are there?",  # from Denmark, perhaps
        "How do you say ice in German?",
    ],
)
def test_other_senses_of_these_words_do_not(question: str) -> None:
    assert [one for one in limits(question) if one[0] in ("language", "source_type")] == []
    assert [value for kind, value in limits(question) if kind == "kind"] in ([], ["article"])


# --- taxonomy --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Which practices exist at municipal scale?", "scales: municipal"),
        ("What is done in the energy sector?", "sectors: energy"),
        ("Which municipal practices save money?", "scales: municipal"),
        ("List the patterns in the group Meeting Practices", "group: meeting-practices"),
        ("How many patterns are in Meeting Practices?", "group: meeting-practices"),
    ],
)
def test_a_value_of_the_taxonomy_limits(question: str, value: str) -> None:
    assert ("taxonomy", value) in limits(question)


@pytest.mark.parametrize(
    "question",
    [
        "How much energy does the mill use?",
        "Who heads the municipal council?",
        "There is doubt that energy practices pay. Why?",
    ],
)
def test_a_bare_value_is_a_topic(question: str) -> None:
    assert [one for one in limits(question) if one[0] == "taxonomy"] == []


# --- the whole -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("What was said about ice in Q4 2025?", "What was said about ice?"),
        ("In March 2023, who cut the ice?", "who cut the ice?"),
        ("According to Ben Hill, how thick is the ice?", "how thick is the ice?"),
        ("In the papers, how thick is the ice?", "how thick is the ice?"),
        ("Which practices at municipal scale cut ice?", "Which practices cut ice?"),
        ("What did Ada Moor say?", "What did Ada Moor say?"),  # nothing else to search for
        ("Who is Ada Moor?", "Who is Ada Moor?"),
    ],
)
def test_the_subject_is_the_question_without_its_limits(question: str, subject: str) -> None:
    assert read(question).subject == subject


@pytest.mark.parametrize(
    ("question", "mode"),
    [
        ("Why is the ice thick?", "deep"),
        ("What caused the outage?", "deep"),
        ("How has the rota changed over time?", "deep"),
        ("Tell me everything about ice", "deep"),
        ("Who cut the ice?", "quick"),
        ("How many bulletins mention ice?", "quick"),
    ],
)
def test_auto_goes_deep_where_one_search_will_not_do(question: str, mode: Mode) -> None:
    found = read(question)
    assert found.mode == mode
    assert any(reason.startswith(mode) for reason in found.reasons)


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(RequestError, match="empty"):
        read(" \n ")
    with pytest.raises(RequestError, match="4,001"):
        read("a" * 4_001)


def test_the_asker_s_filters_are_kept_apart() -> None:
    question = Question(text="What do papers say?", filters=Filters(languages=("de",)))
    found = analyse(question, VOCABULARY, TODAY)
    assert found.filters == Filters(languages=("de",))
    assert [one.filters for one in found.constraints] == [Filters(kinds=("paper",))]


WORDS = st.sampled_from(
    "what did ada moor say in the papers about bulletin #80 since may 2023 between and q4 2025 at "
    "municipal scale energy sector rota RBF's Plover, or last week ? . \" ' – İ ß 𝟛 before until "
    "by how many news from".split(" ")
)


@given(st.one_of(st.lists(WORDS, min_size=1, max_size=25).map(" ".join), st.text(max_size=200)))
def test_any_text_is_read_with_spans_that_hold_what_they_say(text: str) -> None:
    if not text.split():
        return
    found = read(text)
    assert found == read(text)
    assert found.subject
    for one in found.entities:
        said = one.span.of(found.question)
        assert said == said.strip() != ""
        assert any(form.node.id == one.entity_id for form in NAMES[key_of(said)])
    spans = {(one.span.start, one.span.end) for one in found.entities}
    assert all(
        one == other or one[1] <= other[0] or other[1] <= one[0] for one in spans for other in spans
    )
    for constraint in found.constraints:
        assert constraint.span.of(found.question).strip()
        assert constraint.filters != Filters()


FIRST, LAST = date(2019, 2, 1), date(2024, 12, 23)
ARCHIVE = Vocabulary(published=(FIRST, LAST))


def window(question: str, vocabulary: Vocabulary = ARCHIVE) -> tuple[date | None, date | None]:
    read = analyse(Question(text=question), vocabulary, TODAY)
    limits = [one.filters for one in read.constraints if one.kind == "time"]
    if not limits:
        return None, None
    (one,) = limits
    return (
        one.published_from.date() if one.published_from else None,
        one.published_to.date() if one.published_to else None,
    )
