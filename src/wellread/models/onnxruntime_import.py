"""Imports onnxruntime so that it tells nobody; import it from here and nowhere else.

Releases from 1.31 or so on note an id of the machine in ``~/.cache/Microsoft`` as soon as they are
imported, and send what is done with them to a server of their maker. The variable has to be set
before the import; a call afterwards comes too late for both.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as states

__all__ = ["ort", "states"]
