"""Checks each sentence of an answer against the passages it cites.

The steps stand in ``check_steps.py``: verbatim, fuzzy, facts, support. Around them: a sentence
that reports somebody's words is checked against that person's words alone; one that what it cites
does not bear out is looked for in the rest of the evidence; and a reader that knows more than
words, where there is one, rules on what stays in doubt.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from wellread.answers import Checked, Claim, Evidence, Verdict, VerdictName
from wellread.ask.retrieve.reported_speech import Report, parts_of, reports, whole
from wellread.ask.understand.planted_orders import without_orders
from wellread.ask.verify.check_steps import is_quotation, plain, quotation, settle
from wellread.errors import ModelError
from wellread.models.reader import Case, Checking, Entailment, Reader, excerpts, undecided
from wellread.text.parsed import parse
from wellread.threads.cancellation import stop_if_cancelled

logger = logging.getLogger(__name__)

RULED, FAILED = "reader", "reader failed"
QUOTED = "quoted from the source"
LOOKED = 3  # pieces, those with most of a claim's words, that may bear it out instead
LEAST_SHARE = 0.4  # of its words that such a piece holds
USEFUL = 0.05  # of the score that a citation has to add to be kept for it


def verify(
    claims: Sequence[Claim],
    evidence: Sequence[Evidence],
    lexical: Checking,
    *,
    reader: Reader | None = None,
    most: int = 0,
) -> list[Verdict]:
    """A verdict for each claim, in order; see ``checked``, which tells what became of citations.

    Raises:
        ModelError: the embedder could not be run or reached.
    """
    found = checked(claims, evidence, lexical, reader=reader, most=most)
    return [each.verdict for each in found]


def checked(
    claims: Sequence[Claim],
    evidence: Sequence[Evidence],
    lexical: Checking,
    *,
    voices: Sequence[str] = (),
    reader: Reader | None = None,
    most: int = 0,
) -> list[Checked]:
    """Each claim with its verdict and the citations that it deserves, in order.

    A claim that its citations do not bear out, or that has none, is looked for in all evidence;
    borne out by another piece, it cites that one. Of several citations those that bear nothing
    of it go. A claim that cites nothing and is borne out by nothing is ``uncited``; one that is
    not borne out keeps its citations, so that a reader sees what was claimed.

    Args:
        voices: whose words alone bear out what reports nobody's by name; anybody's when empty.
        reader: rules on doubtful claims, unless it is the lexical one.
        most: claims that the reader may be asked about.

    Raises:
        ModelError: the embedder could not be run or reached.
    """
    checker = _Checker(evidence=tuple(evidence), lexical=lexical, voices=frozenset(voices))
    settled = [checker.check(claim) for claim in claims]
    verdicts = ruled(settled, reader, most)
    return [
        checker.repaired(claim, _named(verdict, cited=checker.cites(claim)))
        for claim, verdict in zip(claims, verdicts, strict=True)
    ]


def against(
    claims: Sequence[Claim],
    candidates: Sequence[Sequence[Evidence]],
    lexical: Checking,
    *,
    reader: Reader | None = None,
    most: int = 0,
) -> list[Verdict]:
    """A verdict for each claim by whichever of its ``candidates`` bears it out best, in order.

    What the claims cite does not count. A verdict by which the claim is not borne out points to
    the passage that comes nearest.

    Raises:
        ModelError: the embedder could not be run or reached.
    """
    settled = []
    for claim, pieces in zip(claims, candidates, strict=True):
        stop_if_cancelled()
        settled.append(_Checker(evidence=tuple(pieces), lexical=lexical).best(claim))
    return ruled(settled, reader, most)


def _named(verdict: Verdict, *, cited: bool) -> Verdict:
    if cited or verdict.name.whole:
        return verdict
    return replace(verdict, name=VerdictName.UNCITED, key="", source=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A verdict by the built-in steps, and the texts that it was made from."""

    claim: str
    verdict: Verdict
    passages: tuple[str, ...]

    @property
    def doubtful(self) -> bool:
        """Whether a reader has something to add: support that is neither clear nor clearly none."""
        return self.verdict.method == "support" and self.verdict.name == VerdictName.PARTIAL


