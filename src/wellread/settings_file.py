"""Reads the settings of a home and writes one of them.

In order of precedence, values come from arguments, ``WELLREAD_<SECTION>_<NAME>``, the short
``QA_*`` aliases, ``wellread.yaml`` in the home, and the defaults. They are read once and frozen.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from wellread.config import ALIASES, HOME_VARIABLE, PREFIX, SETTINGS_FILE, Settings, settings_table
from wellread.errors import SettingsError, did_you_mean, invalid_value

logger = logging.getLogger(__name__)


def load_settings(
    home: Path,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Read the settings of ``home``."""
    environ = os.environ if environ is None else environ
    values = _from_file(home / SETTINGS_FILE)
    for source in (_from_environment(environ), overrides or {}):
        for section, names in source.items():
            values.setdefault(section, {}).update(names)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            raise unknown_setting(name) from error
        hint = "docs/settings.md lists every setting"
        raise SettingsError(f"the setting {invalid_value(problem, name)}", hint=hint) from error


def unknown_setting(name: str) -> SettingsError:
    """Return the error for a name that no setting has; it suggests similar ones."""
    names = [*(row.name for row in settings_table()), *Settings.model_fields]
    hint = did_you_mean(name, names, "'wellread settings' lists them")
    return SettingsError(f"there is no setting {name!r}", hint=hint)


def sources_of_settings(home: Path) -> dict[str, str]:
    """Return where the value of each setting comes from, unless it is the default."""
    of_file = _from_file(home / SETTINGS_FILE).items()
    found = {f"{part}.{name}": SETTINGS_FILE for part, names in of_file for name in names}
    variables = {row.variable: row.name for row in settings_table()}
    variables = {alias: ".".join(parts) for alias, parts in ALIASES.items()} | variables
    return found | {
        name: variable for variable, name in variables.items() if os.environ.get(variable)
    }


def write_setting(home: Path, name: str, value: str) -> None:
    """Write one value to the settings file of ``home``, and keep the rest of the file."""
    section, _, key = name.partition(".")
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise SettingsError(f"{value!r} cannot be read as a value: {error}") from error
    load_settings(home, {section: {key: parsed}}, {})
    path = home / SETTINGS_FILE
    expected = _from_file(path)
    expected.setdefault(section, {})[key] = parsed
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    line = f"  {key}: {yaml.safe_dump(parsed, default_flow_style=True).partition(chr(10))[0]}\n"
    head = rf"^{re.escape(section)}:[ \t]*(?:#.*)?\n"
    existing = re.search(
        rf"{head}(?:(?:[ \t]+.*)?\n)*?(?P<line>[ \t]+{re.escape(key)}:.*\n?)", text, re.M
    )
    heading = re.search(head, text, re.M)
    if existing:
        text = text[: existing.start("line")] + line + text[existing.end("line") :]
    elif heading:
        text = text[: heading.end()] + line + text[heading.end() :]
    else:
        text += ("" if not text or text.endswith("\n") else "\n") + f"{section}:\n{line}"
    home.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(text, encoding="utf-8")
    if _from_file(draft) != expected:
        draft.unlink()
        raise SettingsError(f"{path} cannot be edited line by line", hint="change it by hand")
    draft.replace(path)


def _from_file(path: Path) -> dict[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    try:
        loaded = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2024-13-45
        raise SettingsError(f"{path} is not YAML: {error}") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict) or not all(isinstance(item, dict) for item in loaded.values()):
        raise SettingsError(f"{path} must contain sections with names and values")
    return _flat({str(section): dict(names) for section, names in loaded.items()})


def _flat(sections: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Lift the sections that other tools' files keep under ``qa``, under the names of here."""
    nested = {name: part for name, part in sections.get("qa", {}).items() if isinstance(part, dict)}
    for section in nested:
        sections[section] = sections["qa"].pop(section) | sections.get(section, {})
    if "format" in (citations := sections.get("citations", {})):
        citations.setdefault("style", citations.pop("format"))
    if "rerank" in (retrieval := sections.get("retrieval", {})):
        reader = "trained" if retrieval.pop("rerank") else "lexical"
        sections.setdefault("reader", {}).setdefault("relevance", reader)
    return sections


def _from_environment(environ: Mapping[str, str]) -> dict[str, dict[str, str]]:
    sections: dict[str, dict[str, str]] = {}
    variables = [(row.variable, tuple(row.name.split("."))) for row in settings_table()]
    for variable, (section, name) in [*ALIASES.items(), *variables]:
        if environ.get(variable):
            sections.setdefault(section, {})[name] = environ[variable]
    _warn_of_unknown(frozenset(name for name in environ if name.startswith(PREFIX)))
    return sections


@cache
def _warn_of_unknown(variables: frozenset[str]) -> None:
    """Warn once of variables that resemble those of settings; others may belong to a program."""
    known = {HOME_VARIABLE, *(row.variable for row in settings_table())}
    for variable in sorted(variables - known):
        if question := did_you_mean(variable, known, prefix=PREFIX):
            logger.warning("%s is not a setting: %s", variable, question)
