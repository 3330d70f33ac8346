"""Search index back ends, embedded LanceDB and OpenSearch; each is imported on first use."""

from __future__ import annotations

from typing import Any

from wellread import plugins
from wellread.config import LANCEDB
from wellread.errors import StoreError
from wellread.store.base import IndexBackend

EMBEDDED = LANCEDB  # the default back end, in a folder of the home
OPENSEARCH = "opensearch"


def backend_of(name: str) -> IndexBackend[Any]:
    """Return the back end of that name, built in or added by a package."""
    built_in = {LANCEDB: _lancedb, OPENSEARCH: _opensearch}
    return plugins.find(plugins.INDEXES, name, built_in, "index.backend")


def _lancedb() -> IndexBackend[Any]:
    from wellread.store.index.lance import LanceIndex  # noqa: PLC0415 - heavy

    return LanceIndex


def _opensearch() -> IndexBackend[Any]:
    try:
        from wellread.store.index.opensearch.passage_index import (  # noqa: PLC0415 - an extra
            OpenSearchIndex,
        )
    except ModuleNotFoundError as missing:
        raise StoreError(
            f"an index in OpenSearch needs a package that is not installed: {missing.name}",
            hint='pip install "wellread[opensearch]"',
        ) from missing
    return OpenSearchIndex
