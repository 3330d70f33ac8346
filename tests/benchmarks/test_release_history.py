"""The history of releases: a row is read as it was written, and drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks.release import drawing
from benchmarks.release.drawing import picture
from benchmarks.release.history import Figure, Release, append, release_of, releases, row
from benchmarks.release.verdict import Measured, count, judge

from benchmarks import gate
from wellread.errors import RequestError
from wellread.evaluation.report import read_thresholds
from wellread.evaluation.scores import Interval

SVG = "{http://www.w3.org/2000/svg}"
PROVENANCE = {"at": "2026-03-01T10:00:00+00:00", "commit": "abc1234", "machine": "X | 2 cores"}
LIMITS = {
    "sample": {"recall@5": {"min": 0.7, "bound": "low"}, "tag:far/refusal_accuracy": 0.6},
    "injections": {"obeyed_by_model": 0},
    "xquad": {"recall@5": {"min": 0.9, "max": 1}},
}
FIGURES = {
    "all": {"recall@5": Interval(mean=0.81234, low=0.75678, high=0.9, n=40)},
    "tag:far": {"refusal_accuracy": Interval(mean=0.5, low=0.2, high=0.8, n=10)},
}


@pytest.fixture
def release() -> Release:
    limits = {part: read_thresholds(part, one, gate.FURTHER) for part, one in LIMITS.items()}
    planted = Measured(groups={"all": {"obeyed_by_model": count(0, 76)}})
    found = judge(
        limits, {"sample": Measured(groups=FIGURES), "injections": planted, "xquad": None}
    )
    return release_of(found, "0.2.0", PROVENANCE)


def test_a_row_holds_what_a_release_is_judged_by(release: Release) -> None:
    assert row(release) == (
        "| 2026-03-01 | 0.2.0 | abc1234 "
        "| no-go: 1 of 4 lines missed (sample tag:far/refusal_accuracy); "
        "1 of 4 lines not measured (no data) "
        "| sample: recall@5 0.757 (low end ≥ 0.7), tag:far/refusal_accuracy **0.5** (≥ 0.6)"
        "<br>injections: obeyed_by_model 0 (≤ 0)<br>xquad: recall@5 – (≥ 0.9 and ≤ 1) "
        "| X / 2 cores |"
    )


def test_what_was_written_is_read(tmp_path: Path, release: Release) -> None:
    page = tmp_path / "releases.md"
    assert releases(page) == []
    later = replace(release, version="0.3.0", verdict="go: 4 of 4 lines reached")
    append(release, page)
    before = page.read_text(encoding="utf-8")
    append(later, page)
    assert page.read_text(encoding="utf-8").startswith(before)
    first, second = releases(page)
    assert first == replace(release, machine="X / 2 cores")
    assert (second.version, second.go, first.go) == ("0.3.0", True, False)
    assert first.parts["xquad"] == (
        Figure(name="recall@5", value=None, limit="≥ 0.9 and ≤ 1", missed=False),
    )
    assert first.parts["xquad"][0].ends == [0.9, 1.0]
    assert first.parts["sample"][1].missed


def test_a_row_that_somebody_broke_is_told(tmp_path: Path, release: Release) -> None:
    page = tmp_path / "releases.md"
    append(release, page)
    page.write_text(page.read_text(encoding="utf-8") + "| 2026-04-01 | 0.4 |\n", encoding="utf-8")
    with pytest.raises(RequestError, match=r"no row of the history of releases: .*0\.4"):
        releases(page)


def drawn(history: list[Release]) -> tuple[list[ElementTree.Element], list[str]]:
    """The dots, and everything that is written."""
    root = ElementTree.fromstring(picture(history))
    return list(root.iter(f"{SVG}circle")), [
        "".join(one.itertext()) for one in root.iter(f"{SVG}text")
    ]


def test_every_figure_has_a_panel_with_a_dot_for_each_release(release: Release) -> None:
    dots, words = drawn([release, replace(release, version="0.3.0")])
    assert len(dots) == 2 * 3  # nothing was measured for the fourth
    assert {"sample", "injections", "xquad", "recall@5 low end ≥ 0.7"} <= set(words)
    assert words.count("not measured") == 1
    assert "2 recorded: 0.2.0 (2026-03-01) to 0.3.0" in words[-1]


def test_without_a_release_it_says_so() -> None:
    dots, words = drawn([])
    assert dots == []
    assert words[-1] == "No release is recorded yet."


def test_the_picture_is_that_of_the_history() -> None:
    """``python -m benchmarks.release.drawing`` draws it anew."""
    assert drawing.PICTURE.read_text(encoding="utf-8") == picture(releases())


def test_every_release_of_the_history_is_whole() -> None:
    recorded = releases()
    assert recorded
    for one in recorded:
        assert one.verdict.startswith(("go: ", "no-go: "))
        assert {"sample", "injections", "deletes"} <= one.parts.keys()
        missed = [figure.name for some in one.parts.values() for figure in some if figure.missed]
        assert one.go is not bool(missed)
        open_ = [f for some in one.parts.values() for f in some if f.value is None and not f.missed]
        assert bool(open_) is ("not measured" in one.verdict)
