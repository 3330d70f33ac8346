"""How long each step of an answer took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from wellread.answers import Step, StepEvent
from wellread.calls import Work, ended


@dataclass(slots=True)
class Clock:
    """Times the steps of one answer."""

    steps: list[Step] = field(default_factory=list)
    _last: float = field(default_factory=time.perf_counter)

    def lap(self, name: str, found: int) -> StepEvent:
        """End the step ``name`` here."""
        now = time.perf_counter()
        step = Step(name=name, seconds=round(now - self._last, 4), found=found)
        self._last = now
        self.steps.append(step)
        ended(Work(name=name, seconds=step.seconds, facts={"found": found}))
        return StepEvent(step=step)
