"""Paraphrases: what questions ask of the catalogue, in words that no rule was written for.

    python -m benchmarks.paraphrases catalogue
    python -m benchmarks.paraphrases catalogue --only sample --show
    python -m benchmarks.paraphrases types --half test

``questions/paraphrases-dev.jsonl`` and ``-test.jsonl`` were written without a look at the analysis;
the second half is only counted, never looked at. ``types`` gives the share of questions whose type
is found, and whose limits are exactly the labelled ones. Of the questions with a ``catalogue`` the
query is read (``read_query``) and held against it field by field: of what, about what, where, by
what. A question that is read as none has all four wrong. Queries are measured twice: with the type
that the analysis finds and with the right one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from benchmarks.analysis import embedder
from benchmarks.counting import filled
from benchmarks.paths import ROOT
from benchmarks.record import save
from wellread.ask.aggregate.query import PERIODS, CatalogueQuery, nouns, spelling
from wellread.ask.plan import read_query
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import Vocabulary, vocabulary_of
from wellread.evaluation.scores import bootstrap
from wellread.kb import KnowledgeBase
from wellread.text.parsed import parse
from wellread.types import Filters
from wellread.values.answers import Question

QUESTIONS = ROOT / "benchmarks" / "questions"
TODAY = date(2026, 1, 15)
FIELDS = ("of", "about", "where", "by")

Paraphrase = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A question with the query that was read from it, and which of its fields are right."""

    question: str
    query: CatalogueQuery | None
    right: Mapping[str, bool]


