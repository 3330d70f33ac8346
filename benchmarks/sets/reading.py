"""Reading-comprehension sets for answers and refusal: XQuAD (English), ClapNQ, COVID-QA."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.homes import Item, by_url, find_quote, item_url, text_of, write_items
from benchmarks.paths import SAMPLE_QUESTIONS, eval_data
from benchmarks.sets.asked import Asked, AskedSet, Gold, missing_gold, whole, wider
from wellread.kb import KnowledgeBase

Record = dict[str, Any]


def read_lines(path: Path) -> list[Record]:
    """The records of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


class Stored:
    """The documents of a home by item key, and where their gold texts stand."""

    def __init__(self, kb: KnowledgeBase, name: str) -> None:
        self._name = name
        self._facts = by_url(kb)
        self._texts = {url: text_of(kb, fact) for url, fact in self._facts.items()}
        self.missing: list[str] = []

    def gold(self, key: str, quotes: Iterable[tuple[str, int]]) -> tuple[Gold, ...]:
        """The places of ``quotes`` (text and about where) in the item ``key``."""
        url = item_url(self._name, key)
        text, fact = self._texts[url], self._facts[url]
        found = []
        for quote, near in quotes:
            span = find_quote(text, quote, near)
            if span is None:
                self.missing.append(f"{key}: {quote[:80]}")
            else:
                found.append(Gold(document_id=fact.id, span=span, within=whole(len(text))))
        return tuple(found)


def off_topic(name: str) -> Iterator[Asked]:
    """The sample's own questions: about a fictitious place, so no other base answers them."""
    for number, row in enumerate(read_lines(SAMPLE_QUESTIONS), 1):
        # The invented places of the sample are in no public set; its general off-topic questions
        # (emperors, capitals) might be answered by one.
        if row["kind"] == "near_miss" or row["answerable"]:
            yield Asked(id=f"{name}-foreign-{number:02}", text=row["question"], group="off_topic")


# --- XQuAD -----------------------------------------------------------------------------------


def _xquad_paragraphs() -> Iterator[tuple[str, str, Record]]:
    data = json.loads(eval_data("xquad_en", "xquad.en.json").read_text(encoding="utf-8"))["data"]
    for article in data:
        for number, paragraph in enumerate(article["paragraphs"]):
            title = article["title"].replace("_", " ")
            yield f"{article['title']}/{number}", title, paragraph


def _write_xquad(folder: Path) -> None:
    items = (
        Item(key=key, title=title, text=paragraph["context"])
        for key, title, paragraph in _xquad_paragraphs()
    )
    write_items(folder / "xquad.jsonl", "xquad", items)


def _xquad_questions(kb: KnowledgeBase) -> Sequence[Asked]:
    stored = Stored(kb, "xquad")
    asked = [
        Asked(
            id=qa["id"],
            text=qa["question"],
            group="answerable",
            gold=stored.gold(key, [(one["text"], one["answer_start"]) for one in qa["answers"]]),
            phrases=tuple(one["text"] for one in qa["answers"]),
        )
        for key, _, paragraph in _xquad_paragraphs()
        for qa in paragraph["qas"]
    ]
    missing_gold("xquad", stored.missing)
    return [*asked, *off_topic("xquad")]


# --- ClapNQ ----------------------------------------------------------------------------------


def _clapnq() -> Iterator[tuple[str, Record]]:
    for group in ("answerable", "unanswerable"):
        for row in read_lines(eval_data("clapnq", f"{group}.jsonl")):
            yield group, row


def _write_clapnq(folder: Path) -> None:
    items = (
        Item(key=row["id"], title=row["passages"][0]["title"], text=row["passages"][0]["text"])
        for _, row in _clapnq()
    )
    write_items(folder / "clapnq.jsonl", "clapnq", items)


def _clapnq_questions(kb: KnowledgeBase) -> Sequence[Asked]:
    stored = Stored(kb, "clapnq")
    asked = []
    for group, row in _clapnq():
        chosen = dict.fromkeys(
            sentence for output in row["output"] for sentence in output["selected_sentences"]
        )
        gold = stored.gold(
            row["id"], [(text, 0) for text in chosen] if group == "answerable" else []
        )
        asked.append(Asked(id=row["id"], text=row["input"], group=group, gold=gold))
    missing_gold("clapnq", stored.missing)
    return [*asked, *off_topic("clapnq")]


# --- COVID-QA --------------------------------------------------------------------------------

COVID_SLACK = 300  # characters around the answer that still count (data README)


def covid_papers() -> Iterator[tuple[str, Record]]:
    """Each paper of COVID-QA's dev part: its id, and the paragraph record that holds it all."""
    path = eval_data("covid_qa", "covid_qa_dev.json")
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paper in article["paragraphs"]:
            yield str(paper["document_id"]), paper


def write_covid(folder: Path) -> None:
    """One plain-text file per paper."""
    for key, paper in covid_papers():
        (folder / f"{key}.txt").write_text(paper["context"], encoding="utf-8")


def covid_gold(kb: KnowledgeBase) -> Iterator[tuple[Record, tuple[Gold, ...]]]:
    """Each question with the places of its answers.

    Raises:
        SystemExit: an answer is not in the stored text.
    """
    facts = {fact.uri.rpartition("/")[2].removesuffix(".txt"): fact for fact in by_url(kb).values()}
    missing: list[str] = []
    for key, paper in covid_papers():
        fact = facts[key]
        text = text_of(kb, fact)
        for qa in paper["qas"]:
            gold = []
            for one in qa["answers"]:
                span = find_quote(text, one["text"], one["answer_start"])
                if span is None:
                    missing.append(f"{key}: {one['text'][:80]!r}")
                    continue
                within = wider(span, COVID_SLACK, len(text))
                gold.append(Gold(document_id=fact.id, span=span, within=within))
            yield qa, tuple(gold)
    missing_gold("covid", missing)


def _covid_questions(kb: KnowledgeBase) -> Sequence[Asked]:
    asked = [
        Asked(
            id=f"covid-{qa['id']}",
            text=qa["question"],
            group="answerable",
            gold=gold,
            phrases=tuple(one["text"] for one in qa["answers"]),
        )
        for qa, gold in covid_gold(kb)
    ]
    return [*asked, *off_topic("covid")]


XQUAD = AskedSet(
    name="xquad",
    about="XQuAD English: 240 paragraphs, 1,190 questions; the sample's questions are off topic",
    write=_write_xquad,
    questions=_xquad_questions,
)
CLAPNQ = AskedSet(
    name="clapnq",
    about="ClapNQ: 150 answerable, 153 unanswerable though their passage is in the base",
    write=_write_clapnq,
    questions=_clapnq_questions,
)
COVID = AskedSet(
    name="covid",
    about="COVID-QA dev: 53 papers, 649 questions; citing within 300 characters is right",
    write=write_covid,
    questions=_covid_questions,
)
