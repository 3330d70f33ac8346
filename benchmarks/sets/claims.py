"""Claims with their evidence and a judgement: WiCE, SciFact, ExpertQA.

Each case is a claim, the evidence that was put before the annotators, and what they said. Nothing
is retrieved: what is measured is the checking alone.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.paths import CACHE, eval_data
from benchmarks.sets.items import printed_strings
from benchmarks.sets.reading import read_lines
from wellread.models.base import Purpose
from wellread.models.embedders.local_embedder import LocalEmbedder
from wellread.models.reader import Excerpt
from wellread.models.readers.support_score import compare, readings

Label = Literal["supported", "partial", "contradicted", "none"]

LEAST_EVIDENCE = 80  # characters; shorter ones are an address without the page's text

_TITLE = "(meta data) TITLE: "
_MARKER = re.compile(r"\s*\[\d+\]")
_ADDRESS = re.compile(r"^\s*\[\d+\]\s*\S+\s*")
_WICE: dict[str, Label] = {
    "supported": "supported",
    "partially_supported": "partial",
    "not_supported": "none",
}
_EXPERTQA: dict[str, Label] = {
    "Complete": "supported",
    "Partial": "partial",
    "Incomplete": "none",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCase:
    """A claim, its evidence, and the annotators' label.

    Attributes:
        group: cases of one group share evidence or an answer; never train on one and test on
            another.
    """

    id: str
    group: str
    claim: str
    title: str
    passages: tuple[str, ...]
    label: Label

    @property
    def supported(self) -> bool:
        """In full: what is supported in part counts as not."""
        return self.label == "supported"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSet:
    """A named set of cases."""

    name: str
    about: str
    cases: Callable[[], list[ClaimCase]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A case with its readings."""

    case: ClaimCase
    readings: Mapping[str, float]


def read_cases(cases: Sequence[ClaimCase]) -> list[Read]:
    """The readings of ``cases``; vectors by the built-in embedder, all texts at once."""
    laid = [
        compare(case.claim, [Excerpt(text=text, title=case.title) for text in case.passages])
        for case in cases
    ]
    texts = [text for each in laid for text in (each.claim, *(line.text for line in each.best))]
    known = vectors(texts)
    return [
        Read(
            case=case,
            readings=readings(
                each, [float(known[each.claim] @ known[line.text]) for line in each.best]
            ),
        )
        for case, each in zip(cases, laid, strict=True)
    ]


class KnownVectors:
    """The built-in embedder; what it has computed is kept from one run to the next."""

    def __init__(self) -> None:
        self._path = CACHE / "claims" / "vectors.npz"
        self._known: dict[str, NDArray[np.float32]] = {}
        self._stored = 0
        if self._path.exists():
            with np.load(self._path) as stored:
                self._known = dict(zip(map(str, stored["keys"]), stored["vectors"], strict=True))
            self._stored = len(self._known)
        self._embedder = LocalEmbedder(CACHE / "home")

    @property
    def identity(self) -> str:
        """That of the built-in embedder."""
        return self._embedder.identity

    @property
    def dimensions(self) -> int:
        """That of the built-in embedder."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """Vectors of passages; other purposes are not kept."""
        if purpose != "passage":
            return self._embedder.embed(texts, purpose)
        keys = [_key(text) for text in texts]
        new = sorted(
            {text for text, key in zip(texts, keys, strict=True) if key not in self._known}, key=len
        )
        if new:
            made = self._embedder.embed(new, "passage")
            self._known |= {_key(text): row for text, row in zip(new, made, strict=True)}
        return np.stack([self._known[key] for key in keys])

    def keep(self) -> None:
        """Write down what was computed."""
        if len(self._known) > self._stored:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(
                self._path,
                keys=np.array(list(self._known)),
                vectors=np.array(list(self._known.values())),
            )
            self._stored = len(self._known)


def vectors(texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """The vector of each text by the built-in embedder."""
    unique = list(dict.fromkeys(texts))
    known = KnownVectors()
    found = dict(zip(unique, known.embed(unique, "passage"), strict=True))
    known.keep()
    return found


def _key(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def half(cases: Sequence[ClaimCase], which: int) -> list[ClaimCase]:
    """Every other group of ``cases``, in order of the groups' names: ``which`` is 0 or 1."""
    groups = sorted({case.group for case in cases})
    kept = frozenset(groups[which::2])
    return [case for case in cases if case.group in kept]


