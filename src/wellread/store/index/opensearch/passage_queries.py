"""Builds the OpenSearch requests of a passage index: mapping, documents, searches, reading back.

Words are analysed exactly as in LanceDB, so that both back ends give a passage the same score:
split at characters other than letters and digits, words of 40 and more characters dropped, lower
case, the English Snowball stemmer, and only then LanceDB's stop words and accent folding
(``benchmarks.search_clusters`` compares the two). ``key`` packs the fields of a candidate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from wellread.store.base import Fingerprint, Floats, HeldRow, IndexRow
from wellread.store.index.opensearch.cluster import Cluster, ClusterAddress
from wellread.store.row_values import LISTS, accepted_values, index_fields, to_held_row, utc
from wellread.text.characters import with_words
from wellread.types import Filters

TEXT, VECTOR, ID, KEY, EDITION = "search_text", "vector", "passage_id", "key", "edition"
FILTERED = ("document_id", "edition", "collection", "kind", "source_type", "language")
SPACE = "innerproduct"  # vectors have unit length; the cosine space refuses a vector of zeros
MAX_RESULTS = 20_000  # rows returned by one search
TIE_SLACK = 16
MAX_WORD_CHARS = 39
DIGITS = 8  # decimals sent per number of a vector: the precision of float32 for a unit vector
# LanceDB's stop words, matched after stemming ("being" is "be" by then, and is dropped too).
STOPPED = """
    a about after again against ain all am an and are aren as at be been being below between both
    but by can couldn d did didn do doesn doing don down each few for from further had hadn has
    hasn have haven having he her here hers herself him himself his how i if in into is isn it its
    itself just ll m ma me mightn more most mustn my myself needn no nor not now o of off on or
    other our ours out over own re s same shan she should shouldn so some such t than that the
    their theirs them then there these they this those through to too under until up ve was wasn we
    were weren what when where which while who whom will with won wouldn y you your yours yourself
""".split()


def settings(address: ClusterAddress) -> dict[str, Any]:
    """Return the settings of a new index."""
    copies: dict[str, Any] = (
        {"auto_expand_replicas": "0-1"}
        if address.replicas is None
        else {"number_of_replicas": address.replicas}
    )
    return {
        "index": {
            "knn": True,
            "number_of_shards": address.shards,
            # Every write refreshes when it is done; this serves interrupted writes.
            "refresh_interval": "30s",
            "max_result_window": MAX_RESULTS + TIE_SLACK,
            **copies,
        },
        "analysis": {
            "analyzer": {
                "words": {
                    "type": "custom",
                    "tokenizer": "words",
                    "filter": ["short", "lowercase", "stems", "stopped", "asciifolding"],
                }
            },
            "tokenizer": {"words": {"type": "pattern", "pattern": "[^\\p{IsAlphabetic}\\p{N}]+"}},
            "filter": {
                "short": {"type": "length", "max": MAX_WORD_CHARS},
                "stems": {"type": "stemmer", "language": "porter2"},
                "stopped": {"type": "stop", "stopwords": STOPPED},
            },
        },
    }


def mapping(fingerprint: Fingerprint, **meta: Any) -> dict[str, Any]:
    """Return the mapping of a new index, with ``meta`` as its ``_meta``."""
    word = {"type": "keyword", "doc_values": False}
    return {
        "dynamic": "strict",
        "_meta": meta,
        "properties": {
            ID: {"type": "keyword"},  # ``_id`` cannot be sorted by
            KEY: {"type": "keyword", "index": False},
            TEXT: {"type": "text", "analyzer": "words", "index_options": "freqs"},
            **dict.fromkeys((*FILTERED, *LISTS), word),
            "published_at": {"type": "long"},  # microseconds; date fields store milliseconds
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
    """Convert a row to the document to store."""
    document = index_fields(row)
    if row.published_at is None:
        del document["published_at"]
    else:
        document["published_at"] = microseconds(row.published_at)
    if vector is not None:
        document[VECTOR] = numbers(vector)
    return {name: _clean(value) for name, value in document.items()}


def numbers(vector: Floats) -> list[float]:
    """Round a unit vector for sending, which halves its length as text."""
    rounded: list[float] = np.round(vector.astype(np.float64), DIGITS).tolist()
    return rounded


def microseconds(moment: datetime) -> int:
    """Convert a time to microseconds since 1970 (UTC)."""
    return (utc(moment) - utc(datetime(1970, 1, 1))) // timedelta(microseconds=1)


def clean(text: str) -> str:
    """Replace lone surrogates, which JSON cannot represent."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Sequence) and value and isinstance(value[0], str):
        return [clean(item) for item in value]
    return value


Query = dict[str, Any]
MAX_QUERY_WORDS = 1_000  # words searched of a question; a cluster accepts 1,024 clauses
HAS_VECTOR: Query = {"exists": {"field": VECTOR}}
KEY_ONLY: Query = {"_source": False, "stored_fields": "_none_", "docvalue_fields": [KEY]}
RESULT_ORDER: list[Query] = [{"_score": "desc"}, {ID: "asc"}]


