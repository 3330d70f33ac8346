"""Swapped claims: is a true sentence still called supported when one thing in it was made false?

    python -m benchmarks.swaps
    python -m benchmarks.swaps --show 20 --reader trained

Some 500 claims that are called supported by their own passage (``sets/swapped.py`` says which) are
each given another number, name or subject, or a negation more or less, by rule. Measured is the
share that is called supported still, by what was swapped; and the share of all true claims that are
called supported untouched, so that a checker that says no to everything does not win. Those
whose number is even were read while rules were made ("read"); the others were not. Some swaps are
true by chance, so the floor is not quite nothing. Figures go to ``results/swaps.json``."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.doubles.evidence import evidence_of

from benchmarks.record import save
from benchmarks.sets.claims import KnownVectors
from benchmarks.sets.swapped import Swap, TrueClaim, swaps, true_claims
from wellread.answers import Claim, Verdict
from wellread.ask.verify.check_claims import verify
from wellread.models.readers.lexical import LexicalReader
from wellread.models.readers.trained_model import TrainedModel
from wellread.models.readers.trained_reader import TrainedReader

MOST = {"WiCE": 60, "SciFact": 140, "XQuAD": 220, "Optech": 160, "sample": 120}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A true claim with its verdict, and its swaps with theirs (only where it is supported)."""

    number: int
    true: TrueClaim
    verdict: Verdict
    swapped: tuple[tuple[Swap, Verdict], ...]

    @property
    def read(self) -> bool:
        """Whether its failures were read while rules were made."""
        return self.number % 2 == 0

    @property
    def kept(self) -> bool:
        """Whether the untouched claim is quoted or called supported."""
        return self.verdict.name.whole


def main() -> None:
    """Measure, print, write the result file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument(
        "--show", type=int, default=0, help="failures of each kind of the half read"
    )
    parser.add_argument("--reader", choices=("trained", "lexical"), default="lexical")
    options = parser.parse_args()
    tried = _tried(trained=options.reader == "trained")
    for kind in ("number", "name", "subject", "negation"):
        _show(tried, kind, options.show)
    for one in [one for one in tried if one.read and not one.kept][: 2 * options.show]:
        verdict = one.verdict
        print(f"LOST {one.true.source} {verdict.method} {verdict.reason}: {one.true.claim}")
    found = {half: figures([one for one in tried if one.read == read]) for half, read in _HALVES}
    save(f"swaps{'-trained' * (options.reader == 'trained')}", found)
    print("\n".join(table(found)))


_HALVES = (("read", True), ("held out", False))


def _tried(*, trained: bool) -> list[Tried]:
    embedder = KnownVectors()
    words = LexicalReader(lambda: embedder)
    reader = TrainedReader(words, TrainedModel()) if trained else words

    def verdict(true: TrueClaim, claim: str) -> Verdict:
        evidence = evidence_of(*true.passages, title=true.title)
        keys = tuple(piece.key for piece in evidence)
        return verify([Claim(text=claim, keys=keys)], evidence, reader)[0]

    taken: dict[str, int] = defaultdict(int)
    tried: list[Tried] = []
    for true in true_claims():
        taken[true.source] += 1
        if taken[true.source] > MOST[true.source]:
            continue
        said = verdict(true, true.claim)
        made = swaps(true) if said.name.whole else ()
        tried.append(
            Tried(
                number=len(tried),
                true=true,
                verdict=said,
                swapped=tuple((swap, verdict(true, swap.claim)) for swap in made),
            )
        )
    embedder.keep()
    return tried


def figures(tried: Sequence[Tried]) -> dict[str, Any]:
    """Shares still supported by kind and way, and of untouched claims by source."""
    still: dict[str, list[bool]] = defaultdict(list)
    for one in tried:
        for swap, verdict in one.swapped:
            for key in (swap.kind, f"{swap.kind}: {swap.way}"):
                still[key].append(verdict.name.whole)
    kept: dict[str, list[bool]] = defaultdict(list)
    for one in tried:
        for key in ("all", one.true.source):
            kept[key].append(one.kept)
    return {"still": _shares(still), "untouched": _shares(kept)}


def _shares(said: Mapping[str, Sequence[bool]]) -> dict[str, dict[str, float]]:
    return {
        key: {"share": round(sum(each) / len(each), 4), "n": len(each)}
        for key, each in sorted(said.items())
    }


def table(found: Mapping[str, Any]) -> list[str]:
    """The figures as Markdown."""
    lines = ["| | read | n | held out | n |", "|---|---:|---:|---:|---:|"]
    for group, said in (("still", "still supported"), ("untouched", "untouched, supported")):
        rows = [found[half][group] for half, _ in _HALVES]
        for key in sorted(set(rows[0]) | set(rows[1])):
            cells = [row.get(key, {"share": 0.0, "n": 0}) for row in rows]
            told = " | ".join(f"{cell['share']:.3f} | {cell['n']}" for cell in cells)
            lines.append(f"| {said}: {key} | {told} |")
    return lines


def _show(tried: Sequence[Tried], kind: str, count: int) -> None:
    failed = [
        (swap, verdict)
        for one in tried
        if one.read
        for swap, verdict in one.swapped
        if swap.kind == kind and verdict.name.whole
    ]
    for swap, verdict in failed[:count]:
        print(f"STILL {kind} ({swap.way}) {swap.of.source} {verdict.method}: {swap.claim}")
        print(f"   was: {swap.of.claim}")


if __name__ == "__main__":
    main()
