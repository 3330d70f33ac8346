"""Texts without capitals, in SQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import String
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class Folded(FunctionElement[str]):
    """A text without capitals, of any script; databases' own ``lower`` differ."""

    name = "folded"
    inherit_cache = True
    type = String()


@compiles(Folded)
def _folded(element: Folded, compiler: Any, **options: Any) -> str:
    return f"folded({compiler.process(element.clauses, **options)})"
