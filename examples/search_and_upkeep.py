"""Search, bring a changed file up to date, remove one with proof, and check the stores.

Run: python examples/search_and_upkeep.py
"""

import shutil
import tempfile
from pathlib import Path

from wellread import Filters, Wellread, WellreadError

MATERIAL = Path(__file__).parent / "material"


def main() -> None:
    with tempfile.TemporaryDirectory() as place, Wellread(Path(place) / "home") as wr:
        folder = Path(shutil.copytree(MATERIAL, Path(place) / "material"))
        wr.add(folder, collection="village")

        for result in wr.search("chimney", filters=Filters(speakers=("Piet",)), limit=2):
            print(f"{result.locator.label}: {result.text.strip()}")

        notes = folder / "bakehouse.md"
        notes.write_text(notes.read_text("utf-8") + "\nChildren bake for free.\n", encoding="utf-8")
        again = wr.add(folder, collection="village").counts()
        print(f"{again['updated']} updated, {again['unchanged']} unchanged")

        gone = wr.remove(folder / "meeting.vtt", collection="village")
        print(f"{gone.documents} document removed, traces left: {len(gone.traces)}")
        print("the stores agree" if wr.verify().clean else "run verify(repair=True)")

        try:
            wr.search("bread", filters=Filters(collections=("town",)))
        except WellreadError as error:  # the root of every error that Wellread raises on purpose
            print(f"refused: {error}")


if __name__ == "__main__":
    main()
