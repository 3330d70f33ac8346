"""Whether a quotation stands where its locator says, read from the source file by other means.

Nothing in these modules uses Wellread's loaders.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.place_words import Check, Found
from benchmarks.places_lines import in_markdown, in_records, in_rst, in_text
from benchmarks.places_office import in_docx, in_pptx, in_xlsx
from benchmarks.places_pages import in_feed, in_html, in_json_feed, in_pdf
from benchmarks.places_timed import in_captions, in_speech
from wellread.types import Locator


def in_json(path: Path, quote: str, locator: Locator, address: str) -> Found:
    """JSON is a talk when the locator has a time, else a feed."""
    check = in_json_feed if locator.begin is None else in_speech
    return check(path, quote, locator, address)


CHECKS: dict[str, Check] = {
    ".pdf": in_pdf,
    ".vtt": in_captions,
    ".srt": in_captions,
    ".sbv": in_captions,
    ".md": in_markdown,
    ".txt": in_text,
    ".jsonl": in_records,
    ".csv": in_records,
    ".json": in_json,
    ".rst": in_rst,
    ".docx": in_docx,
    ".pptx": in_pptx,
    ".xlsx": in_xlsx,
    ".xml": in_feed,
    ".html": in_html,
    ".htm": in_html,
}
