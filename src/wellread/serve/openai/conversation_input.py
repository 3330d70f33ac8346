"""From what a program sends to a question: its messages, and which fields count.

The last message of the user is the question, the turns before it are the conversation. What has
no effect here is said in the answer (``wellread.ignored``); what would change the meaning of the
answer is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from wellread.kb import KnowledgeBase
from wellread.serve.error_shapes import Problem, ProblemError
from wellread.serve.openai.answer_markdown import earlier_turn
from wellread.types import EarlierTurn

ASK, RESEARCH = "wellread", "wellread-deep"
MOST_NAMED = 10  # models that an error names


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """A model's name as it was asked for; an empty ``collection`` is all of them."""

    name: str
    collection: str
    deep: bool

    @property
    def collections(self) -> tuple[str, ...]:
        """As filters have it."""
        return (self.collection,) if self.collection else ()


def model_names(kb: KnowledgeBase) -> list[str]:
    """Every model: all material or one collection, asked or researched.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    held = kb.catalogue.collection_names()
    return [
        *(ASK, RESEARCH),
        *(f"{ASK}/{name}" for name in held),
        *(f"{RESEARCH}/{name}" for name in held),
    ]


def named_model(kb: KnowledgeBase, name: str) -> NamedModel:
    """What ``name`` stands for.

    Raises:
        ProblemError: no model is called so.
        StoreError: the catalogue cannot be read.
    """
    known = model_names(kb)
    if name not in known:
        raise ProblemError(_unknown(name, known))
    how, _, collection = name.partition("/")
    return NamedModel(name=name, collection=collection, deep=how == RESEARCH)


def _unknown(name: str, known: Sequence[str]) -> Problem:
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    return Problem(
        error="model_not_found",
        detail=f"The model {name!r} does not exist.",
        hint=f"There are: {', '.join(known[:MOST_NAMED])}{more}.",
        status=HTTPStatus.NOT_FOUND,
        param="model",
    )


MOST_CHOICES = 1
TEXTS = ("text", "refusal")  # types of parts that hold words
SPOKEN = ("user", "assistant")

Role = Literal["system", "developer", "user", "assistant", "tool", "function"]


class _Sent(BaseModel):
    # Programs send many fields; those that are not known are told to be without effect.
    model_config = ConfigDict(extra="allow")


class ContentPart(_Sent):
    """A part of a message."""

    type: str
    text: str | None = None
    refusal: str | None = None


class ChatMessage(_Sent):
    """A message of a conversation."""

    role: Role
    content: str | list[ContentPart] | None = None


class StreamOptions(_Sent):
    """``include_usage``: a last chunk with the tokens of language models."""

    include_usage: bool | None = None


class CompletionRequest(_Sent):
    """``POST /v1/chat/completions``; docs/programs.md says what each further field does."""

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    store: bool | None = None
    n: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What is asked, after which turns; ``ignored`` names what was sent without effect."""

    question: str
    history: tuple[EarlierTurn, ...]
    ignored: tuple[str, ...]


HONOURED = frozenset(CompletionRequest.model_fields)


def chat_conversation(request: CompletionRequest) -> Conversation:
    """The question of a chat completion and the turns before it.

    Raises:
        ProblemError: a field that cannot be served, or no question at the end.
    """
    sent = _given(request)
    if request.n not in (None, MOST_CHOICES):
        raise refused(
            "n", f"n is {request.n}, but there is one answer to a question.", "Leave n out."
        )
    _refuse_fields(sent)
    told = [
        _Told(f"messages[{place}]", one.role, _words(f"messages[{place}]", one.role, one.content))
        for place, one in enumerate(request.messages)
    ]
    return _conversation(told, sent)


def refused(
    param: str, detail: str, hint: str = "", *, code: str = "unsupported_value"
) -> ProblemError:
    """The error that ends a request whose field ``param`` cannot be served."""
    return ProblemError(
        Problem(error=code, detail=detail, hint=hint, status=HTTPStatus.BAD_REQUEST, param=param)
    )


@dataclass(frozen=True, slots=True)
class _Told:
    where: str
    role: Role
    text: str


def _given(request: CompletionRequest) -> Mapping[str, Any]:
    """The fields that were sent and are not null."""
    whole = {name: getattr(request, name) for name in request.model_fields_set}
    whole |= request.model_extra or {}
    return {name: value for name, value in whole.items() if value is not None}


def _refuse_fields(sent: Mapping[str, Any]) -> None:
    """Refuse what would have the answer be something else than text with its proof."""
    choice = sent.get("tool_choice", sent.get("function_call", "auto"))
    if choice not in ("auto", "none"):
        raise refused(
            "tool_choice",
            "No tool is ever called: answers come from the material alone.",
            "Leave tool_choice out; tools that are offered are not used.",
        )
    form = sent.get("response_format")
    if form and (not isinstance(form, dict) or form.get("type") != "text"):
        raise refused(
            "response_format",
            "An answer is Markdown with its proof, and cannot be made to fit a JSON format.",
            "Leave it out; the field wellread of the reply has the answer as JSON.",
        )
    if sent.get("logprobs") or sent.get("top_logprobs"):
        raise refused("logprobs", "There are no probabilities of tokens.", "Leave logprobs out.")
    if "audio" in (sent.get("modalities") or ()):
        raise refused("modalities", "Answers are text; there is no audio.", 'Ask for ["text"].')


def _words(where: str, role: Role, content: str | Sequence[ContentPart] | None) -> str:
    """The text of a message of the user or the assistant.

    Raises:
        ProblemError: a part of the user's is no text.
    """
    if role not in SPOKEN or content is None:
        return ""
    if isinstance(content, str):
        return content
    for place, part in enumerate(content):
        if part.type not in TEXTS and role == "user":
            raise refused(
                f"{where}.content[{place}]",
                f"A question is text; {part.type} cannot be read here.",
                "Add the file to the knowledge base (wellread add), then ask about it.",
            )
    return "\n".join(part.text or part.refusal or "" for part in content if part.type in TEXTS)


def _conversation(told: Sequence[_Told], sent: Mapping[str, Any]) -> Conversation:
    spoken = [one for one in told if one.role in SPOKEN]
    silent = [f"{one.where} ({one.role})" for one in told if one.role not in SPOKEN]
    while spoken and spoken[-1].role == "assistant" and not spoken[-1].text.strip():
        spoken.pop()
    if not spoken or spoken[-1].role != "user" or not spoken[-1].text.strip():
        raise refused(
            "messages",
            "The last message is not a question of the user.",
            "End with a message of the role user that holds text.",
            code="invalid_value",
        )
    return Conversation(
        question=spoken[-1].text.strip(),
        history=tuple(_turns(spoken[:-1])),
        ignored=(*silent, *sorted(set(sent) - HONOURED)),
    )


def _turns(spoken: Sequence[_Told]) -> Iterable[EarlierTurn]:
    """Questions with what was answered; a question without an answer is a turn too."""
    asked: str | None = None
    said: list[str] = []
    for one in spoken:
        if one.role == "user":
            if asked is not None:
                yield earlier_turn(asked, "\n\n".join(said))
            asked, said = one.text.strip(), []
        elif asked is not None:
            said.append(one.text)
    if asked is not None:
        yield earlier_turn(asked, "\n\n".join(said))
