"""Running a sentence encoder with onnxruntime: sessions, batches, errors."""

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

BATCH_TOKENS = 1_024
"""Padded tokens of one run: more is no faster and needs more memory."""

PADDED = 1.15
"""Times its tokens that a run may grow by padding: sentences of a page differ much in length."""

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
    """A CPU session over a model file or its bytes; ``threads`` 0 takes all cores."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads or available_cores()
    options.inter_op_num_threads = 1
    # The arena keeps the largest batch ever seen for each shape; without it the speed is the
    # same and memory stays flat.
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
            hint="the file is cut or damaged: install the package that carries it again"
            if damaged
            else "install another release of onnxruntime (1.20 or later)",
        ) from error


def available_cores() -> int:
    """The number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def framed(pieces: Sequence[NDArray[np.int32]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids and mask of a batch, shape (texts, longest + 2), with ``[CLS]`` and ``[SEP]``."""
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


def batches(lengths: Sequence[int], limit: int = BATCH_TOKENS) -> Iterator[list[int]]:
    """Positions in ``lengths``, longest first, grouped so that a padded group fits ``limit``.

    A single length over the limit is a group of its own, and texts of unlike lengths are in
    different ones: what is padded is computed too.
    """
    group: list[int] = []
    width = held = 0
    for position in sorted(range(len(lengths)), key=lambda at: (-lengths[at], at)):
        padded = width * (len(group) + 1)
        if group and (padded > limit or padded > PADDED * (held + lengths[position])):
            yield group
            group = []
        if not group:
            width, held = lengths[position], 0
        group.append(position)
        held += lengths[position]
    if group:
        yield group
