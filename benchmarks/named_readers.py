"""What documents that name other readers cost an asker: processor time of answers and searches.

Two homes with the sample, one of them with many more documents that name others, are asked in turn
in one process by somebody who may read the sample alone. Then one search is timed with longer and
longer lists of documents that it leaves out.

``python -m benchmarks.named_readers WORK [--hidden 1000] [--rounds 4]``; WORK keeps the homes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from statistics import mean, median

from wellread.answers import Question
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.search import search
from wellread.identity import Asker, tagged_hash
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.seen_by import seen_by
from wellread.types import Filters

SAMPLE = "sample"
FOLDERS = ("commons", "news", "pages", "papers", "questions", "transcripts")
QUESTIONS = Path(__file__).parent.parent / "tests" / "sample_questions.jsonl"
ASKED = 8
LEFT_OUT = (0, 1_000, 10_000, 50_000)
ASKER = Asker(
    owner="somebody", reads=frozenset({SAMPLE}), names=frozenset({"somebody", "group:crew"})
)


def made(home: Path, hidden: int) -> Path:
    """A home with the sample, and ``hidden`` documents for others."""
    if home.exists():
        return home
    with open_kb(home) as kb, as_file(files("wellread.sample")) as folder:
        add(kb, [str(folder / name) for name in FOLDERS], collection=SAMPLE)
        if hidden:
            path = home.parent / f"{home.name}.jsonl"
            path.write_text("".join(f"{json.dumps(note(n))}\n" for n in range(hidden)))
            add(kb, [str(path)], collection=SAMPLE)
    return home


def note(number: int) -> dict[str, object]:
    """A document for others on what the sample is about."""
    told = f"Note {number} on the ferry, the harbour of Oldwick and the substation, for the board."
    url = f"https://board.example/{number}"
    return {"title": f"Note {number}", "url": url, "text": told, "readers": ["group:board"]}


def timed(work: Callable[[], object]) -> float:
    """Processor time of this process, in milliseconds."""
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1000


def asked(kb: KnowledgeBase, question: str) -> str:
    """The answer to the asker."""
    turn = Question(text=question, fresh=True)
    return asyncio.run(final(answer(seen_by(kb, ASKER), turn))).text


def main() -> None:
    """Print the means and medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--hidden", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=4)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()[:ASKED]
    questions = [str(json.loads(line)["question"]) for line in lines]
    taken: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    with ExitStack() as opened:
        kbs = {
            hidden: opened.enter_context(open_kb(made(given.work / f"hidden-{hidden}", hidden)))
            for hidden in (0, given.hidden)
        }
        texts = [{asked(kb, question) for kb in kbs.values()} for question in questions]
        print(f"the same answers: {sum(len(one) == 1 for one in texts)} of {len(texts)}")
        for number in range(given.rounds * len(questions)):
            question = questions[number % len(questions)]
            for hidden in sorted(kbs, reverse=bool(number % 2)):
                kb = kbs[hidden]
                view = seen_by(kb, ASKER)
                taken["answer", hidden].append(timed(partial(asked, kb, question)))
                taken["search", hidden].append(timed(partial(search, view, question, Filters())))
                taken["counts", hidden].append(timed(view.catalogue.stats))
                taken["view", hidden].append(timed(partial(seen_by, kb, ASKER)))
        for (what, hidden), times in sorted(taken.items()):
            print(f"{what}, {hidden:,} hidden: mean {mean(times):.2f}, median {median(times):.2f}")
        index = kbs[given.hidden].index
        for many in LEFT_OUT:
            ids = tuple(tagged_hash("doc", "left out", number) for number in range(many))
            limits = Filters(collections=(SAMPLE,), without_documents=ids)
            look = partial(index.search_text, "ferry harbour timetable", limits, 400)
            times = [timed(look) for _ in range(7)]
            print(f"search by words, {many:,} documents left out: median {median(times):.1f}")


if __name__ == "__main__":
    main()
