"""A part is opened by one of the threads that ask for it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from wellread.models.base import opened_once

THREADS = 4


class Home:
    def __init__(self) -> None:
        self.opened = 0
        self.start = threading.Barrier(THREADS)

    @opened_once
    def part(self) -> object:
        """What is opened."""
        self.opened += 1
        time.sleep(0.05)  # the others come meanwhile
        return object()


def test_threads_that_come_at_once_get_the_same() -> None:
    home = Home()

    def ask(_: int) -> object:
        home.start.wait(10)
        return home.part

    with ThreadPoolExecutor(THREADS) as threads:
        given = list(threads.map(ask, range(THREADS)))
    assert len(set(map(id, given))) == 1
    assert home.opened == 1


def test_it_is_opened_again_after_it_was_let_go_and_for_each_object() -> None:
    home = Home()
    first = home.part
    assert home.__dict__.pop("part") is first
    assert home.part is not first
    assert Home().part is not home.part
    assert home.opened == 2
