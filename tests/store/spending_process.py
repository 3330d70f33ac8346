"""A process that sets aside as much of a budget as it gets; started twice by test_calls.py."""

import json
import sys
from datetime import UTC, datetime

from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.run_logs import Limit
from wellread.values.calls import Call


def main() -> None:
    catalogue = Catalogue.open(sys.argv[1])
    limits = [Limit(since=datetime(2000, 1, 1, tzinfo=UTC), dollars=1.0)]
    expected = Call(purpose="answer", provider="p", model="m", cost=0.0625)
    print("ready", flush=True)
    sys.stdin.readline()
    got = sum(isinstance(catalogue.calls.reserve(expected, limits), int) for _ in range(20))
    catalogue.close()
    print(json.dumps(got), flush=True)


if __name__ == "__main__":
    main()