def limits(filters: Filters) -> list[Query]:
    """Convert ``filters`` to clauses that must all match."""
    clauses = [one_of(name, values) for name, values in accepted_values(filters)]
    between: dict[str, int] = {}
    if filters.published_from:
        between["gte"] = microseconds(filters.published_from)
    if filters.published_to:
        between["lte"] = microseconds(filters.published_to)
    if between:
        clauses.append({"range": {"published_at": between}})
    return clauses


def one_of(name: str, values: Iterable[str]) -> Query:
    """Match rows whose field ``name`` has one of these values."""
    return {"terms": {name: [clean(value) for value in values]}}


def editions(values: Iterable[str]) -> Query:
    """Match the rows of these document versions."""
    return {"bool": {"filter": [one_of(EDITION, values)]}}


def words(query: str, clauses: list[Query], differences: int) -> Query:
    """Match any word of ``query`` by its stem; no character of it is an operator."""
    query_text = " ".join(
        with_words(clean(query)).split(maxsplit=MAX_QUERY_WORDS)[:MAX_QUERY_WORDS]
    )
    match: Query = {"query": query_text, "operator": "or"}
    if differences:
        match |= {
            "fuzziness": differences,
            "prefix_length": 1,
            "max_expansions": 50,
            "fuzzy_transpositions": False,  # two swapped letters count as two differences
        }
    return {"bool": {"must": [{"match": {TEXT: match}}], "filter": clauses}}


def nearest(vector: Floats, clauses: list[Query], k: int) -> Query:
    """Match the ``k`` nearest rows of each segment by the vector graph (HNSW)."""
    knn: Query = {"vector": numbers(vector), "k": k}
    if clauses:
        knn["filter"] = {"bool": {"filter": clauses}}
    return {"knn": {VECTOR: knn}}


def exact_search(vector: Floats, clauses: list[Query]) -> Query:
    """Score all rows with a vector by exact comparison."""
    script: Query = {
        "source": "knn_score",
        "lang": "knn",
        "params": {"field": VECTOR, "query_value": numbers(vector), "space_type": SPACE},
    }
    return {"script_score": {"query": with_vector(clauses), "script": script}}


def with_vector(clauses: list[Query]) -> Query:
    """Match rows that have a vector."""
    return {"bool": {"filter": [*clauses, HAS_VECTOR]}}


def ranking(query: Query, limit: int) -> Query:
    """Return the body of a search for the best ``limit`` rows, with ties in the order of ids."""
    return {
        "size": limit,
        "query": query,
        "sort": RESULT_ORDER,
        "track_scores": True,
        "track_total_hits": False,
        **KEY_ONLY,
    }


def cosine(score: float) -> float:
    """Convert the cluster's score back to the dot product of two unit vectors."""
    return score - 1.0 if score >= 1.0 else 1.0 - 1.0 / score


KEYS_AT_ONCE = 5_000
ROWS_AT_ONCE = 500
KEEP_ALIVE = "5m"  # how long the cluster keeps the point-in-time view between two pages
_WITH_VECTOR = "has_vector"

Hit = dict[str, Any]


def keys(cluster: Cluster, alias: str) -> Iterator[str]:
    """Yield the packed key of every row."""
    body = {"size": KEYS_AT_ONCE, "query": {"match_all": {}}, **KEY_ONLY}
    for hit in _pages(cluster, alias, body, "list the index"):
        yield hit["fields"][KEY][0]


def held_rows(cluster: Cluster, alias: str) -> Iterator[HeldRow]:
    """Yield every row for comparison with the catalogue."""
    vector = {"exists": {"field": VECTOR, "_name": _WITH_VECTOR}}
    body = {
        "size": ROWS_AT_ONCE,
        "query": {"bool": {"must": [{"match_all": {}}], "should": [vector]}},
        "_source": [TEXT, "collection"],
        "docvalue_fields": [KEY],
    }
    for hit in _pages(cluster, alias, body, "read the index"):
        source, has_vector = hit["_source"], _WITH_VECTOR in hit.get("matched_queries", ())
        yield to_held_row(hit["fields"][KEY][0], source["collection"], source[TEXT], has_vector)


def _pages(cluster: Cluster, alias: str, body: Hit, action: str) -> Iterator[Hit]:
    """Yield all hits of one point-in-time view of the index, in the order of their ids."""
    lifetime = {"keep_alive": KEEP_ALIVE, "allow_partial_pit_creation": "false"}
    opened = cluster.ask(action, "create_pit", index=alias, params=lifetime)
    view: str = opened["pit_id"]
    after: Hit = {}
    params = {"allow_partial_search_results": "false"}
    try:
        while True:
            page = {"sort": [{ID: "asc"}], "pit": {"id": view, "keep_alive": KEEP_ALIVE}}
            answer = cluster.ask(
                action, "search", body=body | page | after, params=params, longest=5.0
            )
            view = answer["pit_id"]
            hits = answer["hits"]["hits"]
            if not hits:
                return
            yield from hits
            after = {"search_after": hits[-1]["sort"]}
    finally:
        cluster.ask(
            "release a view of the index",
            "delete_pit",
            body={"pit_id": [view]},
            params={"ignore": 404},
        )
