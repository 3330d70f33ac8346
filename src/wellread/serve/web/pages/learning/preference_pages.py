"""What the person who asks prefers: a form, and what was learned with why."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, BeforeValidator, ValidationError

from wellread.errors import RequestError
from wellread.serve.features.learning.preference_views import (
    PreferencesChange,
    change_preferences,
    preferences_body,
)
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.rendering import PageFormat, shown

router = APIRouter(include_in_schema=False)


def _split(given: object) -> object:
    """A text area holds several values, one a line."""
    text = given[0] if isinstance(given, list) and len(given) == 1 else given
    if not isinstance(text, str):
        return text
    return tuple(line.strip() for line in text.splitlines() if line.strip())


Lines = Annotated[tuple[str, ...], BeforeValidator(_split)]


@router.get("/preferences")
def preferences_page(kb: Kb, request: Request, _asked: Annotated[PageFormat, Query()]) -> Response:
    """The form with what is set."""
    body = preferences_body(kb, kb.asker.owner)
    return shown(request, "preferences.html", body, choices=limit_choices(kb))


class PreferencesForm(BaseModel):
    """The form as it is sent: a source a line."""

    preferred: Lines = ()
    lowered: Lines = ()
    muted: Lines = ()
    length: str = ""
    persona: str = ""
    collection: str = ""


@router.post("/preferences")
def keep(kb: Kb, form: Annotated[PreferencesForm, Form()]) -> Response:
    """Keep the whole form."""
    return _changed(kb, form.model_dump())


class LearnedForm(BaseModel):
    """The button that was pressed."""

    consent: str = ""
    revoke: Lines = ()
    restore: Lines = ()


@router.post("/preferences/learned")
def learned(kb: Kb, form: Annotated[LearnedForm, Form()]) -> Response:
    """Give or withdraw consent, or take back what was learned about a document."""
    change: dict[str, Any] = {"revoke": form.revoke, "restore": form.restore}
    if form.consent:
        change["consent"] = form.consent == "yes"
    return _changed(kb, change)


def _changed(kb: Kb, given: dict[str, Any]) -> Response:
    try:
        change = PreferencesChange.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise RequestError(f"{first['loc'][0]}: {first['msg']}") from error
    change_preferences(kb, kb.asker.owner, change)
    return RedirectResponse("/preferences", status_code=303)
