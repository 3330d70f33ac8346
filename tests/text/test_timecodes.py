"""Places in a recording, as people type them."""

from __future__ import annotations

import pytest

from wellread.errors import RequestError
from wellread.text.periods import seconds_of


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [("90", 90), ("1:30", 90), ("61:05", 3_665), ("1:01:30", 3_690), ("0:07.5", 7.5), (" 12 ", 12)],
)
def test_a_place_is_read_in_seconds(typed: str, seconds: float) -> None:
    assert seconds_of(typed) == seconds


@pytest.mark.parametrize("typed", ["", "1:99", "1:60:00", "a minute", "1:2:3:4", "-5"])
def test_what_is_no_place_is_refused(typed: str) -> None:
    with pytest.raises(RequestError, match="not a time in a recording"):
        seconds_of(typed)
