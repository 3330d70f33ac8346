"""Breaks the code at chosen places and sees whether a test fails for each.

    python -m benchmarks.broken             # every place, one after the other
    python -m benchmarks.broken --only 3,7  # some of them

A place is a piece of source text that stands once in ``src``, what it is broken to, and the tests
that are to notice. The tree is copied, so nothing of it changes. A suite that is made smaller has
to notice at every place that the longer one noticed at.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.paths import ROOT
from benchmarks.record import save

COPIED = ("src", "tests", "benchmarks", "pyproject.toml", "README.md", "docs", "examples", "deploy")
LEFT = shutil.ignore_patterns(".cache", "__pycache__")
MOST_SECONDS = 900  # of the tests of one place


@dataclass(frozen=True, slots=True)
class Place:
    """What is broken: ``text`` of the source becomes ``broken``; ``tests`` are to fail."""

    fault: str
    text: str
    broken: str
    tests: str


PLACES = (
    Place(
        "the catalogue does not note what is about to be written",
        "kb.catalogue.intend(versions)",
        "pass",
        "tests/ingest/test_kill.py tests/ingest tests/store",
    ),
    Place(
        "rows of old versions stay in the index",
        "index.remove([key for key in keys if live.get(key[0]) != key[1]])",
        "pass",
        "tests/ingest/test_run.py tests/ingest/test_verify_stores.py tests/ingest tests/store",
    ),
    Place(
        "two processes hold the writers' lock",
        "lock.acquire(timeout=seconds)",
        "pass",
        "tests/ingest/test_run.py tests/store tests/ingest",
    ),
    Place(
        "an asker reads documents of every collection",
        '"documents": _collection_readable("t.collection"),',
        '"documents": "1 = 1",',
        "tests/serve/rights/test_rights_routes.py tests/serve/rights tests/store",
    ),
    Place(
        "an asker reads others' answers",
        '"answers": _ANSWER,',
        '"answers": "1 = 1",',
        "tests/serve/rights/test_rights_routes.py tests/serve/rights tests/store",
    ),
    Place(
        "every password fits",
        "    except (VerificationError, InvalidHashError):\n        return False",
        "    except (VerificationError, InvalidHashError):\n        return True",
        "tests/serve/accounts/test_sign_in.py tests/serve/accounts tests/store",
    ),
    Place(
        "pages of other addresses make requests",
        "if not is_foreign(scope) or (_is_visit(scope) and not _searches(scope)):",
        "if scope:",
        "tests/serve/guards/test_foreign_requests.py tests/serve",
    ),
    Place(
        "nobody comes too often",
        "if not self._try_limiter.hit(item, limit, client):",
        "if self._try_limiter.hit(item, limit, client) is None:",
        "tests/serve/accounts/test_sign_in.py tests/serve",
    ),
    Place(
        "private addresses are fetched",
        "if not is_public(address):",
        "if address is None:",
        "tests/ingest/test_web_guard.py tests/ingest",
    ),
    Place(
        "hidden text of a web page is read",
        'or hides_text(element, element.get("style") or "")',
        "or False",
        "tests/ingest/test_hidden_text.py tests/ingest",
    ),
    Place(
        "a passage begins one character late",
        "            Cut(span=span, context=_context(title, marks, span), ",
        "            Cut(span=Span(start=span.start + 1, end=span.end), "
        "context=_context(title, marks, span), ",
        "tests/ingest/test_passages.py tests/ingest/test_run.py tests/ingest",
    ),
    Place(
        "minutes of a recording count as hours",
        "int(clock[1] or 0) * 3600 + int(clock[2]) * 60",
        "int(clock[1] or 0) * 3600 + int(clock[2]) * 3600",
        "tests/text",
    ),
    Place(
        "a part of a sentence counts as a quotation",
        "return None if any(map(str.isalnum, rest)) else",
        "return None if False else",
        "tests/ask/test_planted_orders.py tests/ask",
    ),
    Place(
        "an amount that stands nowhere is not warned of",
        "reason = f\"the number {', '.join(missing)} does not occur in the cited text\"",
        "name, method, reason = VerdictName.NOT_CHECKED, NEAREST, NOT_JUDGED",
        "tests/ask/test_answer.py tests/ask",
    ),
    Place(
        "words of sources and meaning weigh the wrong way round",
        "weights.get(name, 0.0) * scores.get(passage_id, 0.0) for name, scores in scaled.items()",
        "(1 - weights.get(name, 0.0)) * scores.get(passage_id, 0.0)"
        " for name, scores in scaled.items()",
        "tests/ask/test_rank.py tests/ask tests/evaluation",
    ),
    Place(
        "an unknown citation key of a model is kept",
        "hallucinated_citations=written.unknown_keys,",
        "hallucinated_citations=0,",
        "tests/ask/test_draft.py tests/ask/test_answer.py tests/ask",
    ),
    Place(
        "a damaged file of an export is unpacked",
        "if written.get(name) != digest:",
        "if name not in written:",
        "tests/ingest/test_importing.py tests/ingest tests/store tests/serve",
    ),
    Place(
        "a damaged backup is taken for whole",
        "return _digest_of(self.path) == self.digest",
        "return True",
        "tests/store/test_copies.py tests/store tests/ingest",
    ),
    Place(
        "a file that is too large is read",
        "if request.max_bytes and before.st_size > request.max_bytes:",
        "if request.max_bytes < 0:",
        "tests/ingest/test_run.py tests/ingest/test_discover.py tests/ingest",
    ),
    Place(
        "text that drives a terminal is printed",
        "def harmless(text: str) -> str:",
        "def harmless(text: str) -> str:\n    return text\n\n\ndef harmful(text: str) -> str:",
        "tests/serve/test_raw_characters.py tests/text tests/serve tests/ask",
    ),
)


def main() -> None:
    """Break every place and print which of them a test noticed; save the list."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="numbers of places, with commas")
    parser.add_argument("--find", action="store_true", help="only look whether each stands once")
    options = parser.parse_args()
    numbers = [int(number) for number in options.only.split(",") if number]
    noticed: dict[str, str] = {}
    for number, place in enumerate(PLACES, 1):
        if numbers and number not in numbers:
            continue
        module = module_of(place)
        if not options.find:
            noticed[place.fault] = first_failure(place, module)
        print(f"{number:2} {place.fault}: {noticed.get(place.fault, module)}", flush=True)
    if noticed and not numbers:
        print(save("broken", {"noticed": noticed}))
    missed = [fault for fault, test in noticed.items() if not test]
    if missed:
        raise SystemExit(f"no test failed for: {'; '.join(missed)}")