def _wice() -> list[ClaimCase]:
    cases = []
    for row in read_lines(eval_data("wice", "dev.jsonl")):
        lines = [line for line in row["evidence"] if not line.startswith(_TITLE)]
        titles = [line.removeprefix(_TITLE) for line in row["evidence"] if line.startswith(_TITLE)]
        cases.append(
            ClaimCase(
                id=row["meta"]["id"],
                group=row["meta"]["claim_title"],
                claim=row["claim"],
                title=" ".join([row["meta"]["claim_title"], *titles]),
                passages=("\n".join(lines),),
                label=_WICE[row["label"]],
            )
        )
    return cases


def _scifact(member: str) -> list[ClaimCase]:
    """Pairs of a claim and an abstract: cited ones without evidence are "not enough"."""
    with zipfile.ZipFile(eval_data("scifact", "scifact.zip")) as archive:
        rows = {
            name: list(csv.DictReader(io.StringIO(archive.read(name).decode("utf-8"))))
            for name in (member, "corpus_train.csv")
        }
    abstracts = {row["doc_id"]: row for row in rows["corpus_train.csv"]}
    claims: dict[str, str] = {}
    labels: dict[str, dict[str, Label]] = defaultdict(dict)
    for row in rows[member]:
        claims[row["id"]] = row["claim"]
        for cited in re.findall(r"\d+", row["cited_doc_ids"]):
            labels[row["id"]].setdefault(cited, "none")
        if row["evidence_doc_id"]:
            borne_out = row["evidence_label"] == "SUPPORT"
            labels[row["id"]][row["evidence_doc_id"]] = "supported" if borne_out else "contradicted"
    return [
        ClaimCase(
            id=f"{known}-{cited}",
            group=cited,
            claim=claims[known],
            title=abstracts[cited]["title"],
            passages=("\n".join(printed_strings(abstracts[cited]["abstract"])),),
            label=label,
        )
        for known, cites in labels.items()
        for cited, label in cites.items()
    ]


def _expertqa() -> list[ClaimCase]:
    """Claims of answers whose evidence came with its text; an address alone cannot be checked."""
    cases = []
    for row_number, row in enumerate(read_lines(eval_data("expertqa", "rand_val.jsonl"))):
        for answer in row["answers"].values():
            for number, claim in enumerate(answer["claims"]):
                texts = [_ADDRESS.sub("", text) for text in claim["evidence"]]
                passages = tuple(text for text in texts if len(text) >= LEAST_EVIDENCE)
                label = _EXPERTQA.get(claim["support"])
                if label is None or not passages:
                    continue
                cases.append(
                    ClaimCase(
                        id=f"{row_number}-{number}",
                        group=str(row_number),
                        claim=_MARKER.sub("", claim["claim_string"]).strip(),
                        title="",
                        passages=passages,
                        label=label,
                    )
                )
    return cases


WICE = ClaimSet(
    name="wice",
    about="WiCE dev: sentences of Wikipedia and the pages they cite",
    cases=_wice,
)
SCIFACT_TRAIN = ClaimSet(
    name="scifact_train",
    about="SciFact, training claims and the abstracts they cite",
    cases=lambda: _scifact("claims_train.csv"),
)
SCIFACT = ClaimSet(
    name="scifact",
    about="SciFact, validation claims and the abstracts they cite",
    cases=lambda: _scifact("claims_validation.csv"),
)
EXPERTQA = ClaimSet(
    name="expertqa",
    about="ExpertQA rand_val: claims of models' answers, judged by experts, with evidence texts",
    cases=_expertqa,
)
