"""Models: what turns texts into vectors, ranks and reads them, and writes.

onnxruntime is told here, before any module imports it, to tell nobody: releases from 1.31 or so on
note an id of the machine in ``~/.cache/Microsoft`` as soon as they are imported, and send what is
done with them to a server of their maker. A call afterwards comes too late for both.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
