"""What parsers may take: by the kind and size of a file, and all of them together."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from wellread.ingest.pipeline.parse import ParseRequest
from wellread.ingest.pipeline.worker import SharedMemory, allowance
from wellread.ingest.pipeline.workers import WorkerPool

MOST = 3072
PAGE = (
    b"<< /XObject << /F %d 0 R >> "
    b"/Font << /H << /Type /Font /Subtype /Type1 /BaseFont /Arial >> >> >>"
)


def request(name: str) -> ParseRequest:
    return ParseRequest(uri=f"file:///{name}", name=name, collection="c")


def forms_in_forms(levels: int = 9, each: int = 10) -> bytes:
    """A small PDF whose page draws a form ten times, which draws another one ten times, and so on.

    A billion pieces of text in the end, which pdfium keeps in memory.
    """
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources %s >>"
        % (PAGE % 10),
    }
    draws = [b"/F Do " * each] * levels + [b"BT /H 12 Tf 10 10 Td (a few words) Tj ET"]
    objects[4] = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(draws[0]), draws[0])
    form = b"<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources %s /Length %d >>"
    for level, drawn in enumerate(draws[1:], 10):
        head = form % (PAGE % (level + 1), len(drawn))
        objects[level] = head + b"\nstream\n%s\nendstream" % drawn
    out, places = b"%PDF-1.7\n", {}
    for number, held in sorted(objects.items()):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, held)
    table = len(out)
    out += b"xref\n0 %d\n" % (max(objects) + 1)
    for number in range(max(objects) + 1):
        known = number in places
        out += b"%010d %05d %s \n" % (places.get(number, 0), 65535 * (not known), b"fn"[known:][:1])
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF"
    return out + end % (max(objects) + 1, table)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")
def test_a_small_pdf_that_swells_is_stopped_early() -> None:
    bomb = forms_in_forms()
    assert len(bomb) < 5_000
    with WorkerPool(seconds=60, memory=MOST, workers=1) as pool:
        failed = pool.submit(request("bomb.pdf"), bomb).result()
        assert failed.status == "failed"
        assert "640 MiB" in failed.reason
        assert "sources.max_memory" in failed.reason
        assert pool.submit(request("fine.md"), b"# A\n\nWords.\n").result().status == "parsed"


@pytest.mark.parametrize(
    ("loader", "size", "least", "most"),
    [
        ("pdf", 2_000, 512, 768),
        ("pdf", 5_000_000, 1_000, 1_500),
        ("markdown", 2_000, 128, 384),
        ("html", 10_000_000, 1_000, 1_600),
        ("docx", 300_000, 384, 512),
        ("of another package", 2_000, 1_024, 1_100),
        ("pdf", 200_000_000, MOST, MOST),
    ],
)
def test_an_allowance_fits_the_kind_and_the_size(
    loader: str, size: int, least: int, most: int
) -> None:
    assert least <= allowance(loader, size, MOST) <= most


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")
def test_a_process_grows_by_no_more_than_it_may() -> None:
    program = (
        "from wellread.ingest.pipeline.worker import limit_growth\n"
        "limit_growth(64)\n"
        "held = bytearray(32 << 20)\n"
        "try:\n"
        "    bytearray(64 << 20)\n"
        "except MemoryError:\n"
        "    print('refused')\n"
        "limit_growth(0)\n"
        "print(len(bytearray(64 << 20)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["refused", str(64 << 20)], done.stderr


def test_parsers_side_by_side_share_one_sum() -> None:
    shared, lock = SharedMemory(), threading.Lock()
    held: list[int] = []
    sums: list[int] = []

    def work(amount: int) -> None:
        for _ in range(20):
            shared.take(amount, 1_000)
            with lock:
                held.append(amount)
                sums.append(sum(held))
            time.sleep(0.0005)
            with lock:
                held.remove(amount)
            shared.give_back(amount)

    threads = [threading.Thread(target=work, args=(amount,)) for amount in (400, 500, 600, 2_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # One that may take more than all of it works alone.
    assert {one for one in sums if one > 1_000} == {2_000}
    shared.take(400, 1_000)
    beside = threading.Thread(target=shared.take, args=(600, 1_000))
    beside.start()
    beside.join()  # it does not wait for the first


def test_files_that_need_all_of_it_take_turns() -> None:
    with WorkerPool(seconds=60, memory=400, workers=2) as pool:
        words = b"word " * 200_000
        parsed = [pool.submit(request(f"{n}.txt"), words) for n in range(2)]
        assert [one.result().status for one in parsed] == ["parsed"] * 2
