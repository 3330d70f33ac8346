"""Every setting with its value and where that comes from; nothing is changed here."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from wellread.config import settings_origins, settings_table
from wellread.serve.api.queries import StrictModel
from wellread.serve.features.bodies import PlainBody
from wellread.serve.guards.asking_rights import WholeKb
from wellread.serve.web.rendering import PageFormat, shown

router = APIRouter(include_in_schema=False)


class SettingsQuery(StrictModel, PageFormat):
    """Which settings: those whose name or help has these letters."""

    query: str = ""


class SettingBody(PlainBody):
    """A setting; ``origin`` is ``default``, the settings file or the name of a variable."""

    name: str
    value: str
    default: str
    variable: str
    origin: str
    changed: bool
    help: str


class SettingsPageBody(PlainBody):
    """The settings of the home that is served."""

    home: str
    settings: tuple[SettingBody, ...]


@router.get("/settings")
def settings(kb: WholeKb, request: Request, asked: Annotated[SettingsQuery, Query()]) -> Response:
    """Every setting, its value in this server, and where that comes from."""
    values = kb.settings.model_dump()
    origins = settings_origins(kb.home)
    wanted = asked.query.casefold()
    rows = []
    for row in settings_table():
        section, _, name = row.name.partition(".")
        value = values[section][name]
        if wanted not in f"{row.name} {row.help}".casefold():
            continue
        rows.append(
            SettingBody(
                name=row.name,
                value=_told(value),
                default=_told(row.default),
                variable=row.variable,
                origin=origins[row.name],
                changed=value != row.default,
                help=row.help,
            )
        )
    body = SettingsPageBody(home=str(kb.home), settings=tuple(rows))
    return shown(request, "settings.html", body, asked=asked)


def _told(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
