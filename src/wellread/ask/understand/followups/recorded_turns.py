"""The turns of a session, read from its recorded answers.

What was taken out of an answer since, because its source was removed, is no part of its turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wellread.answer_text import plain_text
from wellread.answers import LIMITED, NOBODY, Answer
from wellread.ask.understand.followups.conversation_turns import Turn
from wellread.store.catalogue.asking.redaction import BLANK
from wellread.store.catalogue.asking.redaction_answers import REMOVED
from wellread.text.sentences import sentence_spans

MOST_ITEMS = 50
NAMES = ("name", "title", "document", "entity")  # of columns that say what a row is called
# Kinds whose title is the name of what they are about; news and talks are titled otherwise.
NAMING = ("entity", "page", "paper")


def turn_of(answer: Answer) -> Turn:
    """The turn that ``answer`` was.

    The no-data reply says nothing of the question, but what it shows as near can be pointed at.
    """
    question = answer.question
    if answer.standalone and BLANK not in answer.standalone:
        question = answer.standalone
    if answer.answered_by == NOBODY:
        return Turn(question=question, items=_there(one.title for one in answer.related))
    return Turn(
        question=question,
        answer=_whole(plain_text(answer).removeprefix(LIMITED)),
        names=_there(one.title for one in answer.citations if one.kind in NAMING),
        items=_items(answer),
    )


def _items(answer: Answer) -> tuple[str, ...]:
    """What the rows of a list are called: a column of names, or one that tells them apart."""
    if answer.table is None or not answer.table.rows:
        return ()
    columns = list(zip(*answer.table.rows[:MOST_ITEMS], strict=False))
    named = zip(answer.table.columns, columns, strict=False)
    ranked = [column for name, column in named if name.casefold() in NAMES]
    ranked += [column for column in columns if _tells_apart(column)]
    return _there(ranked[0]) if ranked else ()


def _tells_apart(cells: Sequence[str]) -> bool:
    said = [cell for cell in cells if cell != REMOVED]
    return len(set(said)) == len(said) and any(map(str.isalpha, "".join(said)))


def _there(titles: Iterable[str]) -> tuple[str, ...]:
    kept = (title for title in titles if title.strip() and title != REMOVED)
    return tuple(dict.fromkeys(title for title in kept if BLANK not in title))


def _whole(text: str) -> str:
    """``text`` without the sentences that words were taken out of."""
    if BLANK not in text:
        return text
    spans = sentence_spans(text)
    return " ".join(said for span in spans if BLANK not in (said := span.of(text)))
