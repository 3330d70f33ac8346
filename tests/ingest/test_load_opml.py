"""OPML: lists of feeds are read as inputs, not as documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.errors import SourceError
from wellread.ingest.loaders.text.feeds import feeds_of
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import source_of

URI = "file:///shelf/feeds.opml"
LIST = """<?xml version="1.0" encoding="UTF-8"?>
<!-- exported -->
<opml version="2.0"><head><title>Mine</title></head><body>
<outline text="Sea">
  <outline text="Ports &amp; quays">
    <outline type="rss" text="Quay news" title="The quay" xmlUrl="https://quay.example/rss"
      htmlUrl="https://quay.example/" category="/Works/Cranes,tide"/>
  </outline>
  <outline text="Reef" XMLURL="https://reef.example/atom"/>
</outline>
<outline text="Again" xmlUrl="https://quay.example/rss"/>
<outline text="Local" xmlUrl="file:///etc/hostname"/>
<outline text="Bare" xmlUrl="https://bare.example/feed"/>
</body></opml>
"""


def test_every_feed_once_in_order() -> None:
    assert feeds_of(LIST.encode(), URI) == [
        "https://quay.example/rss",
        "https://reef.example/atom",
        "https://bare.example/feed",
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"words",
        b"<rss><channel/></rss>",
        b'<!DOCTYPE o [<!ENTITY e "x">]><opml><body><outline xmlUrl="http://a/&e;"/></body></opml>',
        b'<!DOCTYPE o [<!ENTITY e SYSTEM "file:///etc/hostname">]><opml><body>&e;</body></opml>',
        '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE o [<!ENTITY e "x">]><opml/>'.encode(
            "utf-16"
        ),
    ],
)
def test_what_is_no_list_or_means_harm_is_refused(data: bytes) -> None:
    with pytest.raises(SourceError) as caught:
        feeds_of(data, URI)
    assert caught.value.uri == URI


def test_a_list_of_folders_inside_each_other_without_end_has_no_feeds() -> None:
    deep = "<outline text='f'>" * 10_000
    data = f"<opml><body>{deep}</body></opml>".encode()
    assert feeds_of(data, URI) == []


@given(st.binary(max_size=300))
def test_any_bytes_give_a_list_or_are_refused(data: bytes) -> None:
    try:
        found = feeds_of(b"<opml>" + data, URI)
    except SourceError:
        return
    assert all(url.startswith(("http://", "https://")) for url in found)


@pytest.mark.parametrize("name", ["a.opml", "A.OPML", "a.xml", "a"])
def test_a_list_is_known_and_has_no_loader(name: str) -> None:
    for data in (LIST.encode(), LIST.replace('encoding="UTF-8"', "").encode("utf-16")):
        source = source_of(name, data)
        assert kinds.kind_of(source) == "opml"
        assert kinds.loader_name(source) == ""
    assert kinds.kind_of(source_of("a.xml", "<rss/>")) != "opml"
