"""Entities that a question names by some words of their name: "the benefit fund".

Said so, "Community benefit fund" is meant where nothing else is called so. It is a guess all the
same, so the graph is asked about it only when everything else in the question is understood.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from wellread.ask.understand.vocabulary import ALIAS, Named
from wellread.questions import NamedEntity
from wellread.text.english import STOP_WORDS
from wellread.text.names import singular
from wellread.text.tokens import ARTICLES, Token, key_of_words, tokens_of
from wellread.types import Span

LEAST_WORDS = 2  # of a name that are said: "the fund" may be any
MOST_WORDS = 6  # of a whole name; longer ones are headlines


def shortened(
    question: str, names: Mapping[str, Sequence[Named]], taken: Iterable[Span]
) -> list[NamedEntity]:
    """The entities that are meant by "the" and words of their names, in order.

    Args:
        names: the spellings of the whole names, by their keys.
        taken: places of the question that name something already.
    """
    tokens = tokens_of(question)
    held = list(taken)
    found: list[NamedEntity] = []
    for run in _runs(tokens):
        span = Span(start=run[0].start, end=run[-1].start + len(run[-1].written))
        if any(span.overlaps(other) for other in held):
            continue
        meant = _meant([token.plain for token in run], names)
        if meant is not None:
            held.append(span)
            found.append(
                NamedEntity(
                    span=span,
                    collection=meant.node.collection,
                    entity_id=meant.node.id,
                    title=meant.node.title,
                    type=meant.node.type,
                )
            )
    return found


def _runs(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """What follows each "the", the longest first."""
    for place, token in enumerate(tokens):
        if token.plain != "the":
            continue
        last = place + 1
        while (
            last < len(tokens)
            and last - place < MOST_WORDS
            and tokens[last].joined
            and tokens[last].plain not in STOP_WORDS
        ):
            last += 1
        for end in range(last, place + LEAST_WORDS, -1):
            yield tokens[place + 1 : end]


def _meant(said: Sequence[str], names: Mapping[str, Sequence[Named]]) -> Named | None:
    """The one whose name holds the words ``said`` in order, the last one last."""
    wanted = _numberless(said)
    ending = key_of_words([wanted[-1]])
    found: dict[tuple[str, str], Named] = {}
    for key, forms in names.items():
        if not key.endswith(ending):
            continue
        for form in forms:
            if form.rank <= ALIAS and _holds(_words(form.written), wanted):
                found.setdefault((form.node.collection, form.node.id), form)
    return next(iter(found.values())) if len(found) == 1 else None


def _words(name: str) -> list[str]:
    words = [token.plain for token in tokens_of(name)]
    return _numberless(words[1:] if words[0] in ARTICLES else words)


def _numberless(words: Sequence[str]) -> list[str]:
    return [singular(word) or word for word in words]


def _holds(name: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether ``wanted`` are some words of a name, in its order, up to its last one."""
    if not len(wanted) < len(name) <= MOST_WORDS or name[-1] != wanted[-1]:
        return False
    rest = iter(name)
    return all(word in rest for word in wanted)
