"""Sets for refusal: conversations of MTRAG-UN, past questions of Optech, questions from elsewhere.

``withheld`` asks an answerable question while the passages that answer it are kept back: the
material about the topic stays, the answer is gone.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from benchmarks.homes import by_file_name, by_url, item_url
from benchmarks.paths import eval_data
from benchmarks.sets.asked import Asked, AskedSet, Gold, whole
from benchmarks.sets.far_worded import FAR_WORDED
from benchmarks.sets.items import MTRAG
from benchmarks.sets.meetings import MENTIONS
from benchmarks.sets.reading import CLAPNQ, XQUAD, Record, covid_papers, read_lines
from wellread.ask.understand.rewrite import Turn, make_standalone
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.types import DocumentFacts

SEED = 7
FOREIGN = 200  # questions from elsewhere put to Optech's newsletters
ELSEWHERE = 60  # of each other set, put to the public sets
READ = 300  # questions of XQuAD, each asked with and without its paragraph
# Words that a question about money on the network cannot do without; none of the drawn ones has
# them, so that no foreign question is answered by the newsletters by chance.
OURS = ("bitcoin", "lightning network", "blockchain", "cryptocurrenc", "satoshi")

WITHHELD = "withheld"


def foreign(sources: Iterable[str], count: int, seed: int) -> list[Asked]:
    """``count`` questions of each of the sets ``sources``, drawn with ``seed``."""
    found = []
    for name in sources:
        texts = [text for text in _texts(name) if name == "optech" or not _ours(text)]
        drawn = random.Random(seed).sample(texts, min(count, len(texts)))
        found += [
            Asked(id=f"foreign-{name}-{number:03}", text=text, group="foreign", kind=name)
            for number, text in enumerate(drawn)
        ]
    return found


def _ours(text: str) -> bool:
    return any(word in text.lower() for word in OURS)


def _texts(name: str) -> list[str]:
    if name == "xquad":
        path = eval_data("xquad_en", "xquad.en.json")
        articles = json.loads(path.read_text(encoding="utf-8"))["data"]
        found = [qa["question"] for one in articles for p in one["paragraphs"] for qa in p["qas"]]
    elif name == "clapnq":
        found = [row["input"] for row in read_lines(eval_data("clapnq", "answerable.jsonl"))]
    elif name == "covid":
        found = [qa["question"] for _, paper in covid_papers() for qa in paper["qas"]]
    elif name == "hotpot":
        path = eval_data("hotpotqa100", "hotpotqa", "data", "qa_train.json")
        found = [row["question"] for row in json.loads(path.read_text(encoding="utf-8"))]
    else:
        found = [row["question"] for row in _past_questions()]
    return list(dict.fromkeys(found))


# --- Optech ----------------------------------------------------------------------------------


def _past_questions() -> list[Record]:
    return read_lines(eval_data("bitcoin_optech", "derived", "qa.jsonl"))


def _optech_questions(kb: KnowledgeBase) -> Sequence[Asked]:
    facts = by_file_name(kb)
    asked = [
        Asked(
            id=f"optech-{number:03}",
            text=row["question"],
            group="answerable",
            gold=(_all_of(facts[Path(row["doc"]).stem]),),
        )
        for number, row in enumerate(_past_questions())
    ]
    elsewhere = foreign(("xquad", "clapnq", "covid", "hotpot"), FOREIGN // 4, SEED)
    return [*asked, *elsewhere]


# --- MTRAG-UN --------------------------------------------------------------------------------


def _mtrag_questions(kb: KnowledgeBase) -> Sequence[Asked]:
    facts = by_url(kb)
    known = vocabulary_of(kb)
    asked = []
    for row in read_lines(eval_data("mtrag_un", "reference.jsonl")):
        last = row["input"][-1]["text"]
        text = make_standalone(last, _turns(row["input"][:-1]), known, date.today()).text
        gold = [facts[item_url("mtrag", one["document_id"])] for one in row["contexts"]]
        asked.append(
            Asked(
                id=row["task_id"],
                text=text,
                group=row["answerability"][0].lower(),
                kind=row["Collection"],
                gold=tuple(_all_of(fact) for fact in gold),
            )
        )
    return [*asked, *foreign(("optech", "covid"), ELSEWHERE, SEED + 1)]


def _turns(said: Sequence[Record]) -> list[Turn]:
    pairs = zip(said[::2], said[1::2], strict=False)
    return [Turn(question=one["text"], answer=two["text"]) for one, two in pairs]


def _all_of(fact: DocumentFacts) -> Gold:
    everything = whole(fact.characters)
    return Gold(document_id=fact.id, span=everything, within=everything)


# --- ClapNQ and XQuAD ------------------------------------------------------------------------


def _clapnq_questions(kb: KnowledgeBase) -> Sequence[Asked]:
    own = [one for one in CLAPNQ.questions(kb) if one.group != "off_topic"]
    return [*own, *foreign(("optech", "covid"), ELSEWHERE, SEED + 2)]


def _xquad_questions(kb: KnowledgeBase) -> Sequence[Asked]:
    own = [one for one in XQUAD.questions(kb) if one.group == "answerable"]
    drawn = random.Random(SEED).sample(own, READ)
    return [*drawn, *foreign(("optech", "covid"), ELSEWHERE, SEED + 3)]


REFUSED: dict[str, AskedSet] = {
    "clapnq": AskedSet(
        name="clapnq",
        about="ClapNQ dev, all passages as one base",
        write=CLAPNQ.write,
        questions=_clapnq_questions,
    ),
    "mtrag": AskedSet(
        name="mtrag",
        about="MTRAG-UN dev, last turn rewritten to stand alone by rules, 560 passages",
        write=MTRAG.write,
        questions=_mtrag_questions,
    ),
    "optech": AskedSet(
        name="mentions",
        about="Optech: past questions answered in the newsletters; questions of other sets",
        write=MENTIONS.write,
        questions=_optech_questions,
    ),
    "xquad": AskedSet(
        name="xquad",
        about=f"XQuAD: {READ} questions, each also with its paragraph withheld",
        write=XQUAD.write,
        questions=_xquad_questions,
    ),
    "far": FAR_WORDED,
}
"""The sets by name; ``AskedSet.name`` is the home's."""
