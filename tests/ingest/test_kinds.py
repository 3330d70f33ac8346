"""Which loader reads what, by content and by odd names; and encodings that text files come in."""

from __future__ import annotations

from html import escape

import pytest

from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import source_of


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("NOTES.MD", "# Head\n", "markdown"),
        ("two\nlines 🐟.Md", "# Head\n", "markdown"),
        ("🐟.RST", "Head\n====\n", "rst"),
        ("talk.VTT", "WEBVTT\n", "captions"),
        ("A.HTML", "words", "html"),
        ("page.txt", "<!DOCTYPE html><html></html>", "html"),
        ("page.rst", "<html>\n", "rst"),
        ("past.CSV", "Question;Answer\nWhy?;So.\n", "records"),
        ("past.csv", "name;price\n", "table"),
        ("a.json", '{"name": "x"}', "lines"),
        ("a.json", '[\n {"text": "x"}\n]', "records"),
        ("a.json", "[1]", "lines"),
        ("a.json", "[" * 100_000, "lines"),
        ("a.json", '{"segments": ' + "[" * 100_000, "lines"),
        ("a.yaml", "text: x\n", "lines"),
        ("a.yml", "- text: x\n", "lines"),
        ("a.doc", "words", ""),
        ("a.zip", "PK\x03\x04", "zip"),
        ("a.zip", "words", ""),
    ],
)
def test_the_kind_of_a_file(name: str, content: str, kind: str) -> None:
    assert kinds.kind_of(source_of(name, content)) == kind


def test_a_json_list_whose_first_entry_is_long_is_known() -> None:
    text = '[{"title": "' + "x" * 100_000 + '", "text": "y"}]'
    assert kinds.kind_of(source_of("a.json", text)) == "records"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.rst", "a.jsonl"])
def test_a_byte_order_mark_says_how_to_read(name: str, encoding: str) -> None:
    words = '{"text": "Café „Kai“"}' if name == "a.jsonl" else "Café „Kai“"
    (document,) = kinds.load(source_of(name, words.encode(encoding)), LoaderLimits())
    assert document.text == "Café „Kai“"


_CODE = "<script>hide()</script><style>hide{}</style><template>hide</template>"
_PAGE = f"<h1>Pump {_CODE}</h1><p>The pump is red. {_CODE}</p><pre>pump {_CODE}</pre>"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("pump.html", f"<html><title>Pump</title><body>{_PAGE}</body></html>"),
        ("pump.md", f"---\nexcerpt: Old {_CODE}\n---\n# Pump {_CODE}\n\nA pump {_CODE} is red.\n"),
        ("open.md", "# Pump\n\n<div><script>\n\nhide()\n\n</script></div>\n\nThe pump is red.\n"),
        (
            "talk.md",
            "".join(f"**{one}:** A pump {_CODE}!\n\n" for one in ["Ada Lunt", "Bo Hay"] * 3),
        ),
        ("pump.vtt", f"WEBVTT\n\n00:00.000 --> 00:02.000\n<v Ada>The pump {_CODE} is red.\n"),
        (
            "pump.rss",
            f"<rss version='2.0'><channel><title>P</title><item><title>Pump {escape(_CODE)}</title>"
            f"<description>{escape(_PAGE)}</description></item></channel></rss>",
        ),
        (
            "pump.json",
            '{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "1", "title": '
            f'"Pump {_CODE}", "summary": "Pump {_CODE}", "content_html": "{_PAGE}"}}]}}',
        ),
    ],
)
def test_scripts_and_styles_are_no_text(name: str, data: str) -> None:
    for found in kinds.load(source_of(name, data), LoaderLimits()):
        told = f"{found.title}\n{found.summary}\n{found.text}"
        assert "hide" not in told
        assert "pump" in told.lower()


def test_what_markdown_shows_as_code_stays() -> None:
    lines = ["`<script>a()</script>`", "```\n<script>b()</script>\n```", "    <script>c()</script>"]
    (found,) = kinds.load(source_of("how.md", "\n\n".join(lines)), LoaderLimits())
    assert [sign for sign in "abc" if f"<script>{sign}()</script>" not in found.text] == []
    (found,) = kinds.load(source_of("odd.md", "Nobody closes <script> here."), LoaderLimits())
    assert "here" in found.text
