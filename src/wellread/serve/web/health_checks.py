"""``verify`` asked for by a page: one at a time, in a thread; its result is kept until the next."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import UTC, datetime

from wellread.errors import WellreadError
from wellread.ingest.integrity.verify import VerifyReport, verify
from wellread.kb import KnowledgeBase
from wellread.serve.error_shapes import INTERNAL, Problem, problem_of

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class HealthCheck:
    """One check; ``report`` or ``problem`` is there once it has ended."""

    repair: bool
    begun: datetime
    ended: datetime | None = None
    report: VerifyReport | None = None
    problem: Problem | None = None


class HealthChecks:
    """The checks of one server."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._lock = threading.Lock()
        self.last: HealthCheck | None = None

    @property
    def running(self) -> bool:
        """Whether a check is going on."""
        return self.last is not None and self.last.ended is None

    def start(self, *, repair: bool) -> None:
        """Begin a check, unless one is going on."""
        with self._lock:
            if self.running:
                return
            self.last = HealthCheck(repair=repair, begun=datetime.now(UTC))
        threading.Thread(target=self._check, args=(self.last,), daemon=True).start()

    def _check(self, check: HealthCheck) -> None:
        try:
            check.report = verify(self._kb, repair=check.repair)
        except WellreadError as error:
            check.problem = problem_of(error)
        except Exception:
            logger.exception("a check of the home failed")
            check.problem = INTERNAL
        check.ended = datetime.now(UTC)
