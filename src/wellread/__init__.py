"""Wellread answers questions from your own material and proves each sentence of the answer.

``Wellread`` is the Python interface. It is loaded on first use, so that importing the package
stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wellread.errors import WellreadError
    from wellread.facade import Wellread
    from wellread.types import Filters
    from wellread.values.answers import Answer

__all__ = ["Answer", "Filters", "Wellread", "WellreadError"]

_MODULES = {
    "Answer": "wellread.values.answers",
    "Filters": "wellread.types",
    "Wellread": "wellread.facade",
    "WellreadError": "wellread.errors",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
