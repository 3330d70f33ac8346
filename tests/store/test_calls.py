"""Calls of models in the catalogue: sums, budgets that several processes share, old ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.doubles.recorded_calls import forget_calls, newest_calls

from wellread.store.catalogue import Catalogue
from wellread.store.catalogue import run_logs as calls_module
from wellread.store.catalogue.run_logs import Limit
from wellread.values.calls import EMBED_PASSAGE, Call

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
CALL = Call(
    purpose="answer", provider="openai", model="gpt", input_tokens=100, output_tokens=10,
    cost=0.25, seconds=1.5,
)  # fmt: skip


def call(cost: float = 0.25, *, purpose: str = "answer", error: str = "") -> Call:
    return Call(
        purpose=purpose, provider="openai", model="gpt", input_tokens=100, output_tokens=10,
        cost=cost, seconds=1.5, error=error,
    )  # fmt: skip


def test_what_is_recorded_comes_back(catalogue: Catalogue) -> None:
    catalogue.calls.record(CALL)
    catalogue.calls.record(call(purpose="judge", error="timed out"))
    assert newest_calls(catalogue, 5) == [call(purpose="judge", error="timed out"), CALL]
    forget_calls(catalogue)
    assert newest_calls(catalogue, 5) == []


def test_calls_are_summed_by_day_purpose_and_model(catalogue: Catalogue) -> None:
    for one in (CALL, CALL, call(0.5, error="failed"), call(0.1, purpose="judge")):
        catalogue.calls.record(one)
    first, second = catalogue.calls.totals(LONG_AGO)
    assert (first.day, first.purpose, first.provider, first.model) == (
        datetime.now(UTC).date(), "answer", "openai", "gpt",
    )  # fmt: skip
    assert (first.calls, first.failed, first.input_tokens, first.output_tokens) == (3, 1, 300, 30)
    assert first.cost == pytest.approx(1.0)
    assert first.seconds == pytest.approx(4.5)
    assert (second.purpose, second.calls) == ("judge", 1)
    assert catalogue.calls.totals(datetime.now(UTC) + timedelta(days=1)) == []


class Fixed(datetime):
    """Midnight is near, and the zone is another one."""

    @classmethod
    def now(cls, tz: object = None) -> Fixed:
        return cls(2020, 2, 29, 23, 59, tzinfo=UTC)


def test_a_budget_is_not_spent_on_reading_material_in(catalogue: Catalogue) -> None:
    catalogue.calls.record(call(0.5))
    catalogue.calls.record(call(7.0, purpose=EMBED_PASSAGE))
    assert catalogue.calls.spent(LONG_AGO) == pytest.approx(0.5)


def test_what_is_set_aside_counts_until_it_is_settled(catalogue: Catalogue) -> None:
    limits = [Limit(since=LONG_AGO, dollars=1.0)]
    number = catalogue.calls.reserve(call(0.75), limits)
    assert isinstance(number, int)
    assert newest_calls(catalogue, 1)[0].error == "did not end"
    assert catalogue.calls.reserve(call(0.5), limits) == limits[0]
    catalogue.calls.settle(number, call(0.125))
    assert newest_calls(catalogue, 5) == [call(0.125)]
    assert isinstance(catalogue.calls.reserve(call(0.5), limits), int)


def test_every_limit_has_its_say(catalogue: Catalogue) -> None:
    catalogue.calls.record(call(0.75))
    future = datetime.now(UTC) + timedelta(hours=1)
    wide, narrow = Limit(since=LONG_AGO, dollars=9.0), Limit(since=LONG_AGO, dollars=1.0)
    fresh = Limit(since=future, dollars=0.5)
    assert catalogue.calls.reserve(call(0.5), [wide, narrow]) == narrow
    assert isinstance(catalogue.calls.reserve(call(0.5), [wide, fresh]), int)


def test_two_processes_share_a_budget(tmp_path: Path, place_of: Callable[[Path], str]) -> None:
    path = tmp_path / "catalogue.db"
    Catalogue.open(path).close()
    script = Path(__file__).with_name("spending_process.py")
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), place_of(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    got = [int(process.communicate(timeout=600)[0]) for process in processes]
    assert sum(got) == 16  # of 40 that were tried: sixteenths of a dollar
    catalogue = Catalogue.open(path)
    assert catalogue.calls.spent(LONG_AGO) == pytest.approx(1.0)
    catalogue.close()


def test_calls_of_years_ago_are_forgotten(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(calls_module, "datetime", Fixed)
        catalogue.calls.record(call(9.0))
    monkeypatch.setattr(calls_module, "CALLS_PER_SWEEP", 2)
    catalogue.calls.record(CALL)
    assert newest_calls(catalogue, 5) == [CALL]
