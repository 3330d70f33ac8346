"""A real small model, served by llama.cpp on this machine (extra package ``xllamacpp``)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serving(path: Path, *, tokens: int = 4096) -> Iterator[str]:
    """The base URL of a running model.

    Args:
        path: its file (GGUF).
        tokens: of its window.
    """
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = str(path)
    params.n_ctx = tokens
    params.n_parallel = 1
    params.port = 0
    params.sampling.seed = 7
    server = llama.Server(params)
    yield f"{server.listening_address}/v1"
    del server
