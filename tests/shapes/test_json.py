from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.serve.views import View
from wellread.values.answers import VerdictName


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part.

    Attributes:
        begins_at: where it begins,
            in characters.
    """

    begins_at: int
    share: float
    verdict: VerdictName = VerdictName.QUOTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A whole, with its parts."""

    id: str
    owner: str
    made_at: datetime
    day: date | None = None
    parts: tuple[Part, ...] = ()
    facts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    first: Part | None = None

    @property
    def count(self) -> int:
        """How many parts it has."""
        return len(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Holds a whole."""

    whole: Whole
    note: str


def view(*, camel: bool = True) -> View:
    made = View(camel=camel, lines={})
    made.show(Part)
    made.show(Whole, "* -owner count link", link=(str, lambda whole: f"/{whole.id}"))
    made.show(Holder, "name=note *whole")
    return made


parts = st.builds(
    Part,
    begins_at=st.integers(0, 2**53),
    share=st.integers(0, 9) | st.floats(allow_nan=False, allow_infinity=False),
    verdict=st.sampled_from(VerdictName),
)
wholes = st.builds(
    Whole,
    id=st.text(),
    owner=st.just("somebody"),
    made_at=st.datetimes(timezones=st.just(UTC)),
    day=st.none() | st.dates(),
    parts=st.lists(parts).map(tuple),
    facts=st.dictionaries(st.text(), st.lists(st.text()).map(tuple)),
    first=st.none() | parts,
)


@given(wholes, st.text(), st.booleans())
def test_what_goes_out_fits_its_schema_and_hides_what_it_should(
    whole: Whole, note: str, camel: bool
) -> None:
    made = view(camel=camel)
    told = made.json(Holder(whole=whole, note=note))
    schema = made.model(Holder)
    assert list(told) == list(schema.model_fields)
    back = schema.model_validate_json(json.dumps(told))
    assert json.loads(back.model_dump_json()) == json.loads(json.dumps(told))
    assert "owner" not in told
    assert ("madeAt" in told) is camel
    assert all(type(one["share"]) is float for one in told["parts"])


@given(wholes)
def test_a_template_sees_the_same_by_the_values_own_names(whole: Whole) -> None:
    seen: Any = view().wrap(Holder(whole=whole, note="n"))
    assert (seen.name, seen.made_at, seen.count) == ("n", whole.made_at, len(whole.parts))
    assert tuple(one.begins_at for one in seen.parts) == tuple(p.begins_at for p in whole.parts)
    assert not hasattr(seen, "owner")


def test_a_description_is_the_line_of_the_docstring() -> None:
    schema = view().model(Part).model_json_schema()
    assert schema["description"].startswith("A part.")
    assert schema["properties"]["beginsAt"]["description"] == "where it begins, in characters."


def test_what_is_optional_is_left_out_where_it_is_none() -> None:
    made = View(camel=True, lines={})
    made.show(Part)
    made.show(Whole, "id ?first")
    whole = Whole(id="w", owner="o", made_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert made.json(whole) == {"id": "w"}
    first = Part(begins_at=1, share=0.0)
    assert made.json(replace(whole, first=first))["first"]["beginsAt"] == 1
    assert made.model(Whole).model_json_schema()["required"] == ["id"]


@pytest.mark.parametrize("bad", ["\x1b[31m", "\u202e", "\u200b"])
def test_nothing_that_drives_a_screen_goes_out(bad: str) -> None:
    told = view().json({f"a{bad}": (f"x{bad}",)})
    assert bad[0] not in json.dumps(told, ensure_ascii=False)


def test_what_no_view_names_is_shown_nowhere() -> None:
    with pytest.raises(TypeError, match="Holder cannot be shown"):
        View(camel=True, lines={}).json(Holder(note="", whole=None))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a object cannot be shown"):
        view().json([object()])


def test_a_kind_is_declared_once_and_its_line_names_what_is_computed() -> None:
    made = view()
    with pytest.raises(ValueError, match="already has a line"):
        made.show(Part)
    with pytest.raises(ValueError, match="does not name link"):
        View(camel=True, lines={}).show(Part, "*", link=(str, str))
