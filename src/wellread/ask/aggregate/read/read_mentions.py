"""Reads questions for the first or the last document that mentions something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from wellread.answers import Question
from wellread.ask.aggregate.queries.query import CatalogueQuery, nouns, spelling
from wellread.ask.aggregate.read.read_counts import read_counts
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.text.english import EDGES_OF_MENTION, LATEST

SHOWN = 3  # the next ones too: the first that has the word may mean something else by it
_FORMS = [re.compile(rf"\W*{form}\W*", re.IGNORECASE) for form in EDGES_OF_MENTION]


def read_edge(kb: KnowledgeBase, analysis: Analysis) -> Iterator[CatalogueQuery]:
    """The query for the first or the last document that mentions what the question names.

    It is the list of all that do, in the order of their dates, cut after a few.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        StoreError: the catalogue cannot be read.
    """
    found = next(filter(None, (form.fullmatch(analysis.question) for form in _FORMS)), None)
    if found is None:
        return
    vocabulary = vocabulary_of(kb, analysis.filters.collections)
    noun = nouns(vocabulary).get(spelling(found["noun"] or "document"))
    if noun is None or noun.what != "documents":
        return
    asked = Question(text=f"Which {noun.many} mention {found['what']}?", filters=analysis.filters)
    latest = found["edge"].lower().split()[0] in LATEST
    for query in read_counts(kb, analyse(asked, vocabulary, date.today())):
        if query.about and query.of.what == "documents":
            yield replace(query, order="latest" if latest else "oldest", limit=SHOWN)
