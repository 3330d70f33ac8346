"""Searches in the terms of OpenSearch. A limit of the filters stands in every one of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wellread.store.index.opensearch.passage_mapping import (
    EDITION,
    ID,
    KEY,
    SPACE,
    TEXT,
    VECTOR,
    clean,
    microseconds,
    numbers,
)
from wellread.store.row_values import Floats, folded
from wellread.types import Filters

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
