"""Loads prompt templates, and fences untrusted text inside a prompt."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from wellread.identity import tagged_hash
from wellread.text.characters import visible

FENCE_CHARACTERS = 12


def fence_of(*parts: str) -> str:
    """Return a marker that no source can predict: a hash of the whole prompt."""
    return tagged_hash("fence", *parts).rpartition("_")[2][:FENCE_CHARACTERS]


def fenced(text: str, fence: str) -> str:
    """Remove hidden characters and any copy of the fence from ``text``."""
    return re.sub(re.escape(fence), "…", visible(text), flags=re.IGNORECASE).strip()


@cache
def template(name: str, package: str) -> Template:
    """Load the template ``name`` from the folder ``prompts`` of a package."""
    environment = Environment(
        loader=PackageLoader(package, "prompts"),
        autoescape=False,  # noqa: S701 - the result is read by a model, not by a browser
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
