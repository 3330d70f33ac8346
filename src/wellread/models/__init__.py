"""Models: embedders, readers of passages, and language models.

The telemetry of onnxruntime is switched off here, before any module imports it. Releases from about
1.31 on store an id of the machine in ``~/.cache/Microsoft`` as soon as they are imported, and send
usage data to a server of their maker; switching it off later is too late for both.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
