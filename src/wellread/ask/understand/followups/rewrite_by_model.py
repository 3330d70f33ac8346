"""Follow-ups rewritten by a language model. It sees no text of a source, and its reply is checked.

What the model may do is small: keep the words of the question, and put in words of the earlier
questions and names that the base knows. Anything else is refused, and the rules' rewriting counts.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace

import anyio

from wellread.answers import Usage
from wellread.ask.understand.followups.rewrite import LONGEST, Rewritten, Turn, known_in
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import LanguageModel, ModelUsage, Piece, Prompt, TextDelta
from wellread.models.prompts import fence_of, fenced, template
from wellread.text.parsed import parse

SECONDS = 15.0  # a question must not wait longer to be rewritten; rules take a millisecond
LONGEST_REPLY = 4 * LONGEST  # characters after which no more is read
MOST_ANSWER, MOST_LISTED = 500, 12  # characters of an answer that are looked at; items shown
KEPT = 0.5  # least share of the question's own words that its rewriting has
OWN = 0.8  # least share of the words put in that earlier questions or names have
_LABEL = re.compile(r"^(?:[\w ]{0,24}question\s*:\s*)", re.IGNORECASE)
_QUOTES = "\"'“”„`*"
_ADDRESS = re.compile(r"\w+://|\bwww\.|\bCALL\s*:", re.IGNORECASE)


async def by_model(
    model: LanguageModel,
    question: str,
    earlier: Sequence[Turn],
    vocabulary: Vocabulary,
    *,
    seconds: float = SECONDS,
) -> tuple[Rewritten, Usage]:
    """``question`` as ``model`` says it alone, and what that cost.

    Raises:
        ModelError: the model failed, took too long, or gave what is no rewriting of the question.
    """
    told = [_told(turn, vocabulary) for turn in earlier]
    usage = ModelUsage(model=model.identity)
    reply = ""
    try:
        with anyio.fail_after(seconds):
            async with AsyncExitStack() as stack:
                pieces: AsyncIterator[Piece] = model.stream(rewriting_prompt(question, told))
                if isinstance(pieces, AsyncGenerator):
                    await stack.enter_async_context(aclosing(pieces))
                async for piece in pieces:
                    if isinstance(piece, ModelUsage):
                        usage = piece
                    elif isinstance(piece, TextDelta):
                        reply += piece.text
                    if len(reply) > LONGEST_REPLY:
                        raise ModelError(f"{model.identity} wrote more than a question")
    except TimeoutError as error:
        raise ModelTimeoutError(f"{model.identity} took longer than {seconds:g} s") from error
    text = accepted(reply, question, told)
    if text is None:
        raise ModelError(f"{model.identity} gave what is no rewriting of the question")
    cost = Usage(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cost=usage.cost
    )
    if text == " ".join(question.split()):
        return Rewritten(text=question), cost
    return Rewritten(text=text, changed=True, reasons=(f"rewritten by {model.identity}",)), cost


def _told(turn: Turn, vocabulary: Vocabulary) -> Turn:
    """The turn with the names of its answer in place of its text."""
    names = dict.fromkeys([*turn.names, *known_in(turn.answer[:MOST_ANSWER], vocabulary)])
    return replace(turn, answer="", names=tuple(names))


def rewriting_prompt(question: str, earlier: Sequence[Turn]) -> Prompt:
    """What the model is asked. The same input gives the same prompt."""
    said = [part for turn in earlier for part in (turn.question, *turn.names, *turn.items)]
    fence = fence_of("rewrite", question, *said)

    def line(text: str) -> str:
        return " ".join(fenced(text, fence).split())

    turns = [
        {
            "question": line(turn.question),
            "names": line("; ".join(turn.names[:MOST_LISTED])),
            "shown": line("; ".join(turn.items[:MOST_LISTED])),
        }
        for turn in earlier
        if turn.question
    ]
    user = template("user.md", __package__)
    return Prompt(
        system=template("system.md", __package__).render(fence=fence),
        user=user.render(fence=fence, turns=turns, question=line(question)),
    )


def accepted(reply: str, question: str, earlier: Sequence[Turn]) -> str | None:
    """The question in a model's reply; None when it is no rewriting of ``question``.

    It is one when it keeps most of the question's words, and names, numbers and nearly all words
    that it puts in stand in the earlier questions or are names.
    """
    lines = [" ".join(line.split()) for line in reply.splitlines() if line.strip()]
    if len(lines) != 1:
        return None
    text = _LABEL.sub("", lines[0])
    inner = text.strip(_QUOTES).strip()
    text = inner if not any(mark in inner for mark in _QUOTES) else text
    turns = ["\n".join((one.question, *one.names, *one.items)) for one in earlier]
    said = "\n".join([question, *turns])
    asked, made = parse(question).stem_set, parse(text).stem_set
    put = made - asked
    kept = len(asked & made) >= KEPT * len(asked)
    known = len(put & parse(said).stem_set) >= OWN * len(put)
    if not text or len(text) > LONGEST or not (kept and known):
        return None
    around = said.casefold()
    named = [part for name in parse(text).names for part in parse(name).words]
    invented = any(part.casefold() not in around for part in named)
    invented |= not parse(text).numbers <= parse(said).numbers
    invented |= _ADDRESS.search(text) is not None and _ADDRESS.search(said) is None
    return None if invented else text