@dataclass(slots=True)
class _Checker:
    """Checks the claims of one answer; what is read of the evidence is read once."""

    evidence: tuple[Evidence, ...]
    lexical: Checking
    voices: frozenset[str] = frozenset()
    _stems: dict[str, frozenset[str]] = field(default_factory=dict)

    def cites(self, claim: Claim) -> bool:
        """Whether the claim cites evidence that there is."""
        return any(piece.key in claim.keys for piece in self.evidence)

    def check(self, claim: Claim) -> Settled:
        """The verdict by what the claim cites, or by other evidence where that is better."""
        cited = [piece for piece in self.evidence if piece.key in claim.keys]
        return _extracted(claim, cited) or self._quoting(self._weighed(claim, cited))

    def _weighed(self, claim: Claim, cited: Sequence[Evidence]) -> Settled:
        told = self._told(claim)
        first = self._settled(claim, told, cited) if cited else None
        if first is not None and first.verdict.name.whole:
            return first
        others = [piece for piece in self.evidence if piece.key not in claim.keys]
        found = self._elsewhere(claim, told, others)
        if first is None:
            return found or Settled(claim=claim.text, verdict=_nothing(), passages=())
        return found if found is not None and found.verdict.name.whole else first

    def best(self, claim: Claim) -> Settled:
        """The verdict by the piece that bears the claim out best, whatever the claim cites."""
        told = self._told(claim)
        found = self._elsewhere(claim, told, self.evidence, least=0.0)
        found = found or Settled(claim=claim.text, verdict=_nothing(), passages=())
        return self._quoting(found)

    def _quoting(self, found: Settled) -> Settled:
        """``found`` as quoted, where all of the sentence stands there; not where it reports it."""
        verdict, said = found.verdict, plain(found.claim)
        if verdict.method != "verbatim":
            return found
        if not any(is_quotation(said, piece.text) for piece in self._pieces([verdict.key])):
            return found
        return replace(found, verdict=replace(verdict, name=VerdictName.QUOTED, reason=QUOTED))

    def repaired(self, claim: Claim, verdict: Verdict) -> Checked:
        """The claim with the citations that it deserves."""
        known = tuple(piece.key for piece in self.evidence if piece.key in claim.keys)
        if not verdict.name.whole or known == (verdict.key,):
            return Checked(claim=claim, verdict=verdict)
        others = [key for key in known if key != verdict.key]
        kept = {key for key in others if self._useful(claim, verdict, known, key)}
        keys = tuple(key for key in claim.keys if key == verdict.key or key in kept)
        if verdict.key not in claim.keys:
            keys = (verdict.key, *keys)
        changed = keys != tuple(key for key in claim.keys if key in known)
        return Checked(claim=replace(claim, keys=keys), verdict=verdict, repaired=changed)

    def _useful(self, claim: Claim, verdict: Verdict, known: Sequence[str], key: str) -> bool:
        """Whether ``key`` bears out the claim at least in part, alone or with the others."""
        told = self._told(claim)
        alone = self._settled(claim, told, self._pieces([key])).verdict
        if alone.name.supports:
            return True
        if verdict.method not in ("support", RULED) or len(known) == 1:
            return False
        rest = self._pieces([each for each in known if each != key])
        return self._settled(claim, told, rest).verdict.score < verdict.score - USEFUL

    def _pieces(self, keys: Sequence[str]) -> list[Evidence]:
        return [piece for piece in self.evidence if piece.key in keys]

    def _elsewhere(
        self,
        claim: Claim,
        told: Sequence[Report],
        pieces: Sequence[Evidence],
        *,
        least: float = LEAST_SHARE,
    ) -> Settled | None:
        """The best verdict by one of ``pieces`` alone."""
        if len(told) == 1 and not told[0].speakers:
            found = quotation(told[0].text, whole(pieces))
            if found is not None:
                return Settled(claim=claim.text, verdict=found, passages=())
        wanted = parse(claim.text).stem_set
        shares = [
            (len(wanted & self._stems_of(piece)) / max(1, len(wanted)), -place)
            for place, piece in enumerate(pieces)
        ]
        near = [
            pieces[-place]
            for share, place in sorted(shares, reverse=True)[:LOOKED]
            if share >= least
        ]
        found_in = [self._settled(claim, told, [piece]) for piece in near]
        return min(found_in, key=lambda each: _order(each.verdict), default=None)

    def _settled(self, claim: Claim, told: Sequence[Report], pieces: Sequence[Evidence]) -> Settled:
        """The verdict by ``pieces`` together: the worst of the claim's clauses."""
        verdicts = [self._by(report, pieces) for report in told]
        return Settled(
            claim=claim.text,
            verdict=max(verdicts, key=_order),
            passages=tuple(without_orders(piece.text) for piece in pieces),
        )

    def _by(self, report: Report, pieces: Sequence[Evidence]) -> Verdict:
        if not report.speakers:
            return settle(report.text, whole(pieces), self.lexical)
        parts = parts_of(pieces, report.speakers)
        verdict = settle(report.text, parts, self.lexical) if parts else _nothing()
        if verdict.name.whole:
            return verdict
        anybody = settle(report.text, whole(pieces), self.lexical)
        if not anybody.name.whole:
            return verdict
        who = " or ".join(sorted(report.speakers))
        return Verdict(
            name=VerdictName.UNSUPPORTED,
            method="speaker",
            score=verdict.score,
            key=anybody.key,
            source=anybody.source,
            reason=f"the passage says so, but not in the words of {who}",
        )

    def _told(self, claim: Claim) -> list[Report]:
        """What the claim reports; of nobody by name, it counts as said by ``voices``."""
        told = reports(plain(claim.text), self._speakers())
        return [one if one.speakers else replace(one, speakers=self.voices) for one in told]

    def _speakers(self) -> list[str]:
        named = (turn.speaker for piece in self.evidence for turn in piece.turns)
        return list(dict.fromkeys(named))

    def _stems_of(self, piece: Evidence) -> frozenset[str]:
        if piece.key not in self._stems:
            self._stems[piece.key] = piece.parsed.stem_set
        return self._stems[piece.key]


