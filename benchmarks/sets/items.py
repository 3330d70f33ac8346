"""Retrieval over JSONL items: SciFact, MTRAG-UN, HotpotQA-100; over papers: COVID-QA."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.homes import Item, by_url, item_url, write_items
from benchmarks.paths import eval_data
from benchmarks.sets.judged import JudgedSet, Query, at
from benchmarks.sets.reading import covid_gold, read_lines, write_covid
from wellread.kb import KnowledgeBase

# One element of a printed numpy array of strings: quoted either way, quotes inside escaped.
_ELEMENT = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)


def _document_queries(
    kb: KnowledgeBase, name: str, wanted: Iterable[tuple[str, str, Mapping[str, float]]]
) -> list[Query]:
    """Queries (id, text, item key to grade) with the items' document ids.

    Raises:
        SystemExit: a relevant item is not in the base.
    """
    facts = by_url(kb)
    queries = []
    for known, text, grades in wanted:
        try:
            ids = {facts[item_url(name, key)].id: grade for key, grade in grades.items()}
        except KeyError as error:
            raise SystemExit(f"{name}: query {known} wants {error}, which is not there") from error
        queries.append(Query(id=known, text=text, grades=ids))
    return queries


# --- SciFact ---------------------------------------------------------------------------------


def _scifact(member: str) -> list[dict[str, str]]:
    with zipfile.ZipFile(eval_data("scifact", "scifact.zip")) as archive:
        text = archive.read(member).decode("utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def printed_strings(printed: str) -> list[str]:
    """The strings of a numpy array as ``str`` prints it: quoted either way, no commas."""
    return [
        re.sub(r"\\(.)", r"\1", single or double) for single, double in _ELEMENT.findall(printed)
    ]


def _write_scifact(folder: Path) -> None:
    items = (
        Item(key=row["doc_id"], title=row["title"], text=" ".join(printed_strings(row["abstract"])))
        for row in _scifact("corpus_train.csv")
    )
    write_items(folder / "scifact.jsonl", "scifact", items)


def _scifact_queries(kb: KnowledgeBase) -> Sequence[Query]:
    claims: dict[str, str] = {}
    cited: dict[str, dict[str, float]] = defaultdict(dict)
    for row in _scifact("claims_validation.csv"):
        claims[row["id"]] = row["claim"]
        cited[row["id"]] |= dict.fromkeys(re.findall(r"\d+", row["cited_doc_ids"]), 1.0)
    return _document_queries(
        kb, "scifact", ((known, claim, cited[known]) for known, claim in claims.items())
    )


# --- MTRAG-UN --------------------------------------------------------------------------------


def _write_mtrag(folder: Path) -> None:
    contexts = {
        context["document_id"]: context["text"]
        for row in read_lines(eval_data("mtrag_un", "reference.jsonl"))
        for context in row["contexts"]
    }
    items = (Item(key=key, text=text) for key, text in contexts.items())
    write_items(folder / "mtrag.jsonl", "mtrag", items)


def _mtrag_judgements() -> dict[str, dict[str, float]]:
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    for path in sorted(eval_data("mtrag_un", "qrels").glob("*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines()[1:]:
            task, document, grade = line.split("\t")
            grades[task][document] = float(grade)
    return grades


def _mtrag_queries(kb: KnowledgeBase) -> Sequence[Query]:
    grades = _mtrag_judgements()
    # Newest turn first: a model with a limited window must not lose the question itself.
    asked = (
        (row["task_id"], "\n".join(turn["text"] for turn in reversed(row["input"])))
        for row in read_lines(eval_data("mtrag_un", "reference.jsonl"))
    )
    wanted = ((known, text, grades[known]) for known, text in asked if known in grades)
    return _document_queries(kb, "mtrag", wanted)


# --- HotpotQA-100 ----------------------------------------------------------------------------


def _write_hotpot(folder: Path) -> None:
    path = eval_data("hotpotqa100", "hotpotqa", "data", "train_corpus.json")
    corpus = json.loads(path.read_text(encoding="utf-8"))
    items = (
        Item(key=title, title=title, text="".join(sentences).strip())
        for title, sentences in corpus.items()
    )
    write_items(folder / "hotpot.jsonl", "hotpot", items)


def _hotpot_queries(kb: KnowledgeBase) -> Sequence[Query]:
    path = eval_data("hotpotqa100", "hotpotqa", "data", "qa_train.json")
    rows = json.loads(path.read_text(encoding="utf-8"))
    wanted = (
        (str(number), row["question"], {title: 1.0 for title, _ in row["supporting_facts"]})
        for number, row in enumerate(rows)
    )
    return _document_queries(kb, "hotpot", wanted)


# --- COVID-QA --------------------------------------------------------------------------------


def _covid_queries(kb: KnowledgeBase) -> Iterator[Query]:
    for qa, gold in covid_gold(kb):
        spans = {f"{n}": (one.document_id, one.within) for n, one in enumerate(gold)}
        yield Query(
            id=str(qa["id"]), text=qa["question"], grades=dict.fromkeys(spans, 1.0), spans=spans
        )


SCIFACT = JudgedSet(
    name="scifact",
    about="SciFact: 300 validation claims → cited abstracts among 5,183",
    write=_write_scifact,
    queries=_scifact_queries,
    measures=at(10, "ndcg", "recall"),
)
MTRAG = JudgedSet(
    name="mtrag",
    about="MTRAG-UN dev: all turns of a conversation as the query → judged passages among 560",
    write=_write_mtrag,
    queries=_mtrag_queries,
    measures=at(10, "ndcg") | at(5, "recall"),
)
HOTPOT = JudgedSet(
    name="hotpot",
    about="HotpotQA-100: both supporting pages among 994 in the top 10",
    write=_write_hotpot,
    queries=_hotpot_queries,
    measures=at(10, "every", "recall"),
)
COVID = JudgedSet(
    name="covid",
    about="COVID-QA dev: 649 questions → passage within 300 characters of the answer, 53 papers",
    write=write_covid,
    queries=lambda kb: list(_covid_queries(kb)),
    measures=at(5, "recall") | at(1, "hit"),
)
