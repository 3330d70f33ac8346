"""How an index of passages is made and searched in the terms of OpenSearch, and read back.

A limit of the filters stands in every search. Words are cut, folded and stemmed as LanceDB does it,
in that order, so that both back ends give a passage the same score: split at what is no letter or
digit, words of 40 and more left out, lower case, the Snowball stemmer of English, and only then
LanceDB's stop words and the accents (``benchmarks.search_clusters`` compares the two). ``key``
holds what a candidate tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from wellread.store.base import Fingerprint, HeldRow, IndexRow
from wellread.store.index.opensearch.cluster import Cluster, ClusterAddress
from wellread.store.row_values import Floats, edition, folded, pack, searched, unpack, utc
from wellread.types import Filters

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


Query = dict[str, Any]
MOST_WORDS = 1_000  # of a question: a cluster takes no more clauses than 1,024
HAS_VECTOR: Query = {"exists": {"field": VECTOR}}
PLACE: list[Query] = [{"_score": "desc"}, {ID: "asc"}]


def limits(filters: Filters) -> list[Query]:
    """``filters`` as clauses that all have to hold."""
    values = {
        "collection": filters.collections,
        "kind": filters.kinds,
        "document_id": filters.document_ids,
        "source_type": filters.source_types,
        "language": filters.languages,
        "authors": folded(filters.authors),
        "speakers": folded(filters.speakers),
    }
    clauses = [one_of(name, wanted) for name, wanted in values.items() if wanted]
    between: dict[str, int] = {}
    if filters.published_from:
        between["gte"] = microseconds(filters.published_from)
    if filters.published_to:
        between["lte"] = microseconds(filters.published_to)
    if between:
        clauses.append({"range": {"published_at": between}})
    dimensions: dict[str, list[str]] = {}
    for dimension, value in filters.taxonomy:
        dimensions.setdefault(dimension, []).append(f"{dimension}={value}")
    return clauses + [one_of("taxonomy", wanted) for wanted in dimensions.values()]


def one_of(name: str, values: Iterable[str]) -> Query:
    """The field is one of these values."""
    return {"terms": {name: [clean(value) for value in values]}}


def editions(values: Iterable[str]) -> Query:
    """Rows of these versions of documents."""
    return {"bool": {"filter": [one_of(EDITION, values)]}}


def words(query: str, clauses: list[Query], differences: int) -> Query:
    """Any of the words, as stemmed or nearly so; no character of ``query`` is an operator."""
    asked = " ".join(clean(query).split(maxsplit=MOST_WORDS)[:MOST_WORDS])
    match: Query = {"query": asked, "operator": "or"}
    if differences:
        match |= {
            "fuzziness": differences,
            "prefix_length": 1,
            "max_expansions": 50,
            "fuzzy_transpositions": False,  # two letters that changed places are two differences
        }
    return {"bool": {"must": [{"match": {TEXT: match}}], "filter": clauses}}


def nearest(vector: Floats, clauses: list[Query], k: int) -> Query:
    """The ``k`` nearest of each segment, by the graph of the vectors."""
    near: Query = {"vector": numbers(vector), "k": k}
    if clauses:
        near["filter"] = {"bool": {"filter": clauses}}
    return {"knn": {VECTOR: near}}


def every(vector: Floats, clauses: list[Query]) -> Query:
    """All rows that have a vector, each compared."""
    script: Query = {
        "source": "knn_score",
        "lang": "knn",
        "params": {"field": VECTOR, "query_value": numbers(vector), "space_type": SPACE},
    }
    return {
        "script_score": {
            "query": {"bool": {"filter": [*clauses, HAS_VECTOR]}},
            "script": script,
        }
    }


def counting(clauses: list[Query], most: int) -> Query:
    """The body of a search that counts rows with a vector, up to ``most``."""
    return {
        "size": 0,
        "track_total_hits": most,
        "query": {"bool": {"filter": [*clauses, HAS_VECTOR]}},
    }


def ranking(query: Query, limit: int) -> Query:
    """The body of a search for the best ``limit`` rows, equal ones in the order of their ids."""
    return {
        "size": limit,
        "query": query,
        "sort": PLACE,
        "track_scores": True,
        "track_total_hits": False,
        "_source": False,
        "stored_fields": "_none_",
        "docvalue_fields": [KEY],
    }


def cosine(score: float) -> float:
    """The product of two unit vectors that the cluster made this score of."""
    return score - 1.0 if score >= 1.0 else 1.0 - 1.0 / score


KEYS_AT_ONCE = 5_000
ROWS_AT_ONCE = 500
KEPT = "5m"  # how long the cluster keeps the view between two pages
_WITH_VECTOR = "has_vector"

Hit = dict[str, Any]


def keys(cluster: Cluster, alias: str) -> Iterator[str]:
    """The packed key of every row."""
    body = {
        "size": KEYS_AT_ONCE,
        "query": {"match_all": {}},
        "_source": False,
        "stored_fields": "_none_",
        "docvalue_fields": [KEY],
    }
    for hit in _pages(cluster, alias, body, "list the index"):
        yield hit["fields"][KEY][0]


def held_rows(cluster: Cluster, alias: str) -> Iterator[HeldRow]:
    """Every row, as it is compared with what should be there."""
    there = {"exists": {"field": VECTOR, "_name": _WITH_VECTOR}}
    body = {
        "size": ROWS_AT_ONCE,
        "query": {"bool": {"must": [{"match_all": {}}], "should": [there]}},
        "_source": [TEXT, "collection"],
        "docvalue_fields": [KEY],
    }
    for hit in _pages(cluster, alias, body, "read the index"):
        passage_id, document_id, version, start, end = unpack(hit["fields"][KEY][0])
        kept = hit["_source"]
        vector = _WITH_VECTOR in hit.get("matched_queries", ())
        place = (passage_id, document_id, version, start, end)
        yield HeldRow(*place, kept["collection"], kept[TEXT], vector)


def _pages(cluster: Cluster, alias: str, body: Hit, action: str) -> Iterator[Hit]:
    """All hits in the order of their ids, of one view of the index."""
    view, after = _opened(cluster, alias, action), None
    try:
        while True:
            asked = {**body, "sort": [{ID: "asc"}], "pit": {"id": view, "keep_alive": KEPT}}
            if after is not None:
                asked["search_after"] = after
            answer = _page(cluster, asked, action)
            view = answer["pit_id"]
            hits = answer["hits"]["hits"]
            if not hits:
                return
            yield from hits
            after = hits[-1]["sort"]
    finally:
        _close(cluster, view)


def _page(cluster: Cluster, body: Hit, action: str) -> Any:
    params = {"allow_partial_search_results": "false"}
    return cluster.run(action, lambda client: client.search(body=body, params=params), longest=5.0)


def _opened(cluster: Cluster, alias: str, action: str) -> str:
    made = cluster.run(
        action,
        lambda client: client.create_pit(
            index=alias, params={"keep_alive": KEPT, "allow_partial_pit_creation": "false"}
        ),
    )
    return str(made["pit_id"])


def _close(cluster: Cluster, view: str) -> None:
    cluster.run(
        "let go of a view of the index",
        lambda client: client.delete_pit(body={"pit_id": [view]}, params={"ignore": 404}),
    )