def module_of(place: Place) -> Path:
    """The module that holds the place, seen from the root.

    Raises:
        SystemExit: its text stands nowhere in ``src``, or more than once.
    """
    files = [path for path in (ROOT / "src").rglob("*.py") if place.text in path.read_text("utf-8")]
    if len(files) != 1 or files[0].read_text("utf-8").count(place.text) != 1:
        raise SystemExit(f"{place.text!r} stands {len(files)} times in src: name another place")
    return files[0].relative_to(ROOT)


def first_failure(place: Place, module: Path) -> str:
    """The first test that fails once the place is broken; empty when none does."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "wellread"
        copy.mkdir()
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, copy / name, ignore=LEFT)
            elif (ROOT / name).exists():
                shutil.copy(ROOT / name, copy / name)
        broken = copy / module
        source = broken.read_text(encoding="utf-8")
        broken.write_text(source.replace(place.text, place.broken), encoding="utf-8")
        for tests in filter(lambda name: (ROOT / name).exists(), place.tests.split()):
            # File by file: a folder is asked only where the files before it noticed nothing.
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "--no-header", tests],
                cwd=copy,
                env={**os.environ, "PYTHONPATH": str(copy / "src")},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                timeout=MOST_SECONDS,
                check=False,
            )
            for line in done.stdout.splitlines():
                if line.startswith("FAILED "):
                    return line.split()[1]
    return ""


if __name__ == "__main__":
    main()