def _extracted(claim: Claim, cited: Iterable[Evidence]) -> Settled | None:
    """The verdict on a sentence that was taken from a place and still stands there."""
    if claim.source is None:
        return None
    for piece in cited:
        start = claim.source.start - piece.span.start
        here = without_orders(piece.text)
        if start >= 0 and here[start : start + len(claim.text)] == claim.text:
            verdict = Verdict(
                name=VerdictName.QUOTED,
                method="verbatim",
                score=1.0,
                key=piece.key,
                source=claim.source,
                reason=QUOTED,
            )
            return Settled(claim=claim.text, verdict=verdict, passages=())
    return None


def _order(verdict: Verdict) -> tuple[int, float]:
    """Better verdicts first."""
    return verdict.name.rank, -verdict.score


def _nothing() -> Verdict:
    return Verdict(
        name=VerdictName.UNSUPPORTED,
        method="support",
        score=0.0,
        reason="the evidence shares too few words with the sentence",
    )


def ruled(settled: Sequence[Settled], reader: Reader | None, most: int) -> list[Verdict]:
    """The verdicts after ``reader`` was asked about the first ``most`` doubtful claims.

    The lexical one made the scores, so it is not asked again. A reader that fails or cannot say
    leaves the verdict and shows in its method and reason.
    """
    if reader is None or "entails" not in reader.heads:
        return [each.verdict for each in settled]
    asked = [place for place, each in enumerate(settled) if each.doubtful][:most]
    verdicts = [each.verdict for each in settled]
    if not asked:
        return verdicts
    cases = [
        Case(claim=settled[place].claim, passages=excerpts(*settled[place].passages))
        for place in asked
    ]
    for place, ruling in zip(asked, _rulings(reader, cases), strict=True):
        verdicts[place] = _after(verdicts[place], ruling)
    return verdicts


def _rulings(reader: Reader, cases: Sequence[Case]) -> Sequence[Entailment]:
    try:
        rulings = reader.entails(cases)
    except ModelError as error:
        logger.warning("the reader failed, verdicts stay as they were: %s", error)
        return [undecided(error)] * len(cases)
    if len(rulings) != len(cases):
        reason = f"the reader gave {len(rulings)} rulings for {len(cases)} claims"
        logger.warning("%s, verdicts stay as they were", reason)
        return [undecided(reason)] * len(cases)
    return rulings


def _after(verdict: Verdict, ruling: Entailment) -> Verdict:
    if not ruling.decided:
        reason = f"{verdict.reason}; the reader could not say: {ruling.reason}"
        return replace(verdict, method=f"{verdict.method}; {FAILED}", reason=reason)
    name, reason = VerdictName(ruling.name), ruling.reason or verdict.reason
    return replace(verdict, name=name, method=RULED, reason=reason)
