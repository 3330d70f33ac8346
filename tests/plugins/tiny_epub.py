"""A loader as another package would bring it: e-books, which are zip files of XHTML chapters."""

from __future__ import annotations

from collections.abc import Iterator

from wellread.errors import SourceError
from wellread.ingest.loaders.archives import name_of, open_archive, parse
from wellread.ingest.loaders.base import LoaderLimits, Source, TextBuilder
from wellread.types import Document

HEADINGS = ("h1", "h2", "h3")


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """One document: every paragraph of every chapter, under the chapter's heading."""
    text = TextBuilder()
    title = ""
    with open_archive(source.data, source.uri, limits) as book:
        for name in sorted(name for name in book.namelist() if name.endswith(".xhtml")):
            for element in parse(book.read(name), source.uri).iter("{*}*"):
                kind, words = (name_of(element), "".join(map(str, element.itertext())).strip())
                if kind == "title":
                    title = title or words
                elif kind in HEADINGS:
                    text.heading((words,))
                elif kind == "p" and words:
                    text.add(f"{words}\n\n")
    whole, marks = text.build()
    if not whole:
        raise SourceError(source.uri, "a book without a chapter")
    yield Document(
        collection=source.collection,
        uri=source.uri,
        kind="page",
        source_type="epub",
        title=" ".join(title.split()),
        text=whole,
        marks=marks,
    )
