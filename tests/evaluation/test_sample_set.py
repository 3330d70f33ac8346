"""The evaluation set of the packaged sample: the same questions as the sample's tests ask."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest

from wellread.evaluation.cases import Case, Resolver, read_cases
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.features.home_and_jobs import SAMPLE, SAMPLE_FOLDERS
from wellread.testing.embedding import ReadableEmbedder

QUESTIONS = Path(__file__).parents[1] / "sample_questions.jsonl"


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    with as_file(files("wellread.sample") / "evaluation.jsonl") as path:
        return read_cases(path)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    home = tmp_path_factory.mktemp("sample")
    with (
        open_kb(home, embedder=ReadableEmbedder()) as kb,
        as_file(files("wellread.sample")) as folder,
    ):
        add(kb, [str(folder / name) for name in SAMPLE_FOLDERS], collection=SAMPLE)
        yield kb


def as_asked(line: dict[str, Any]) -> tuple[str, bool, list[tuple[str, str]], tuple[str, ...]]:
    places = [(line["uri_suffix"], line["quote"])] if line["answerable"] else []
    return line["question"], line["answerable"], places, (line["kind"],)


def test_it_has_the_questions_of_the_tests(cases: list[Case]) -> None:
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    assert [as_asked(json.loads(line)) for line in lines] == [
        (
            case.turns[0],
            case.expected.answerable,
            [(span.document, span.quote) for span in case.expected.spans],
            case.tags,
        )
        for case in cases
    ]


def test_everything_that_is_expected_is_in_the_sample(
    sample: KnowledgeBase, cases: list[Case]
) -> None:
    resolver = Resolver(sample)
    for case in cases:
        targets = resolver.targets(case)
        assert targets.missing == (), case.id
        assert all(len(places) == 1 for places in targets.spans.values()), case.id


def test_adding_the_folder_of_the_sample_leaves_the_set_out(tmp_path: Path) -> None:
    with (
        open_kb(tmp_path, embedder=ReadableEmbedder()) as kb,
        as_file(files("wellread.sample")) as folder,
    ):
        report = add(kb, [str(folder)], collection="all")
        assert report.counts()["added"] == 27
        assert not [row.uri for row in report.rows if "evaluation" in row.uri]
