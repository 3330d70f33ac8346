"""One tool and one set in a process of its own; ``beside_others`` starts it.

    python -m benchmarks.beside.run_tool TOOL FOLDER HOME MODEL RESULT

Opening, the first call of the model and the first search are not counted.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path

from benchmarks.beside.shared import Tool


def main() -> None:
    """Take ``FOLDER`` in, ask its questions one after the other, write ``RESULT``."""
    name, folder, home, model, result = sys.argv[1:]
    module = import_module(f"benchmarks.beside.{name}_tool")
    tool: Tool = module.open_tool(Path(home), Path(model))
    started = time.perf_counter()
    passages = tool.add(Path(folder))
    added = time.perf_counter() - started
    questions: list[str] = json.loads((Path(folder) / "questions.json").read_text(encoding="utf-8"))
    tool.search("The first search opens files, which is nobody's figure.")
    waits, found = [], []
    for question in questions:
        started = time.perf_counter()
        found.append(tool.search(question))
        waits.append(time.perf_counter() - started)
    figures = {"passages": passages, "added": added, "waits": waits, "found": found}
    Path(result).write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
