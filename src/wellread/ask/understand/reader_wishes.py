"""The preferences that hold for a question: read once, with the persona's file."""

from __future__ import annotations

import re
from dataclasses import replace

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wellread.answers import Question
from wellread.errors import SettingsError
from wellread.kb import KnowledgeBase
from wellread.questions import Length, Preferences

FOLDER = "personas"
NAME = re.compile(r"[\w-]{1,60}")


class Persona(BaseModel):
    """For whom answers are written: a file ``personas/NAME.yaml`` in the home."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default="", max_length=100)
    prompt: str = Field(default="", max_length=2_000)
    length: Length = ""


def personas(kb: KnowledgeBase) -> dict[str, Persona]:
    """Every persona of the home by the name of its file.

    Raises:
        SettingsError: a file is not YAML, or says something unknown.
    """
    files = sorted((kb.home / FOLDER).glob("*.yaml"))
    return {path.stem: _read(kb, path.stem) for path in files if NAME.fullmatch(path.stem)}


def preferences_for(kb: KnowledgeBase, owner: str) -> Preferences:
    """What holds for the questions of ``owner``, with the persona's wish and length.

    Raises:
        SettingsError: the file of the persona is gone or cannot be understood.
        StoreError: the catalogue cannot be read.
    """
    liked = kb.catalogue.preferences.of(owner).in_force
    if not liked.persona:
        return liked
    persona = _read(kb, liked.persona)
    return replace(liked, wish=persona.prompt, length=liked.length or persona.length)


def in_default_collection(question: Question, liked: Preferences) -> Question:
    """The question, limited to the default collection where it names none and no document."""
    limits = question.filters
    if not liked.collection or limits.collections or limits.document_ids:
        return question
    return replace(question, filters=replace(limits, collections=(liked.collection,)))


def _read(kb: KnowledgeBase, name: str) -> Persona:
    hint = f"put right {FOLDER}/{name}.yaml in the home, or choose another persona"
    if not NAME.fullmatch(name):
        raise SettingsError(f"{name!r} is no name of a persona", hint=hint)
    try:
        text = (kb.home / FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
        return Persona.model_validate(yaml.safe_load(text) or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        raise SettingsError(f"the persona {name!r} cannot be read: {error}", hint=hint) from error
