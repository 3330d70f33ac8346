"""Imports LanceDB in half the time, and set up; import this module before any other part of it.

LanceDB's embedded tables never speak to its remote service, yet importing it loads that service's
generated client: hundreds of pydantic models and validated functions, whose validators take most
of a second to build. While it is imported here, both are built on first use instead - the same
validators, later. Measured on 2 vCPU: 1.69 s of processor time before, 1.01 s after.

It has to be told on import how much to log (warnings of its clustering say nothing to a user), and
before it starts its threads how memory is shared out: glibc gives every thread that allocates an
arena of its own, up to eight a core, and an arena does not give back what lies below its newest
block. Adding 40 MB of files then peaks at 1,045-1,136 MiB; with two arenas at 823 MiB, in the
same time (2 vCPU, ``benchmarks.large``).
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pydantic

M_ARENA_MAX = -8  # of <malloc.h>
ARENAS = 2


def _validated_on_first_call(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Stands in for ``pydantic.validate_call``."""
    if function is None:
        return functools.partial(_validated_on_first_call, **options)
    validated: list[Callable[..., Any]] = []

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if not validated:
            validated.append(_validate_call(function, **options))
        return validated[0](*args, **named)

    return call


_validate_call: Callable[..., Any] = pydantic.validate_call


@contextmanager
def _built_on_first_use() -> Iterator[None]:
    config = pydantic.BaseModel.model_config
    pydantic.BaseModel.model_config = {**config, "defer_build": True}
    vars(pydantic)["validate_call"] = _validated_on_first_call
    try:
        yield
    finally:
        vars(pydantic)["validate_call"] = _validate_call
        pydantic.BaseModel.model_config = config


def bound_arenas() -> bool:
    """Bound the arenas of this process, unless ``MALLOC_ARENA_MAX`` says how many; whether done.

    It has to be called before the threads start. Other C libraries are left as they are.
    """
    if "MALLOC_ARENA_MAX" in os.environ or platform.libc_ver()[0] != "glibc":
        return False
    return bool(ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS))


os.environ.setdefault("LANCEDB_LOG", "error")
bound_arenas()
with _built_on_first_use():
    import lancedb  # noqa: F401
