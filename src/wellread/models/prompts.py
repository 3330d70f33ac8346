"""Prompts: templates in the folders ``prompts`` of packages, and the fence around data."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from wellread.identity import tagged_hash
from wellread.text.words import visible

FENCE_CHARACTERS = 12


def fence_of(*parts: str) -> str:
    """What no source can know beforehand: a hash of everything that the prompt holds."""
    return tagged_hash("fence", *parts).rpartition("_")[2][:FENCE_CHARACTERS]


def fenced(text: str, fence: str) -> str:
    """``text`` without hidden characters and without the fence, should it stand there after all."""
    return re.sub(re.escape(fence), "…", visible(text), flags=re.IGNORECASE).strip()


@cache
def template(name: str, package: str) -> Template:
    """The prompt in the file ``name`` among the ``prompts`` of a package."""
    environment = Environment(
        loader=PackageLoader(package, "prompts"),
        autoescape=False,  # noqa: S701 - the result is read by a model, not by a browser
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
