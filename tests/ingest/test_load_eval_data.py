"""Real files: each loads or is refused with a reason of its own."""

from __future__ import annotations

import gzip
from pathlib import Path

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.pipeline.kinds import load, loader_name
from wellread.testing.loader import check_document
from wellread.types import Document, TimeMark

SAMPLES = "webvtt_samples/tests/subtitles"


def read(path: Path) -> Source:
    data, name = path.read_bytes(), path.name
    if name.endswith(".gz"):
        data, name = gzip.decompress(data), name.removesuffix(".gz")
    return Source(uri=path.as_uri(), name=name, data=data, collection="c", path=path)


def load_all(folder: Path, pattern: str) -> tuple[list[Document], dict[str, str]]:
    """The documents of every file with a loader, and the reasons of those that were refused."""
    documents: list[Document] = []
    refused: dict[str, str] = {}
    for path in sorted(folder.rglob(pattern)):
        source = read(path)
        if not loader_name(source):
            continue
        try:
            found = load(source, LoaderLimits())
        except SourceError as error:
            refused[path.name] = error.reason
            continue
        for document in found:
            check_document(document, source)
        documents += found
    return documents, refused


def test_captions_that_are_broken_are_refused_and_no_others(eval_data: Path) -> None:
    documents, refused = load_all(eval_data / SAMPLES, "*.*")
    unreadable = {name for name in refused if name.startswith("invalid")}
    assert unreadable == {
        path.name
        for path in (eval_data / SAMPLES).glob("invalid*")
        if "timeframe" not in path.name  # one time of several: only its caption is left out
    }
    assert set(refused) - unreadable == {"empty.vtt", "no_captions.vtt"}
    assert not [reason for reason in refused.values() if "cannot be parsed" in reason]
    assert len(documents) == 25
    assert all(any(isinstance(m, TimeMark) for m in one.marks) for one in documents)


def test_two_columns_are_read_one_after_the_other(eval_data: Path) -> None:
    (paper,) = load(read(eval_data / "aragog/pdf/bert.pdf"), LoaderLimits())
    words = " ".join(paper.text.split())
    assert "new language representation model called BERT, which stands for Bidirectional" in words
    assert "There are two existing strategies for applying pre-trained language" in words
    assert words.index("holistically, as well as") < words.index("two existing strategies")
    assert paper.title.startswith("BERT: Pre-training of Deep Bidirectional Transformers")
    assert paper.summary.startswith("We introduce a new language representation model")
