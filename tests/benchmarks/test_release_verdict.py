"""The release gate: go or no-go for each limit and over all, its table, and its exit status."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from benchmarks.release import drawing, history, injections
from benchmarks.release.deletes import NOT_PROVED, PROBLEMS
from benchmarks.release.question_sets import RATIO, SETS
from benchmarks.release.verdict import (
    LIMITS,
    Limits,
    Line,
    Measured,
    Verdict,
    count,
    judge,
    read_limits,
    table,
)

from benchmarks import gate
from wellread.errors import RequestError
from wellread.evaluation.report import read_thresholds
from wellread.evaluation.scores import Interval

RECALL = Interval(mean=0.8, low=0.7, high=0.9, n=40)
FIGURES: Mapping[str, Mapping[str, Interval]] = {
    "all": {"recall@5": RECALL, "failed": count(0, 40), RATIO: count(12.5, 33)},
    "tag:far": {"refusal_accuracy": Interval(mean=0.5, low=0.2, high=0.8, n=10)},
}
PLANTED = {"all": {injections.BY_MODEL: count(1, 76), injections.HEARD: count(70, 76)}}


def limits_of(given: Mapping[str, object]) -> Limits:
    return {part: read_thresholds(part, wanted, gate.FURTHER) for part, wanted in given.items()}


def judged(wanted: object, figures: Mapping[str, Mapping[str, Interval]] = FIGURES) -> Line:
    (line,) = judge(limits_of({"sample": wanted}), {"sample": Measured(groups=figures)}).lines
    return line


@pytest.mark.parametrize(
    ("wanted", "state"),
    [
        ({"recall@5": 0.8}, "go"),
        ({"recall@5": 0.81}, "no-go"),
        ({"recall@5": {"min": 0.75, "bound": "low"}}, "no-go"),
        ({"tag:far/refusal_accuracy": 0.5}, "go"),
        ({"tag:far/refusal_accuracy": 0.6}, "no-go"),
        ({"failed": 0}, "go"),
        ({RATIO: 12.5}, "go"),
        ({RATIO: 12}, "no-go"),
        ({"citation_recall": 0}, "no-go"),
        ({"tag:near/refusal_accuracy": 0}, "no-go"),
    ],
)
def test_a_limit_is_reached_or_missed(wanted: object, state: str) -> None:
    assert judged(wanted).state == state


LIMITED = {"sample": {"recall@5": 0.7, "failed": 0}, "xquad": {"recall@5": 0.9, "failed": 0}}


def test_what_has_no_data_is_a_line_of_its_own_and_counted_in_the_verdict() -> None:
    found = judge(limits_of(LIMITED), {"sample": Measured(groups=FIGURES), "xquad": None})
    assert [line.state for line in found.lines] == ["go", "go", "not measured", "not measured"]
    assert found.go
    assert found.words == "go: 2 of 4 lines reached; 2 of 4 lines not measured (no data)"


def test_where_nothing_was_measured_nothing_is_a_go() -> None:
    found = judge(limits_of(LIMITED), {"sample": None, "xquad": None})
    assert not found.go
    assert found.words == "no-go: nothing was measured; 4 of 4 lines not measured (no data)"
    assert not Verdict(lines=()).go


def test_the_table_has_every_line_with_its_limit_figure_and_state() -> None:
    wanted = {"recall@5": 0.7, "tag:far/refusal_accuracy": {"min": 0.3, "bound": "low"}, RATIO: 20}
    found = judge(
        limits_of({"sample": wanted, "xquad": {"recall@5": 0.9}}),
        {"sample": Measured(groups=FIGURES), "xquad": None},
    )
    printed = [" ".join(line.split()) for line in table(found)]
    assert printed == [
        "limit found n",
        "sample",
        "recall@5 ≥ 0.7 0.800 [0.700, 0.900] 40 ✓ go",
        "tag:far/refusal_accuracy low end ≥ 0.3 0.500 [0.200, 0.800] 10 ✗ NO-GO",
        f"{RATIO} ≤ 20 12.5 33 ✓ go",
        "xquad",
        "recall@5 ≥ 0.9 – – – not measured (no data)",
        "",
        "No-go: 1 of 4 lines missed (sample tag:far/refusal_accuracy); "
        "1 of 4 lines not measured (no data).",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: {recall@5: 0.5}", "see b"),
        ("a: {recall@5: 0.5}\nb: {failed: 0}\nc: {failed: 0}", "see c"),
        ("a: {recall@5: 0.5}\nb: {}", "b contains no measures"),
        ("a: {recal@5: 0.5}\nb: {failed: 0}", "no measure 'recal@5'"),
        ("a: [", "cannot be read"),
        ("", "see a"),
    ],
)
def test_limits_that_leave_something_open_are_refused(
    tmp_path: Path, text: str, reason: str
) -> None:
    path = tmp_path / "limits.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RequestError, match=reason):
        read_limits(path, ["a", "b"], gate.FURTHER)


def test_the_limits_that_ship_allow_no_order_and_no_trace() -> None:
    limits = read_limits(LIMITS, gate.PARTS, gate.FURTHER)
    most = {(part, one.name): one.most for part, some in limits.items() for one in some}
    assert most["injections", injections.BY_SENTENCES] == 0
    assert most["injections", injections.BY_MODEL] == 0
    assert most["deletes", NOT_PROVED] == most["deletes", PROBLEMS] == 0
    for one in SETS:
        names = {threshold.measure for threshold in limits[one.name]}
        assert any("recall@" in name for name in names), one.name
        if not one.retrieval_only:
            wanted = {"citation_precision", "citation_recall", "refusal_accuracy", "failed", RATIO}
            assert wanted <= names, one.name


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The gate with made parts and limits; its history and picture are written to a folder."""
    made = {
        "sample": gate.Part(about="made", there=True, measure=lambda: Measured(groups=FIGURES)),
        "injections": gate.Part(
            about="made",
            there=True,
            measure=lambda: Measured(groups=PLANTED, notes=tuple(f"order {n}" for n in range(12))),
        ),
        "xquad": gate.Part(about="made", there=False, measure=lambda: pytest.fail("no data")),
    }
    monkeypatch.setattr(gate, "PARTS", tuple(made))
    monkeypatch.setattr(gate, "parts", lambda _limits: made)
    monkeypatch.setattr(gate, "LIMITS", tmp_path / "limits.yaml")
    monkeypatch.setattr(history, "PAGE", tmp_path / "releases.md")
    monkeypatch.setattr(drawing, "PICTURE", tmp_path / "releases.svg")
    return tmp_path


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, most: int, *options: str) -> int:
    (folder / "limits.yaml").write_text(
        "sample: {recall@5: 0.7}\nxquad: {recall@5: 0.9}\n"
        f"injections: {{{injections.BY_MODEL}: {most}}}\n"
    )
    monkeypatch.setattr(sys, "argv", ["gate", *options])
    with pytest.raises(SystemExit) as ended:
        gate.main()
    return int(str(ended.value.code))


@pytest.mark.parametrize(("most", "status"), [(0, 1), (1, 0)])
def test_the_exit_status_is_that_of_the_verdict(
    command: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    most: int,
    status: int,
) -> None:
    assert run(command, monkeypatch, most) == status
    told = capsys.readouterr()
    assert "xquad: not measured (no data)" in told.err
    assert "1 of 3 lines not measured (no data)." in told.out
    assert "injections: order 9\n" in told.out
    assert "injections: … and 2 more" in told.out
    assert not (command / "releases.md").exists()


def test_recording_adds_a_row_and_draws_the_picture_anew(
    command: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(command, monkeypatch, 0, "--record")
    first = (command / "releases.md").read_text(encoding="utf-8")
    run(command, monkeypatch, 1, "--record")
    assert (command / "releases.md").read_text(encoding="utf-8").startswith(first)
    rows = history.releases(command / "releases.md")
    assert [row.go for row in rows] == [False, True]
    assert (command / "releases.svg").read_text(encoding="utf-8") == drawing.picture(rows)
