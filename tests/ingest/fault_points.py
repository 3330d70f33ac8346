"""Places in the order of writes at which a child process of a test kills itself."""

import os
import signal
from collections.abc import Callable
from typing import Any

from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.reindexing import Reindexing
from wellread.store.index.lance import LanceIndex

ADDING = {
    "intend": (Catalogue, "intend"),
    "index": (LanceIndex, "write"),
    "commit": (Catalogue, "commit"),
    "settle": (Catalogue, "settle"),
    "vectors": (LanceIndex, "set_vectors"),
}
REINDEXING = {
    "begin": (Reindexing, "begin"),
    "intend": (Reindexing, "intend"),
    "index": (LanceIndex, "write"),
    "switch": (Reindexing, "switch"),
}


def strike(points: dict[str, tuple[type, str]], point: str, times: int) -> None:
    """Let this process be killed right after ``point`` was passed so many times; empty: never."""
    if not point:
        return
    owner, name = points[point]
    real: Callable[..., Any] = getattr(owner, name)
    passed: list[None] = []

    def struck(*given: Any, **named: Any) -> Any:
        result = real(*given, **named)
        passed.append(None)
        if len(passed) == times:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, struck)
