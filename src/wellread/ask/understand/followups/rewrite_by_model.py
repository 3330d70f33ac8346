"""Follow-ups rewritten by a language model. Its reply is checked: earlier answers are data.

What the model may do is small: keep the words of the question, and put in names and words that
stand in the conversation. Anything else is refused, and the rules' rewriting counts.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from functools import cache

import anyio
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from wellread.answers import Usage
from wellread.ask.understand.followups.references import references_of
from wellread.ask.understand.followups.rewrite import LONGEST, connected
from wellread.ask.understand.followups.turns import Rewritten, Turn, context_of
from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import LanguageModel, ModelUsage, Prompt, TextDelta
from wellread.models.prompts import fence_of, fenced
from wellread.text.parsed import parse

SECONDS = 15.0  # a question must not wait longer to be rewritten; rules take a millisecond
LONGEST_REPLY = 4 * LONGEST  # characters after which no more is read
MOST_ANSWER, MOST_LISTED = 500, 12  # characters of an answer, and items, that the model is shown
KEPT = 0.5  # least share of the question's own words that its rewriting has
OWN = 0.8  # least share of the words put in that the conversation has
_LABEL = re.compile(r"^(?:[\w ]{0,24}question\s*:\s*)", re.IGNORECASE)
_QUOTES = "\"'“”„`*"
_ADDRESS = re.compile(r"\w+://|\bwww\.|\bCALL\s*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRewriting:
    """What a model made of a follow-up, and what it cost."""

    rewritten: Rewritten
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A turn as the template shows it."""

    question: str
    answer: str
    shown: str


def leans(question: str, by_rules: Rewritten, earlier: Sequence[Turn]) -> bool:
    """Whether a question seems to need the turns before it, so that a model is worth asking."""
    if not earlier or len(question) > LONGEST:
        return False
    pointing = references_of(question)
    context = context_of(by_rules, earlier)
    return by_rules.changed or bool(pointing) or bool(context) or connected(question)


async def by_model(
    model: LanguageModel, question: str, earlier: Sequence[Turn], *, seconds: float = SECONDS
) -> ModelRewriting:
    """``question`` as ``model`` says it alone.

    Raises:
        ModelError: the model failed, took too long, or gave what is no rewriting of the question.
    """
    prompt = rewriting_prompt(question, earlier)
    usage = ModelUsage(model=model.identity)
    reply = ""
    try:
        with anyio.fail_after(seconds):
            async with AsyncExitStack() as stack:
                pieces: AsyncIterator[TextDelta | ModelUsage] = model.stream(prompt)
                if isinstance(pieces, AsyncGenerator):
                    await stack.enter_async_context(aclosing(pieces))
                async for piece in pieces:
                    if isinstance(piece, ModelUsage):
                        usage = piece
                    else:
                        reply += piece.text
                    if len(reply) > LONGEST_REPLY:
                        raise ModelError(f"{model.identity} wrote more than a question")
    except TimeoutError as error:
        raise ModelTimeoutError(f"{model.identity} took longer than {seconds:g} s") from error
    text = accepted(reply, question, earlier)
    if text is None:
        raise ModelError(f"{model.identity} gave what is no rewriting of the question")
    changed = text != " ".join(question.split())
    return ModelRewriting(
        rewritten=Rewritten(
            text=text if changed else question,
            changed=changed,
            reasons=(f"rewritten by {model.identity}",) if changed else (),
        ),
        usage=Usage(
            input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cost=usage.cost
        ),
    )


def rewriting_prompt(question: str, earlier: Sequence[Turn]) -> Prompt:
    """What the model is asked. The same input gives the same prompt."""
    said = [part for turn in earlier for part in (turn.question, turn.answer, *turn.items)]
    fence = fence_of("rewrite", question, *said)
    turns = [
        _Shown(
            question=_line(turn.question, fence),
            answer=_line(turn.answer[:MOST_ANSWER], fence),
            shown=_line("; ".join(turn.items[:MOST_LISTED]), fence),
        )
        for turn in earlier
        if turn.question
    ]
    return Prompt(
        system=_template("system.md").render(fence=fence),
        user=_template("user.md").render(fence=fence, turns=turns, question=_line(question, fence)),
    )


def accepted(reply: str, question: str, earlier: Sequence[Turn]) -> str | None:
    """The question in a model's reply; None when it is no rewriting of ``question``.

    It is one when it keeps most of the question's words, and names, numbers and nearly all words
    that it puts in stand in the conversation.
    """
    text = _one_line(reply)
    said = "\n".join([question, *(_said(turn) for turn in earlier)])
    if not text or len(text) > LONGEST or not _in_words_of(text, question, said):
        return None
    around = said.casefold()
    named = [part for name in parse(text).names for part in parse(name).words]
    invented = any(part.casefold() not in around for part in named)
    invented |= not parse(text).numbers <= parse(said).numbers
    invented |= _ADDRESS.search(text) is not None and _ADDRESS.search(said) is None
    return None if invented else text


def _one_line(reply: str) -> str:
    """The only line of a reply, without a label and quotation marks; empty when it has more."""
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    return _unquoted(_LABEL.sub("", " ".join(lines[0].split()))) if len(lines) == 1 else ""


def _in_words_of(text: str, question: str, said: str) -> bool:
    """Whether ``text`` keeps the words of ``question``, and adds only what was ``said``."""
    asked, made = set(parse(question).stems), set(parse(text).stems)
    put = made - asked
    known = put & set(parse(said).stems)
    return len(asked & made) >= KEPT * len(asked) and len(known) >= OWN * len(put)


def _said(turn: Turn) -> str:
    return "\n".join((turn.question, turn.answer, *turn.names, *turn.items))


def _unquoted(text: str) -> str:
    """``text`` without the quotation marks or emphasis around the whole of it."""
    inner = text.strip(_QUOTES).strip()
    return inner if not any(mark in inner for mark in _QUOTES) else text


def _line(text: str, fence: str) -> str:
    return " ".join(fenced(text, fence).split())


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=PackageLoader("wellread.ask.understand.followups", "prompts"),
        autoescape=False,  # noqa: S701 - the result is read by a model, not by a browser
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
