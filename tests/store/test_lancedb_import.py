"""LanceDB without its client of remote catalogues does what it does with it, in any order."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# What the index asks of LanceDB, and what a program beside it may ask; told as JSON.
OPERATIONS = """
import json, sys
from pathlib import Path
order, folder = sys.argv[1], Path(sys.argv[2])
if order == "after":
    import lancedb
if order != "alone":
    import wellread.store.index.lancedb_import
import lancedb
from lancedb.index import FTS

loaded = any(name.startswith("lance_namespace_urllib3_client") for name in sys.modules)
told = {}

def tried(what, work):
    try:
        found = work()
    except Exception as error:
        found = [type(error).__name__, "127.0.0.1:9" in str(error), "not found" in str(error)]
    told[what] = json.loads(json.dumps(found, default=lambda one: one.model_dump()))

def table_of(where):
    database = lancedb.connect(where)
    table = database.create_table("t", [
        {"key": key, "text": text, "vector": [float(at), 1.0]}
        for at, (key, text) in enumerate([("a", "seagrass stores carbon"), ("b", "ferries sail")])
    ])
    table.create_index("text", config=FTS())
    table.merge_insert("key").when_not_matched_insert_all().execute(
        [{"key": "c", "text": "more seagrass", "vector": [9.0, 1.0]}])
    table.delete("key = 'b'")
    return [
        sorted(row["key"] for row in table.search("seagrass", query_type="fts").to_list()),
        [row["key"] for row in table.search([9.0, 1.0]).where("key != 'x'").to_list()],
        database.list_tables(), lancedb.connect(where).uri == database.uri, table.count_rows(),
    ]

for where in (str(folder / "plain"), f"file://{folder}/url", "memory://"):
    tried(where.partition(":")[0].rpartition("/")[2], lambda: table_of(where))
refused = {
    "aws_endpoint": "http://127.0.0.1:9", "allow_http": "true", "client_max_retries": "0",
    "aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region": "r",
}
tried("s3", lambda: lancedb.connect("s3://bucket/home", storage_options=refused))
tried("no table", lambda: lancedb.connect(folder / "plain").open_table("u"))
tried("namespaces", lambda: lancedb.connect_namespace("dir", {"root": str(folder)}).list_tables())

import lance_namespace_urllib3_client.models as models
from lance_namespace import ListTablesResponse
tried("kind", lambda: [
    isinstance(models.ListTablesResponse(tables=[]), ListTablesResponse),
    ListTablesResponse.from_dict({"tables": ["t"]}), ListTablesResponse.__name__,
])
print(json.dumps([loaded, told]))
"""


def told(order: str, folder: Path) -> tuple[bool, dict[str, Any]]:
    """Whether the client was loaded, and what came out, in a process of its own."""
    command = [sys.executable, "-c", OPERATIONS, order, str(folder / order)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    loaded, found = json.loads(done.stdout)
    return loaded, found


def test_the_client_stays_out_and_nothing_else_changes(tmp_path: Path) -> None:
    # At once, because each waits some seconds for a bucket that is not there.
    with ThreadPoolExecutor() as started:
        wanted, first, after = started.map(told, ("alone", "first", "after"), [tmp_path] * 3)
    assert wanted[0]
    assert wanted[1]["memory"][:2] == [["a", "c"], ["c", "a"]]
    assert wanted[1]["s3"][1:] == [True, False]  # it was asked, and is not there
    assert first == (False, wanted[1])
    assert after == wanted