def main() -> None:
    """Measure, print, write ``results/paraphrases-catalogue.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("what", choices=("catalogue", "types"))
    parser.add_argument("--half", choices=("dev", "test"), default="dev")
    parser.add_argument("--only", default="", help="one base: optech, sample, s3")
    parser.add_argument("--show", action="store_true", help="print the questions that are wrong")
    options = parser.parse_args()
    if options.what == "types":
        print_types(paraphrases(options.half), show=options.show and options.half == "dev")
        return
    asked = [one for one in paraphrases(options.half) if "catalogue" in one]
    held: dict[str, list[Held]] = {"found": [], "labelled": []}
    for base in dict.fromkeys(one["base"] for one in asked):
        if options.only in ("", base):
            with ExitStack() as stack:
                kb = stack.enter_context(filled(base))
                for types, rows in held.items():
                    mine = [one for one in asked if one["base"] == base]
                    rows += [read(kb, one, labelled=types == "labelled") for one in mine]
    for one in held["labelled"] if options.show else ():
        wrong = [name for name, right in one.right.items() if not right]
        if wrong:
            print(f"{one.question}: {', '.join(wrong)} of {one.query}")
    figures = {types: rates(rows) for types, rows in held.items()}
    for name in figures["found"]:
        print(f"{name:10} {figures['found'][name]:6} {figures['labelled'][name]:6}")
    if not options.only:
        save(f"paraphrases-catalogue-{options.half}", figures)


def paraphrases(half: str) -> list[Paraphrase]:
    """The questions of a half: ``dev`` or ``test``."""
    lines = (QUESTIONS / f"paraphrases-{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def print_types(asked: Sequence[Paraphrase], *, show: bool) -> None:
    """The share of types and of whole limits that are found, with intervals over the questions."""
    right: list[float] = []
    exact: dict[bool, list[float]] = {True: [], False: []}
    for base in dict.fromkeys(one["base"] for one in asked):
        with ExitStack() as stack:
            vocabulary = vocabulary_of(stack.enter_context(filled(base)))
            for one in (one for one in asked if one["base"] == base):
                found = analyse(Question(text=one["question"]), vocabulary, TODAY, embedder())
                right.append(float(found.type in (one["type"], *one.get("also", ()))))
                limits = {value for each in found.constraints for value in _values(each.filters)}
                wanted = {_plain(value) for _, value in one["constraints"]}
                exact[bool(wanted)].append(float(limits == wanted))
                if show and limits != wanted:
                    print(f"{one['question']}: {limits}, not {one['constraints']}")
                if show and not right[-1]:
                    print(f"{one['question']}: {found.type}, not {one['type']}")
    print(f"types  {bootstrap(right)} of {len(right)}")
    print(f"limits {bootstrap(exact[True])} of {len(exact[True])} questions with some")
    print(f"       {bootstrap(exact[False])} of {len(exact[False])} without")


def read(kb: KnowledgeBase, one: Paraphrase, *, labelled: bool) -> Held:
    """The query that is read from a question, held against what it asks."""
    vocabulary = vocabulary_of(kb)
    analysis = analyse(Question(text=one["question"]), vocabulary, TODAY, embedder())
    query = read_query(kb, replace(analysis, type=one["type"]) if labelled else analysis)
    right = dict.fromkeys(FIELDS, False)
    if query is not None:
        wanted = one["catalogue"]
        right = {
            "of": of_right(query, wanted["of"], vocabulary),
            "about": about_right(query, wanted["about"]),
            "where": where_right(query, one["constraints"]),
            "by": by_right(query, wanted["by"]),
        }
    return Held(question=one["question"], query=query, right=right)


def of_right(query: CatalogueQuery, wanted: str, vocabulary: Vocabulary) -> bool:
    """Whether the noun is one of those that are wanted; a trend counts documents that name it."""
    known = nouns(vocabulary)
    meant = [known.get(spelling(part)) for part in wanted.replace(" of ", " and ").split(" and ")]
    if query.form == "trend":
        return any(one and one.what in ("mentions", "documents") for one in meant)
    ends = {name for hop in (query.related.hops if query.related else ()) for name in hop.types}
    for one in meant:
        same = one and (one.what, one.filters) == (query.of.what, query.of.filters)
        if one and same and (set(one.names) == set(query.of.names) or set(one.names) == ends):
            return True
    return False


def about_right(query: CatalogueQuery, wanted: str | None) -> bool:
    """Whether the names of the query, and only they, stand in what is wanted."""
    names = [name.phrase for name in query.about.names] if query.about else []
    names += [name.phrase for name in query.related.starts] if query.related else []
    if wanted is None or not names:
        return wanted is None and not names
    stems = parse(wanted).stem_set
    return all(parse(name).stem_set <= stems for name in names)


def where_right(query: CatalogueQuery, wanted: Sequence[tuple[str, str]]) -> bool:
    """Whether the limits are those of the question; the noun may be one of them."""
    limits = [*query.where, *(limit.filters for limit in query.soft), query.of.filters]
    held = {value for filters in limits for value in _values(filters)}
    needed = {_plain(value) for _, value in wanted}
    named = {_plain(value) for value in query.of.names}
    return needed <= held | named and not {
        value for filters in limits[:-1] for value in _values(filters) if value not in needed
    }


def _values(filters: Filters) -> Iterator[str]:
    for values in (filters.kinds, filters.source_types, filters.authors, filters.speakers):
        yield from map(_plain, values)
    yield from (_plain(value) for _, value in filters.taxonomy)
    since, until = filters.published_from, filters.published_to
    if since or until:
        days = (f"{day:%Y-%m-%d}" if day else "" for day in (since, until))
        yield "/".join(days)


def _plain(value: str) -> str:
    return value.casefold().replace("_", " ")


def by_right(query: CatalogueQuery, wanted: str | None) -> bool:
    """Whether the result is divided as wanted; a trend chooses its period by itself."""
    if query.form == "trend" and not query.by:
        return wanted in (*PERIODS, "period")
    parts = {spelling(part) for part in wanted.split(" and ")} if wanted else set()
    return parts == {spelling(part) for part in query.by}


def rates(held: Sequence[Held]) -> dict[str, float | int]:
    """How often each field is right, all four, and how many are read as a query at all."""
    count = len(held) or 1
    figures: dict[str, float | int] = {"questions": len(held)}
    figures["read"] = round(sum(one.query is not None for one in held) / count, 3)
    for name in FIELDS:
        figures[name] = round(sum(one.right[name] for one in held) / count, 3)
    figures["all four"] = round(sum(all(one.right.values()) for one in held) / count, 3)
    return figures


if __name__ == "__main__":
    main()
