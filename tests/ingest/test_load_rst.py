"""reStructuredText: sections, lists, tables, Sphinx's words, and nothing from elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import LoaderContract, source_of
from wellread.types import Document, Span
from wellread.values.locators import Marks

PAGE = """\
.. a comment

=================
The harbour guide
=================

:author: Ida Lund
:date: 2024-05-06
:tags: tide, quay

The tide turns
at *noon* [1]_.

.. [1] Told by the pilot.

Mooring
=======

- Rope
  and twine

  - tarred
- Chain

3. third
4. fourth

bollard
   A post to moor at.

.. note:: Mind the
   wake.

At the quay
-----------

Code follows::

    tie(rope)
      twice

+-------+-------+
| Berth | Depth |
+=======+=======+
| North | 4 m   |
+-------+-------+

| A line
| and its rhyme

.. csv-table:: Prices
   :header: "Stone", "Price"

   "Granite", "900"
"""

SPHINX = """\
Guide
=====

.. toctree::
   :maxdepth: 2

   Start here <intro>
   setup

See :ref:`the index <genindex>`, :py:func:`~quay.boats.moor` and |release|.

.. py:function:: moor(boat, *, rope)
   :async:

   Ties a *boat* to the quay.

.. versionadded:: 3.2
   The rope.

.. code-block:: python
   :linenos:
   :emphasize-lines: 1

   moor(ida)

.. a-thing-nobody-knows:: With words
   :option: x

   - kept
   - too

.. figure:: quay.png
   :unknown: option

   A caption.

+---+
| a broken table
+---+

.. math:: e = m c^2
   :label: energy
"""


def load(text: str, name: str = "a.rst") -> Document:
    (document,) = kinds.load(source_of(name, text), LoaderLimits())
    return document


class TestPage(LoaderContract):
    good = source_of("guide.REST", PAGE)
    expected_kind = "page"
    quotes = (
        ("The harbour guide", {"line": 4}),
        ("The tide turns at noon.", {"line": 11, "heading": ("The harbour guide",)}),
        ("at noon.", {"line": 12}),
        ("* Told by the pilot.", {"line": 14}),
        ("Mooring", {"line": 16, "heading": ("The harbour guide", "Mooring")}),
        ("- Rope and twine\n  - tarred\n- Chain", {"line": 19}),
        ("tarred", {"line": 22}),
        ("3. third\n4. fourth", {"line": 25}),
        ("bollard\nA post to moor at.", {"line": 28}),
        ("Mind the wake.", {"line": 31}),
        (
            "tie(rope)\n  twice",
            {"line": 39, "heading": ("The harbour guide", "Mooring", "At the quay")},
        ),
        ("Berth | Depth\nNorth | 4 m", {"line": 43}),
        ("North | 4 m", {"line": 45}),
        ("A line\nand its rhyme", {"line": 48}),
        ("Granite | 900", {"line": 54}),
    )
    broken = (
        source_of("bytes.rst", bytes(range(256))),
        source_of("comment.rst", ".. only a comment\n"),
    )


class TestSphinx(LoaderContract):
    good = source_of("guide.rst", SPHINX)
    expected_kind = "page"
    quotes = (
        ("- Start here", {"line": 7}),
        ("See the index, moor and |release|.", {"line": 10}),
        ("moor(boat, *, rope)\n\nTies a boat to the quay.", {"line": 12}),
        ("Added in version 3.2 The rope.", {"line": 17}),
        ("moor(ida)", {"line": 24}),
        ("With words\n\n- kept\n- too", {"line": 26}),
        ("A caption.", {}),
        ("| a broken table", {"line": 38}),
        ("e = m c^2", {"line": 41}),
    )
    broken = (source_of("blank.rst", "\n\n"),)


def test_the_fields_in_front_become_facts() -> None:
    page = load(PAGE)
    assert (page.title, page.source_type) == ("The harbour guide", "rst")
    assert page.authors == ("Ida Lund",)
    assert page.published_at == datetime(2024, 5, 6, tzinfo=UTC)
    assert page.taxonomy == {"tags": ("tide", "quay")}
    assert "Ida Lund" not in page.text


def test_cells_and_links_over_several_lines() -> None:
    text = """\
======  =====
Berth   Depth
======  =====
North   4 m,
        at ebb
======  =====

Use ``easy_install`` of OleFileIO_PL, not `other
words <http://127.0.0.1:9/>`_ or
the rest.
"""
    page = load(text)
    assert page.text.startswith("Berth | Depth\nNorth | 4 m, at ebb")
    start = page.text.index("the rest")
    assert "easy_install of OleFileIO_PL, not other words or the rest." in page.text
    assert Marks(page.marks).locate(Span(start=start, end=start + 8)).line == 10


def test_the_title_is_that_of_the_first_section_or_the_name() -> None:
    assert load("One\n===\n\nx\n\nTwo\n===\n\ny\n").title == "One"
    assert load("Words.\n\nOne\n===\n\nx\n", "2024-01-02-old-quay.rst").title == "Old quay"


@pytest.mark.parametrize(
    "directive",
    [
        ".. include:: {path}",
        ".. include:: {path}\n   :literal:",
        ".. raw:: html\n   :file: {path}",
        ".. csv-table::\n   :file: {path}",
        ".. literalinclude:: {path}",
        ".. csv-table::\n   :url: http://127.0.0.1:9/x.csv",
        ".. raw:: html\n\n   <b>secret</b>",
    ],
)
def test_nothing_is_read_from_elsewhere(tmp_path: Path, directive: str) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("secret, secret\n")
    text = load("Before.\n\n" + directive.format(path=path) + "\n\nAfter.\n").text
    assert "<b>" not in text
    assert "secret, secret" not in text
    assert text.startswith("Before.")
    assert text.endswith("After.")
