"""The tools that a model may call in research, and what each takes.

Arguments are JSON by a stranger, so they are checked as those of the API are: by pydantic, with
nothing that is not named here. No tool takes a collection or another limit of the question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from wellread.codec import storable
from wellread.models.base import Tool, ToolCall
from wellread.text.periods import expressions_of

MOST_RESULTS = 12
LONGEST_REASON = 300
_CLOCK = re.compile(r"(?:(?:(\d{1,2}):)?(\d{1,3}):)?(\d{1,6})(?:\.\d+)?")
_FACET = "id of the facet that it is for, or a short name for a new one"


def _a_time(text: str) -> str:
    if text and _period_of(text) is None:
        raise ValueError("not a date; write 2025, 2025-10 or 2025-10-14")
    return text


def _a_place(text: str) -> str:
    if text and _CLOCK.fullmatch(text) is None:
        raise ValueError("not a time in a recording; write seconds, MM:SS or H:MM:SS")
    return text


Name = Annotated[str, Field(min_length=1, max_length=300)]
Words = Annotated[str, Field(max_length=400)]
Day = Annotated[str, Field(max_length=40), AfterValidator(_a_time)]
Moment = Annotated[str, Field(max_length=20), AfterValidator(_a_place)]
Count = Annotated[int, Field(ge=1, le=MOST_RESULTS)]


class Arguments(BaseModel):
    """What every tool takes."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, str_strip_whitespace=True, validate_default=True
    )
    facet: str = Field(default="", max_length=120, description=_FACET)


class Search(Arguments):
    """Search all of the material for passages about something."""

    query: Annotated[str, Field(min_length=1, max_length=400)]
    limit: Count = 6


class SearchDocument(Arguments):
    """Search inside one document, named by its key (d3), id or title."""

    document: Name
    query: Annotated[str, Field(min_length=1, max_length=400)]
    limit: Count = 6


class SearchSpeaker(Arguments):
    """What one person says in transcripts: about the query, or the newest without one."""

    name: Name
    query: Words = ""
    limit: Count = 6


class SearchDates(Arguments):
    """What was published from one day to another: about the query, or the newest without one."""

    start: Day = Field(default="", description="2025, 2025-10 or 2025-10-14; inclusive")
    end: Day = Field(default="", description="2025, 2025-10 or 2025-10-14; inclusive")
    query: Words = ""
    limit: Count = 6


class LookUpEntity(Arguments):
    """What is known of a person, organisation, place or thing: relations, and who names it."""

    name: Name


class ReadTranscript(Arguments):
    """A transcript by its key (d3), id or title: all of it, one speaker's turns, or some time."""

    document: Name
    speaker: Annotated[str, Field(max_length=300)] = ""
    start: Moment = Field(default="", description="seconds, MM:SS or H:MM:SS")
    end: Moment = Field(default="", description="seconds, MM:SS or H:MM:SS")


class ReadAround(Arguments):
    """The passages before and after one that was shown, named by its key (p7)."""

    passage: Name
    before: Annotated[int, Field(ge=0, le=5)] = 2
    after: Annotated[int, Field(ge=0, le=5)] = 2


class ListRecordings(Arguments):
    """The recordings and transcripts that there are, the newest first."""

    limit: Annotated[int, Field(ge=1, le=40)] = 20
    offset: Annotated[int, Field(ge=0, le=100_000)] = 0


class ReadTimeline(Arguments):
    """How a topic, an entity or a story went on over time."""

    name: Name
    start: Day = Field(default="", description="2025, 2025-10 or 2025-10-14; inclusive")
    end: Day = Field(default="", description="2025, 2025-10 or 2025-10-14; inclusive")
    limit: Count = MOST_RESULTS


TAKEN: Mapping[str, type[Arguments]] = {
    "search": Search,
    "search_document": SearchDocument,
    "search_speaker": SearchSpeaker,
    "search_dates": SearchDates,
    "look_up_entity": LookUpEntity,
    "read_transcript": ReadTranscript,
    "read_around": ReadAround,
    "list_recordings": ListRecordings,
    "read_timeline": ReadTimeline,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A call as a model made it; ``line``: all of it as it was written.

    Attributes:
        wrong: why it cannot be read; empty when it can.
    """

    name: str
    line: str
    arguments: Mapping[str, Any]
    wrong: str = ""


def tools() -> tuple[Tool, ...]:
    """The tools as a model is offered them."""
    return tuple(
        Tool(
            name=name, description=" ".join((kind.__doc__ or "").split()), parameters=_schema(kind)
        )
        for name, kind in TAKEN.items()
    )


def asked_by(call: ToolCall) -> Asked:
    """A call of a model that takes tools; arguments that are null count as not given."""
    line = f"{call.name} {call.arguments}"
    try:
        read = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        wrong = f"the arguments are not JSON: {error}"[:LONGEST_REASON]
        return Asked(name=call.name, line=line, arguments={}, wrong=wrong)
    if not isinstance(read, dict):
        wrong = "the arguments are not a JSON object"
        return Asked(name=call.name, line=line, arguments={}, wrong=wrong)
    given = {str(key): value for key, value in read.items() if value is not None}
    return Asked(name=call.name, line=line, arguments=given)


def read_arguments(asked: Asked) -> Arguments:
    """The arguments, checked.

    Raises:
        ValueError: there is no such tool, or it does not take these; the message says what to do.
    """
    if asked.wrong:
        raise ValueError(asked.wrong)
    kind = TAKEN.get(asked.name)
    if kind is None:
        raise ValueError(f"there is no tool {asked.name[:40]!r}; there are: {', '.join(TAKEN)}")
    try:
        return kind.model_validate(storable(dict(asked.arguments)))
    except ValidationError as error:
        # What was given may be anything, so it is not said again.
        told = [
            f"{'.'.join(map(str, one['loc']))[:40]}: {one['msg']}"
            for one in error.errors(include_url=False, include_input=False)
        ]
        raise ValueError("; ".join(told)[:LONGEST_REASON]) from error


def moments(start: str, end: str) -> tuple[datetime | None, datetime | None]:
    """The first moment of ``start`` and the last of ``end``; None for what is not given."""
    first, last = _period_of(start), _period_of(end)
    return (
        datetime.combine(first[0], time.min, UTC) if first else None,
        datetime.combine(last[1], time.max, UTC) if last else None,
    )


def seconds(place: str) -> float | None:
    """The seconds that a place in a recording stands for; None for none."""
    found = _CLOCK.fullmatch(place)
    if found is None:
        return None
    return int(found[1] or 0) * 3600 + int(found[2] or 0) * 60 + int(found[3])


def _period_of(text: str) -> tuple[date, date] | None:
    found = expressions_of(text, datetime.now(UTC).date())
    whole = [one for one in found if one.start == 0 and one.end == len(text)]
    return (whole[0].period.first, whole[0].period.last) if whole else None


def _schema(kind: type[Arguments]) -> dict[str, Any]:
    """The JSON schema without titles, which say nothing that the names do not."""
    made = kind.model_json_schema()
    fields = {
        name: {key: value for key, value in field.items() if key != "title"}
        for name, field in made["properties"].items()
    }
    return {
        "type": "object",
        "properties": fields,
        "required": made.get("required", []),
        "additionalProperties": False,
    }
