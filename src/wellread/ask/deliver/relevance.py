"""Why a cited source matters, in one sentence: what the answer rests on it for, or what it holds.

A model says it itself; else it is made from the answer, so that stored answers have it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wellread.answers import CATALOGUE, EXTRACTIVE, Answer, Citation
from wellread.ask.understand.question_parts import sides_of
from wellread.text.headlines import shortened
from wellread.text.parsed import parse
from wellread.text.words import visible

MOST_WORDS = 6  # of the question, that are named
LONGEST = 200  # characters of a sentence of the answer


def relevances(answer: Answer) -> Mapping[int, str]:
    """For each citation of ``answer``, by its number, why the source matters to the question."""
    question = answer.standalone or answer.question
    sides = sides_of(question) if answer.type == "comparative" else ()
    rests: dict[int, str] = {}
    for sentence in answer.sentences:
        for number in sentence.citations:
            rests.setdefault(number, shortened(" ".join(sentence.text.split()), LONGEST))
    found = {}
    for citation in answer.citations:
        if answer.answered_by == CATALOGUE:
            first = "one of the documents that the result rests on"
        elif citation.why:
            first = citation.why.rstrip(" .")
        elif answer.answered_by == EXTRACTIVE or citation.id not in rests:
            first = shared(question, citation) or "quoted as it stands"
        else:
            first = f"the answer rests on it for “{rests[citation.id]}”"
        found[citation.id] = "; ".join(
            filter(None, (first, _side(sides, citation), _dated(citation)))
        )
    return found


def shared(asked: str, citation: Citation, what: str = "question") -> str:
    """Which words of ``asked`` the quotation or the title holds, in words; empty without one.

    Args:
        what: ``asked`` is called so.
    """
    held = _stems(citation)
    wanted = [
        word
        for word in dict.fromkeys(parse(asked).words)
        if (own := frozenset(parse(word).topic_stems)) and own <= held
    ]
    more = len(wanted) - MOST_WORDS
    named = ", ".join(f"“{visible(word)}”" for word in wanted[:MOST_WORDS])
    tail = f" and {more} more words" if more > 0 else ""
    return f"holds {named}{tail} of the {what}" if wanted else ""


def _side(sides: Sequence[str], citation: Citation) -> str:
    """The side of a comparison whose words the source holds, where it is one of them alone."""
    held = _stems(citation)
    about = [side for side in sides if (own := parse(side).stem_set) and own <= held]
    return f"tells of the side “{about[0]}”" if len(about) == 1 else ""


def _dated(citation: Citation) -> str:
    return f"published {citation.published_at:%Y-%m-%d}" if citation.published_at else ""


def _stems(citation: Citation) -> frozenset[str]:
    return frozenset(parse(f"{citation.title} {citation.quote}").stem_set)
