"""How an index of passages is made in a cluster, and what a row is in it.

Words are cut, folded and stemmed as LanceDB does it, in that order, so that both back ends give a
passage the same score: split at what is no letter or digit, words of 40 and more left out, lower
case, the Snowball stemmer of English, and only then LanceDB's stop words and the accents
(``benchmarks.search_clusters`` compares the two). ``key`` holds what a candidate tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from wellread.store.base import Fingerprint, IndexRow
from wellread.store.index.opensearch.cluster_address import ClusterAddress
from wellread.store.row_values import Floats, edition, folded, pack, searched, utc

TEXT, VECTOR, ID, KEY, EDITION = "search_text", "vector", "passage_id", "key", "edition"
FILTERED = ("document_id", "edition", "collection", "kind", "source_type", "language")
LISTS = ("authors", "speakers", "taxonomy")
COPIED = ("collection", "kind", "source_type", "language")
SPACE = "innerproduct"  # of unit vectors; the space of cosines refuses a vector of zeros
MOST_RESULTS = 20_000  # of one search
TIE_SLACK = 16
LONGEST_WORD = 39
DIGITS = 8  # of a vector's numbers, behind the point: what float32 holds of a unit vector
MICROSECONDS = 1_000_000
# What LanceDB leaves out, as it stands after stemming ("being" is "be" by then, and goes too).
STOPPED = """
    a about after again against ain all am an and are aren as at be been being below between both
    but by can couldn d did didn do doesn doing don down each few for from further had hadn has
    hasn have haven having he her here hers herself him himself his how i if in into is isn it its
    itself just ll m ma me mightn more most mustn my myself needn no nor not now o of off on or
    other our ours out over own re s same shan she should shouldn so some such t than that the
    their theirs them then there these they this those through to too under until up ve was wasn we
    were weren what when where which while who whom will with won wouldn y you your yours yourself
""".split()


def settings(address: ClusterAddress, **more: Any) -> dict[str, Any]:
    """The settings of a new index."""
    copies: dict[str, Any] = (
        {"auto_expand_replicas": "0-1"}
        if address.replicas is None
        else {"number_of_replicas": address.replicas}
    )
    return {
        "index": {
            "knn": True,
            "number_of_shards": address.shards,
            # Every write refreshes when it is done; this is for what broke off.
            "refresh_interval": "30s",
            "max_result_window": MOST_RESULTS + TIE_SLACK,
            **copies,
            **more,
        },
        "analysis": {
            "analyzer": {
                "words": {
                    "type": "custom",
                    "tokenizer": "words",
                    "filter": ["short", "lowercase", "stems", "stopped", "asciifolding"],
                }
            },
            "tokenizer": {
                "words": {"type": "pattern", "pattern": "[^\\p{IsAlphabetic}\\p{N}]+"},
            },
            "filter": {
                "short": {"type": "length", "max": LONGEST_WORD},
                "stems": {"type": "stemmer", "language": "porter2"},
                "stopped": {"type": "stop", "stopwords": STOPPED},
            },
        },
    }


def mapping(fingerprint: Fingerprint, **meta: Any) -> dict[str, Any]:
    """The fields of a new index; ``meta`` is kept beside them."""
    word = {"type": "keyword", "doc_values": False}
    return {
        "dynamic": "strict",
        "_meta": meta,
        "properties": {
            ID: {"type": "keyword"},  # ``_id`` cannot be sorted by
            KEY: {"type": "keyword", "index": False},
            TEXT: {"type": "text", "analyzer": "words", "index_options": "freqs"},
            **dict.fromkeys((*FILTERED, *LISTS), word),
            "published_at": {"type": "long"},  # microseconds; dates have thousandths
            VECTOR: {
                "type": "knn_vector",
                "dimension": fingerprint.dimensions,
                "method": {
                    "name": "hnsw",
                    "engine": "lucene",  # filters while it searches, and is in every distribution
                    "space_type": SPACE,
                    "parameters": {"m": 16, "ef_construction": 100},
                },
            },
        },
    }


def to_document(row: IndexRow, vector: Floats | None) -> dict[str, Any]:
    """A row as it is written."""
    made: dict[str, Any] = {
        ID: row.passage_id,
        KEY: pack(row),
        TEXT: searched(row),
        "document_id": row.document_id,
        EDITION: edition(row.document_id, row.version),
        **{name: getattr(row, name) for name in COPIED},
        "authors": folded(row.authors),
        "speakers": folded(row.speakers),
        "taxonomy": list(row.taxonomy),
    }
    if row.published_at is not None:
        made["published_at"] = microseconds(row.published_at)
    if vector is not None:
        made[VECTOR] = numbers(vector)
    return {name: _clean(value) for name, value in made.items()}


def numbers(vector: Floats) -> list[float]:
    """A unit vector as it is sent: half as long as Python writes its numbers."""
    rounded: list[float] = np.round(vector.astype(np.float64), DIGITS).tolist()
    return rounded


def microseconds(moment: datetime) -> int:
    """Since 1970, in UTC."""
    past = utc(moment) - utc(datetime(1970, 1, 1))
    return (past.days * 86_400 + past.seconds) * MICROSECONDS + past.microseconds


def clean(text: str) -> str:
    """``text`` without half characters, which no JSON can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Sequence) and value and isinstance(value[0], str):
        return [clean(one) for one in value]
    return value
