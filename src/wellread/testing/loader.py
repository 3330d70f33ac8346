"""Contract tests for loaders: the tests of every loader inherit ``LoaderContract``.

::

    class TestMine(LoaderContract):
        good = source_of("talk.mine", b"...")
        expected_kind = "transcript"
        quotes = (("the tide turns at noon", {"speaker": "Ida", "begin": 12.0}),)
        broken = (source_of("cut.mine", b"..."),)

Requires pytest and hypothesis. Override ``load`` to test a loader that is not in the table of
``ingest.pipeline.kinds``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wellread.errors import SourceError
from wellread.identity import facts_of, version_of
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.pipeline import kinds
from wellread.types import Document, Kind, PageMark, Span, TimeMark
from wellread.values.locators import Marks

COLLECTION = "shelf"
MAX_EXAMPLES = 60  # random inputs per test
MAX_REASON_CHARS = 300

Quote = tuple[str, Mapping[str, object]]
"""A quotation, and the ``Locator`` fields that its first character must have."""


def source_of(name: str, content: str | bytes) -> Source:
    """A source with this name and content."""
    data = content.encode() if isinstance(content, str) else content
    return Source(uri=f"file:///shelf/{name}", name=name, data=data, collection=COLLECTION)


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """``data`` with one range removed, repeated or overwritten, or cut off after it."""
    start = draw(st.integers(0, max(len(data) - 1, 0)))
    end = draw(st.integers(start, min(len(data), start + 200)))
    head, middle, tail = data[:start], data[start:end], data[end:]
    return draw(
        st.sampled_from([head, head + tail, head + middle * 3 + tail])
        | st.binary(max_size=40).map(lambda noise: head + noise + tail)
    )


def check_document(document: Document, source: Source) -> None:
    """Check the rules for every document that a loader yields."""
    assert document.text.strip(), "a blank document"
    assert document.uri
    assert document.collection == source.collection
    assert document.title == " ".join(document.title.split()) != ""
    document.text.encode("utf-8")
    assert "\x00" not in document.text
    for before, after in pairwise(document.marks):
        assert before.start <= after.start, "marks are not sorted"
    for mark in document.marks:
        assert 0 <= mark.start < mark.end <= len(document.text), "a mark outside the text"
        if isinstance(mark, PageMark):
            assert mark.page >= 1
        if isinstance(mark, TimeMark):
            assert 0 <= mark.begin <= (mark.begin if mark.finish is None else mark.finish)


class LoaderContract:
    """Tests that every loader must pass. Inherit the class and set the attributes.

    Attributes:
        good: a source that loads.
        expected_kind: the kind of all its documents.
        quotes: quotations that a document must contain, with expected locator fields.
        broken: sources that must be refused.
    """

    good: ClassVar[Source]
    expected_kind: ClassVar[Kind]
    quotes: ClassVar[Sequence[Quote]]
    broken: ClassVar[Sequence[Source]]

    def load(self, source: Source) -> list[Document]:
        """Load all documents of ``source``."""
        return kinds.load(source, LoaderLimits())

    def test_documents_are_whole(self) -> None:
        """The source has documents, each with text, a title and sorted marks inside the text."""
        documents = self.load(self.good)
        assert documents
        for document in documents:
            check_document(document, self.good)
            assert document.kind == self.expected_kind
        uris = [document.uri for document in documents]
        assert len(set(uris)) == len(uris), "two documents of one source share a uri"

    def test_the_same_bytes_give_the_same_documents(self) -> None:
        """Loading twice gives the same text, marks and facts."""
        first, second = self.load(self.good), self.load(self.good)
        assert [version_of(d.text, d.marks) for d in first] == [
            version_of(d.text, d.marks) for d in second
        ]
        assert [(d.uri, facts_of(d)) for d in first] == [(d.uri, facts_of(d)) for d in second]

    def test_quotations_stand_where_they_should(self) -> None:
        """Each quotation is in the text, and its first character has the expected fields."""
        documents = self.load(self.good)
        assert self.quotes
        for quote, facts in self.quotes:
            document = next((other for other in documents if quote in other.text), None)
            assert document is not None, f"not in the text: {quote!r}"
            start = document.text.index(quote)
            locator = Marks(document.marks).locate(Span(start=start, end=start + len(quote)))
            located = {name: getattr(locator, name) for name in facts}
            assert located == dict(facts), quote

    def test_broken_sources_are_refused(self) -> None:
        """The error names the source; the reason is one line and not a raw parser error."""
        assert self.broken
        for source in self.broken:
            with pytest.raises(SourceError) as caught:
                self.load(source)
            error = caught.value
            assert error.uri == source.uri
            assert 0 < len(error.reason) <= MAX_REASON_CHARS, source.name
            assert len(error.reason.splitlines()) == 1, source.name
            assert source.uri not in error.reason
            assert not error.reason.startswith("cannot be parsed"), error.reason

    def test_no_bytes(self) -> None:
        """An empty source is refused or yields nothing."""
        self._load_or_refuse(replace(self.good, data=b""))
        self._load_or_refuse(replace(self.good, data=b" \n\n\t\n"))

    def test_any_bytes(self) -> None:
        """Any bytes load or are refused."""
        self._try_many(st.binary(max_size=500))

    def test_damaged_bytes(self) -> None:
        """A damaged source loads or is refused."""
        self._try_many(damaged(self.good.data))

    def _try_many(self, contents: st.SearchStrategy[bytes]) -> None:
        # Built here instead of as a decorated method, because subclasses share this class.
        def check(data: bytes) -> None:
            self._load_or_refuse(replace(self.good, data=data))

        limited = settings(max_examples=MAX_EXAMPLES, deadline=None, database=None)
        run: Callable[[], None] = limited(given(contents)(check))
        run()

    def _load_or_refuse(self, source: Source) -> None:
        documents: list[Document] = []
        refused: SourceError | None = None
        try:
            documents = self.load(source)
        except SourceError as error:
            refused = error
        if refused is not None:
            assert refused.uri == source.uri
            assert len(refused.reason.splitlines()) == 1
        for document in documents:
            check_document(document, source)
