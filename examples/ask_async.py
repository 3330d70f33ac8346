"""Ask several questions side by side in async code, and follow one of them step by step.

Run: python examples/ask_async.py
"""

import asyncio
import tempfile
from pathlib import Path

from wellread import Filters, Wellread
from wellread.values.answers import FinalEvent, SentenceEvent, StepEvent

MATERIAL = Path(__file__).parent / "material"


async def side_by_side(wr: Wellread) -> None:
    questions = ("When was the bakehouse built?", "What does it cost to bake a loaf?")
    answers = await asyncio.gather(*(wr.ask_async(question) for question in questions))
    for answer in answers:
        print(f"» {answer.question}\n  {answer.text}")


async def step_by_step(wr: Wellread) -> None:
    only_the_meeting = Filters(kinds=("transcript",))
    async for event in wr.stream("What did the foundation promise?", filters=only_the_meeting):
        match event:
            case StepEvent(step=step):
                print(f"  step: {step.name}")
            case SentenceEvent(sentence=sentence):
                print(f"  {sentence.verdict.name}: {sentence.text}")
            case FinalEvent(answer=answer):
                print(f"  said at {answer.citations[0].locator.label}")


async def main() -> None:
    with tempfile.TemporaryDirectory() as home, Wellread(home) as wr:
        await asyncio.to_thread(wr.add, MATERIAL)  # adding is not async: it works in a thread
        await side_by_side(wr)
        print("» What did the foundation promise?")
        await step_by_step(wr)


if __name__ == "__main__":
    asyncio.run(main())
