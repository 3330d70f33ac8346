"""Add a folder, ask it, and see what each sentence of the answer rests on.

Run: python examples/add_and_ask.py
"""

import tempfile
from pathlib import Path

from wellread import Wellread

MATERIAL = Path(__file__).parent / "material"
QUESTIONS = (
    "How many loaves does the oven hold?",
    "What does the mason ask for the chimney?",
    "Who won the chess tournament?",  # not in the material
)


def main() -> None:
    with tempfile.TemporaryDirectory() as home, Wellread(home) as wr:
        report = wr.add(MATERIAL)
        print(f"{report.counts()['added']} sources added")
        for question in QUESTIONS:
            answer = wr.ask(question)
            print(f"\n» {question}")
            if answer.answered_by == "none":
                print("  The material does not say.")
                continue
            print(f"  {answer.text}  (confidence {answer.confidence.score:.2f})")
            for citation in answer.citations:
                print(f"  [{citation.id}] {citation.title}, {citation.locator.label}")
                print(f"      “{citation.quote}” ({citation.verdict})")


if __name__ == "__main__":
    main()
