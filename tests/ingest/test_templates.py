"""Tags of site generators: sentences stay, machinery goes, lines keep their numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.loaders.text.markdown_files import strip_templates
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import source_of

INCLUDE = """Before.

{% include list.md
  q0="Why are there ropes
      on the pier?"
  a0="They hold **boats**."
  a0link="https://piers.example/a b"

  q1='Who paid?'
  file="/img/a picture.png"
  n="12"
%}

After.
"""


def test_sentences_of_an_include_are_read() -> None:
    (page,) = kinds.load(source_of("pier.md", INCLUDE), LoaderLimits())
    assert page.text == (
        "Before.\n\nWhy are there ropes on the pier?\nThey hold boats.\n\nWho paid?\n\nAfter."
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{% assign note = "not shown here" %}', ""),
        ('{% if page.kind == "a long story" %}x{% endif %}', "x"),
        ("{% comment %} harding: not for readers {% endcomment %}y", "y"),
        ('{{< figure src="/a.png" caption="Boats at noon" >}}', "Boats at noon"),
        ('a {{ page.title | default: "no title yet" }} b', "a  b"),
        ("`{% raw code %}` stays", "`{% raw code %}` stays"),
        ("<!-- gone --> x {:.note}", " x "),
        ('{% include ad.md when="2024-01-02 17:00" %}', ""),
    ],
)
def test_one_tag(text: str, shown: str) -> None:
    assert strip_templates(text) == shown


@given(
    st.lists(
        st.sampled_from(
            [
                '{% a b="two words" ',
                "c='one more word'",
                "%}",
                "{{",
                "}}",
                "\n",
                "```\n",
                "x ",
                "<!--",
                "-->",
                "{% comment %}",
                "{% endcomment %}",
                "`",
                '"',
                "{:",
            ]
        ),
        max_size=40,
    ).map("".join)
)
def test_lines_keep_their_numbers(text: str) -> None:
    assert strip_templates(text).count("\n") == text.count("\n")
