"""The OpenSearch cluster that ``WELLREAD_TEST_OPENSEARCH`` names, for tests that need a real one.

As in ``http://127.0.0.1:9200,http://127.0.0.1:9201``; indexes are made and dropped in it.
"""

from __future__ import annotations

import os

from wellread.store.base import ServiceAddress

CLUSTER = os.environ.get("WELLREAD_TEST_OPENSEARCH", "")


def place_of(base: str, options: str = "", own: str = "b1") -> ServiceAddress:
    """The address of what is kept there under a first part of names, by the base ``own``."""
    hosts = ",".join(one.partition("://")[2] for one in CLUSTER.split(","))
    return ServiceAddress(url=f"opensearch+http://{hosts}/{base}?{options}", base=own)


def drop_all(base: str) -> None:
    """Drop everything whose name begins with ``base``."""
    # Here, as the client is an extra, and most who import this module name no cluster.
    from wellread.store.index.opensearch.cluster import cluster_of, read_address
    from wellread.store.index.opensearch.index_copies import drop

    cluster = cluster_of(read_address(place_of(base)))
    drop(cluster, cluster.run("list", lambda client: client.indices.get(index=f"{base}*")))
