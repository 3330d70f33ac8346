"""A fact-checking model behind an HTTP server: ``{document, claim}`` gives a probability.

The address is posted to as it is set. The reply is an object with ``probability`` or ``score``
(0 to 1), or such an object in a list of one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from wellread.errors import ModelError
from wellread.models.json_http import Poster, Target, sendable
from wellread.models.judge import Case, Ruling, ruling_of

RETRIES = 1
AT_ONCE = 4  # requests
MAX_DOCUMENT, MAX_CLAIM = 20_000, 2_000  # characters; more is cut off
FIELDS = ("probability", "score")
HINTS = {
    400: "the server must take {document, claim}",
    404: "verification.url is the whole address of the service, its path included",
    422: "the server must take {document, claim}",
}


class HttpJudge:
    """Rules by a server's probabilities. Safe to call from several threads.

    Claims are sent four at a time. Each may take the time limit; rate limits, server errors and
    broken connections are tried once more while it is not over.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str = "",
        timeout: float = 20.0,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            url: the address that is posted to.
            api_key: sent as bearer token; empty sends none.
            timeout: seconds that one try may take, the whole reply included.
            sleep: waits between two tries.

        Raises:
            SettingsError: ``url`` is not an http(s) URL, or the key cannot be sent.
        """
        base, _, path = url.rstrip("/").rpartition("/")
        rooted = base.endswith(":/")  # "http://host": there is no path
        target = Target(
            section="verification",
            url=url.rstrip("/") if rooted else base,
            path="" if rooted else path,
            what="fact-checking",
            api_key=api_key,
            timeout=timeout,
            retries=RETRIES,
            patience=timeout,
            hints=HINTS,
        )
        self._poster = Poster(target, sleep=sleep)

    @property
    def identity(self) -> str:
        """The server."""
        return f"http:{self._poster.host}"

    def close(self) -> None:
        """Close the connections; the judge cannot be used any more."""
        self._poster.close()

    def __call__(self, cases: Sequence[Case]) -> list[Ruling]:
        """A ruling for each of ``cases``, in order; one whose request fails is undecided.

        Raises:
            ModelTimeoutError: no reply within the time limit, for any of them.
            ModelError: the server refused, could not be reached, or replied with nonsense, for
                each of them.
        """
        if not cases:
            return []
        with ThreadPoolExecutor(min(AT_ONCE, len(cases)), "wellread-judge") as pool:
            found = list(pool.map(self._outcome, cases))
        failures = [each for each in found if isinstance(each, ModelError)]
        if len(failures) == len(cases):
            raise failures[0]
        return [
            Ruling(name="undecided", reason=str(each)) if isinstance(each, ModelError) else each
            for each in found
        ]

    def _outcome(self, case: Case) -> Ruling | ModelError:
        try:
            return self._rule(case)
        except ModelError as error:
            return error

    def _rule(self, case: Case) -> Ruling:
        body = {
            "document": sendable("\n".join(case.passages), MAX_DOCUMENT),
            "claim": sendable(case.claim, MAX_CLAIM),
        }
        reply = self._poster.post(body)
        try:
            return ruling_of(_probability(reply))
        except ValueError as error:
            raise self._poster.unusable(
                error, "the server must reply with {probability} or {score}, from 0 to 1"
            ) from error


def _probability(reply: object) -> float:
    """The probability in ``reply``.

    Raises:
        ValueError: there is none, or it is not from 0 to 1.
    """
    if isinstance(reply, list) and len(reply) == 1:
        reply = reply[0]
    if not isinstance(reply, dict):
        raise ValueError("it is not an object")
    value = next((reply[field] for field in FIELDS if field in reply), None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"its probability is {value!r}")
    return float(value)
