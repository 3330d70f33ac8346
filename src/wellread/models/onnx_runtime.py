"""Runs networks with onnxruntime: opens sessions, and forms batches of similar length."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as states

from wellread.errors import ModelError
from wellread.models.word_pieces import CLS, SEP

MAX_BATCH_TOKENS = 1_024
"""Tokens of one run, including padding: more are no faster and need more memory."""

MAX_PADDING_RATIO = 1.15
"""Tokens of a run with padding, per token without: sentences differ greatly in length."""

RUN_ERRORS = (
    states.EPFail,
    states.Fail,
    states.InvalidArgument,
    states.InvalidGraph,
    states.InvalidProtobuf,
    states.NoModel,
    states.NoSuchFile,
    states.NotImplemented,
    states.RuntimeException,
)


def open_session(model: Path | bytes, threads: int) -> Any:
    """Open a CPU session for a model file or its bytes; ``threads`` 0 uses all cores."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads or available_cores()
    options.inter_op_num_threads = 1
    # The arena would keep memory for the largest batch of each shape, without being faster.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(
            model if isinstance(model, bytes) else str(model),
            options,
            providers=["CPUExecutionProvider"],
        )
    except RUN_ERRORS as error:
        name = "a model built in memory" if isinstance(model, bytes) else str(model)
        damaged = isinstance(error, states.InvalidProtobuf | states.NoModel)
        raise ModelError(
            f"onnxruntime {ort.__version__} cannot open {name}: {error}",
            hint="the file is incomplete or damaged: reinstall the package that contains it"
            if damaged
            else "install another release of onnxruntime (1.20 or later)",
        ) from error


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def frame_batch(pieces: Sequence[NDArray[np.int32]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ids and mask of a batch with ``[CLS]`` and ``[SEP]``, shape (texts, longest + 2)."""
    width = max(len(ids) for ids in pieces) + 2
    tokens = np.zeros((len(pieces), width), dtype=np.int64)
    mask = np.zeros_like(tokens)
    tokens[:, 0] = CLS
    for row, ids in enumerate(pieces):
        end = len(ids) + 1
        tokens[row, 1:end] = ids
        tokens[row, end] = SEP
        mask[row, : end + 1] = 1
    return tokens, mask


def batches(lengths: Sequence[int], limit: int = MAX_BATCH_TOKENS) -> Iterator[list[int]]:
    """Group positions in ``lengths``, longest first, so that each padded group fits ``limit``.

    A length over the limit forms its own group. Texts of very different lengths are separated,
    because padding costs as much as tokens.
    """
    group: list[int] = []
    width = tokens = 0
    for position in sorted(range(len(lengths)), key=lambda at: (-lengths[at], at)):
        padded = width * (len(group) + 1)
        if group and (padded > limit or padded > MAX_PADDING_RATIO * (tokens + lengths[position])):
            yield group
            group = []
        if not group:
            width, tokens = lengths[position], 0
        group.append(position)
        tokens += lengths[position]
    if group:
        yield group
