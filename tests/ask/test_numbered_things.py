"""What is numbered, and what recurs, is no conflict; another value for the same thing is one."""

from __future__ import annotations

from datetime import date

from tests.doubles.evidence import evidence_of

from wellread.answers import Question
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ask.verify.conflicts.disputes import with_disputes
from wellread.ask.write.drafting import by_extraction
from wellread.ask.write.passage_reading import Chooser
from wellread.models.readers.lexical import LexicalReader
from wellread.testing.embedding import ReadableEmbedder

# A question, and three pairs of sentences on two things of one kind.
NUMBERED: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "article": (
        "What does the charter say about voting?",
        (
            ("Article 9 of the charter gives every member one vote.", "Article 12 of the charter gives every member one vote by post."),
            ("Under Article 3 of the charter a vote is secret.", "Under Article 4 of the charter a vote is open."),
            ("The charter rules voting in Article 21 for the board.", "The charter rules voting in Article 22 for the members."),
        ),
    ),
    "room": (
        "Where is the projector of the college?",
        (
            ("The projector of the college stands in Room 1.12.", "The projector of the college stands in Room 2.07."),
            ("Room 14 of the college has a projector with sound.", "Room 15 of the college has a projector with sound."),
            ("A projector of the college hangs in Room B3.", "A projector of the college hangs in Room B4."),
        ),
    ),
    "version": (
        "What does the editor do with tabs?",
        (
            ("Version 3.1 of the editor turns tabs into spaces.", "Version 3.2 of the editor keeps tabs as they are."),
            ("In version 2 the editor shows tabs as arrows.", "In version 4 the editor shows tabs as dots."),
            ("Since release 1.4 the editor aligns tabs with commas.", "Since release 1.9 the editor aligns tabs with colons."),
        ),
    ),
    "month": (
        "How many visitors did the museum have?",
        (
            ("The museum had 4,200 visitors in May.", "The museum had 5,100 visitors in June."),
            ("In January 900 visitors came to the museum.", "In February 1,150 visitors came to the museum."),
            ("The museum counted 3,000 visitors for August.", "The museum counted 2,100 visitors for October."),
        ),
    ),
    "quarter": (
        "What was the profit of Holt Mills?",
        (
            ("Holt Mills made a profit of 12 million crowns in the first quarter.", "Holt Mills made a profit of 15 million crowns in the second quarter."),
            ("The profit of Holt Mills was 3 million in Q1.", "The profit of Holt Mills was 4 million in Q3."),
            ("In the third quarter the profit of Holt Mills fell to 8 million.", "In the fourth quarter the profit of Holt Mills fell to 6 million."),
        ),
    ),
    "year": (
        "How many boats did the yard build?",
        (
            ("The yard built 14 boats in 2019.", "The yard built 22 boats in 2021."),
            ("In 2005 the yard built 31 boats for the navy.", "In 2006 the yard built 28 boats for the navy."),
            ("The yard had built 9 boats by 1999.", "The yard had built 40 boats by 2012."),
        ),
    ),
    "weekday": (
        "When is the pool open?",
        (
            ("On Monday the pool is open from 7 to 12.", "On Friday the pool is open from 9 to 20."),
            ("The pool opens at 8 on Tuesday.", "The pool opens at 10 on Sunday."),
            ("Every Saturday the pool is open until 18.", "Every Sunday the pool is open until 16."),
        ),
    ),
    "chapter": (
        "What is the handbook about?",
        (
            ("Chapter 2 of the handbook is about knots and ropes.", "Chapter 5 of the handbook is about sails and masts."),
            ("The handbook treats tides in chapter 7.", "The handbook treats winds in chapter 8."),
            ("Knots are on page 40 of the handbook.", "Sails are on page 90 of the handbook."),
        ),
    ),
    "step": (
        "How is the glue for the model mixed?",
        (
            ("In step 1 the glue for the model is mixed with water.", "In step 4 the glue for the model is mixed with chalk."),
            ("Step 2 mixes 30 grams of glue for the model.", "Step 6 mixes 10 grams of glue for the model."),
            ("For stage 3 the glue for the model is mixed warm.", "For stage 5 the glue for the model is mixed cold."),
        ),
    ),
    "line": (
        "How long does the bus to the airport take?",
        (
            ("Bus 12 to the airport takes 40 minutes.", "Bus 17 to the airport takes 55 minutes."),
            ("On line 3 the bus to the airport takes 25 minutes.", "On line 8 the bus to the airport takes 35 minutes."),
            ("The bus to the airport on route 101 takes 50 minutes.", "The bus to the airport on route 202 takes 70 minutes."),
        ),
    ),
    "platform": (
        "Where does the train to Norwell leave?",
        (
            ("The early train to Norwell leaves from platform 2.", "The late train to Norwell leaves from platform 5."),
            ("From gate 4 the train to Norwell leaves at 8:15.", "From gate 6 the train to Norwell leaves at 9:40."),
            ("Track 1 is where the train to Norwell leaves at noon.", "Track 3 is where the train to Norwell leaves at night."),
        ),
    ),
    "model": (
        "How much power does the drill need?",
        (
            ("The drill model 300 needs 450 watts of power.", "The drill model 500 needs 700 watts of power."),
            ("The drill of type A2 needs 300 watts of power.", "The drill of type B7 needs 520 watts of power."),
            ("With bit no. 4 the drill needs 200 watts of power.", "With bit no. 9 the drill needs 350 watts of power."),
        ),
    ),
    "floor": (
        "How many offices does the tower have?",
        (
            ("Floor 3 of the tower has 12 offices.", "Floor 8 of the tower has 20 offices."),
            ("On level 1 the tower has 6 offices.", "On level 4 the tower has 9 offices."),
            ("The tower has 15 offices in wing 2.", "The tower has 18 offices in wing 3."),
        ),
    ),
    "class": (
        "How many pupils does the school teach?",
        (
            ("The school teaches 24 pupils in class 5.", "The school teaches 28 pupils in class 6."),
            ("In grade 1 the school teaches 19 pupils.", "In grade 4 the school teaches 22 pupils."),
            ("The school teaches 60 pupils of year 7.", "The school teaches 75 pupils of year 9."),
        ),
    ),
    "week": (
        "How far do the runners of the course run?",
        (
            ("In week 1 the runners of the course run 5 miles.", "In week 6 the runners of the course run 9 miles."),
            ("The runners of the course run 3 miles on day 2.", "The runners of the course run 6 miles on day 20."),
            ("The runners of the course run 10 miles in lesson 4.", "The runners of the course run 12 miles in lesson 7."),
        ),
    ),
    "agenda": (
        "What did the meeting decide about the fence?",
        (
            ("Under item 4 the meeting decided to paint the fence.", "Under item 7 the meeting decided to move the fence."),
            ("Motion 12 of the meeting decided on the fence with 9 votes.", "Motion 15 of the meeting decided on the fence with 4 votes."),
            ("In point 2 the meeting decided to price the fence.", "In point 3 the meeting decided to order the fence."),
        ),
    ),
    "part": (
        "Which bolt does the pump take?",
        (
            ("Part 114 of the pump takes a bolt of 8 mm.", "Part 120 of the pump takes a bolt of 10 mm."),
            ("At valve 1 the pump takes a bolt of 5 mm.", "At valve 2 the pump takes a bolt of 6 mm."),
            ("Figure 3 shows that the pump takes a bolt of 4 mm.", "Figure 9 shows that the pump takes a bolt of 7 mm."),
        ),
    ),
    "phase": (
        "What did the trial of the vaccine find?",
        (
            ("Phase 1 of the trial of the vaccine found 12 mild reactions.", "Phase 3 of the trial of the vaccine found 240 mild reactions."),
            ("The trial of the vaccine found 80 percent in group 1.", "The trial of the vaccine found 65 percent in group 2."),
            ("Round 2 of the trial of the vaccine found no harm.", "Round 4 of the trial of the vaccine found some harm."),
        ),
    ),
}  # fmt: skip
# A question, and two sentences of which one at most is right.
AT_ODDS = (
    ("How many homes lost power in Oldtown?", "The storm cut the power of 310 homes in Oldtown.", "In Oldtown 240 homes lost power in the storm."),
    ("When was the Corn Bridge built?", "The Corn Bridge was built in 1884.", "The Corn Bridge was built in 1891."),
    ("Who founded the Lantern Club?", "The Lantern Club was founded by Ada Moor.", "The Lantern Club was founded by Ben Hill."),
    ("How deep is Lake Arn?", "Lake Arn is 120 metres deep.", "Lake Arn is 95 metres deep."),
    ("How much did the new pier cost?", "The new pier cost 4 million crowns.", "The new pier cost 6 million crowns."),
    ("How many seats does the Palace Theatre have?", "The Palace Theatre has 800 seats.", "The Palace Theatre has 950 seats."),
    ("Did the council approve the budget?", "The council approved the budget for the harbour wall.", "The council did not approve the budget for the harbour wall."),
    ("Who won the Harbour Race?", "The Harbour Race was won by Cleo Ray.", "The Harbour Race was won by Tom Hale."),
)  # fmt: skip


def differ(question: str, *said: str) -> bool:
    """Whether the two sentences, each of a document of its own, are told as differing."""
    asked = analyse(Question(text=question), Vocabulary(), date(2026, 1, 15))
    evidence = evidence_of(*said)
    chooser = Chooser(sentences=LexicalReader(ReadableEmbedder))
    _, disputes = with_disputes(asked, evidence, by_extraction(asked, evidence, chooser, 3))
    return bool(disputes)


def test_two_numbered_things_do_not_differ() -> None:
    asked = [(text, pair) for text, pairs in NUMBERED.values() for pair in pairs]
    assert len(asked) == 54
    assert sum(differ(text, *pair) for text, pair in asked) <= 1


def test_other_values_of_one_thing_are_told() -> None:
    assert sum(differ(question, *pair) for question, *pair in AT_ODDS) >= 7
