# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Batch learning from samples in files, by one process or by many: the same model."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.regression.file_samples import FileSamples
from ilr_dynamics.regression.files.sample_file import SampleFile
from ilr_dynamics.regression.inference.inference import IterationCallback
from ilr_dynamics.regression.inference.initialization import (
    assignment_statistics,
    k_means_plus_plus,
    nearest_seed,
)
from ilr_dynamics.regression.inference.knowledge import Knowledge
from ilr_dynamics.regression.inference.state import initial_state
from ilr_dynamics.regression.learner import extended
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.regression.shared.map_reduce import Mapper, OneProcess
from ilr_dynamics.regression.shared.validation import check_random_state, check_type
from ilr_dynamics.regression.units.transforms import Transforms

__all__ = ["fit_files"]

M = TypeVar("M", bound=MixtureRegressor)

# Samples, evenly spaced, from which scales, the first places of the components and the global
# model come: all if there are no more. Everything else comes from all of them.
SKETCH_ROWS = 50_000


@one_blas_thread
def fit_files(
    model: M,
    files: Sequence[SampleFile],
    *,
    mapper: Mapper | None = None,
    start: MixtureRegressor | None = None,
    callback: IterationCallback | None = None,
) -> M:
    """
    Let a model learn samples in files from data alone, as `MixtureRegressor.fit` learns arrays.

    Only sums over the files are ever in memory, and samples of one file in each process. The
    result is the same whoever computes it. Nothing is held out (`calibration_share`): calibrate
    the model with other samples. While it learns, each file has another one of its size beside it.

    Parameters
    ----------
    model
        Estimator, which is changed. Its global model learns of 50,000 samples, evenly spaced.
    files
        At least one, with as many inputs and outputs each (`write_samples`).
    mapper
        Who computes: by default this process, one file after the other.
    start
        Model of some of the files, the first ones, where inference begins: with its scales and
        components, of which it opens no others.
    callback
        As of `MixtureRegressor.fit`.

    Returns
    -------
    model
        The one given.

    Raises
    ------
    InvalidDataError
        If files do not fit together or cannot be read.
    FileAccessError
        If what each file has beside it cannot be written.
    InvalidParameterError
        If an argument is of another type, or a parameter of the model out of range.
    NotFittedError
        If the model to start with has learned nothing.
    """
    check_type(model, "model", MixtureRegressor)
    learner = model._learner()
    _check(files)
    if mapper is not None:
        check_type(mapper, "mapper", Mapper)
    if start is not None:
        _check_start(start, model, files[0])
    mapper = OneProcess() if mapper is None else mapper
    if start is None:
        X, Y, weights = _sketch(files, mapper)
        known, points = learner.prepared(X, Y, weights)
        known = _of_sketch(known, len(X) / sum(file.n_rows for file in files))
    else:
        known = _of_more_files(start, files, mapper)
    # Files of this fit alone, as others may learn from the same ones meanwhile.
    suffix = f".extended-{uuid.uuid4().hex}"
    extended_files = [_beside(file, known, suffix) for file in files]
    samples = FileSamples(extended_files, mapper)
    generator = check_random_state(learner.random_state)
    inference, results = learner.inference.variants()[0], []
    try:
        mapper.map(_extend, list(zip(files, extended_files, strict=True)), known.transforms)
        for _ in range(learner.inference.n_restarts if start is None else 1):
            if start is None:
                inputs = points[:, : X.shape[1]]
                seeds = k_means_plus_plus(inputs, weights, learner.n_components, generator)
                groups, initial = (
                    np.arange(len(seeds)),
                    mapper.sum(_assigned, extended_files, seeds),
                )
            else:
                groups, initial = known.groups, _shares(known, samples)
            state = initial_state(
                np.array([samples.total_weight]),
                known.prior,
                learner.stated_prior(known.prior),
                np.zeros_like(initial),
                initial,
                groups,
            )
            results.append(inference.ascend(samples, state, generator, callback))
    finally:
        for file in extended_files:
            file.remove()
    result = max(results, key=lambda each: float(each.lower_bounds[-1]))
    learned = Knowledge(
        result.prior, result.statistics, result.groups, samples.n_rows, known.transforms
    )
    model.metadata_ = {}
    return model._learned(learned, result)


def _check(files: Sequence[SampleFile]) -> None:
    check_type(files, "files", Sequence)
    for file in files:
        check_type(file, "each of the files", SampleFile)
    sizes = {(file.n_inputs, file.n_outputs) for file in files}
    if len(sizes) != 1:
        raise InvalidDataError(
            f"the samples have numbers of inputs and outputs {sorted(sizes)}; expected one pair"
        )
    if len({os.path.realpath(file.path) for file in files}) != len(files):
        raise InvalidDataError("a file of samples is given twice; expected different ones")


def _check_start(start: MixtureRegressor, model: MixtureRegressor, file: SampleFile) -> None:
    check_type(start, "start", MixtureRegressor)
    # A prior of as many levels as the model has.
    check_type(start.default_prior, "the prior of start", type(model.default_prior), exactly=True)
    start._check_fitted()
    sizes, expected = (start.n_features_in_, start.n_outputs_), (file.n_inputs, file.n_outputs)
    if sizes != expected:
        raise InvalidDataError(
            f"the model to start with has {sizes[0]} inputs and {sizes[1]} outputs; expected "
            f"{expected[0]} and {expected[1]}, as the samples have"
        )


def _sketch(
    files: Sequence[SampleFile], mapper: Mapper
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Inputs, outputs and weights of some samples, evenly spaced over all."""
    every = -(-sum(file.n_rows for file in files) // SKETCH_ROWS)
    ends = accumulate(file.n_rows for file in files)
    first = [(file.n_rows - end) % every for file, end in zip(files, ends, strict=True)]
    parts = mapper.map(_some_rows, list(zip(files, first, strict=True)), every)
    X, Y, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return X, Y, weights


def _of_sketch(known: Knowledge, share: float) -> Knowledge:
    """Inflate the spread by as many residuals as are of rows that the global model has learned."""
    spread = known.transforms.spread
    components = 1.0 + share * (spread.components - 1.0)
    spread = replace(spread, components=components)
    return replace(known, transforms=replace(known.transforms, spread=spread))


def _some_rows(
    item: tuple[SampleFile, int], every: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    file, first = item
    return file.read(every, first)


def _of_more_files(
    start: MixtureRegressor, files: Sequence[SampleFile], mapper: Mapper
) -> Knowledge:
    """What a model of the first files knows once its global model knows the others too."""
    known = start._knowledge
    ends = list(accumulate(file.n_rows for file in files))
    if known.n_samples not in ends:
        raise InvalidDataError(
            f"the model to start with has learned {known.n_samples} samples; expected the first "
            f"files to have as many, they have {ends}"
        )
    others = files[ends.index(known.n_samples) + 1 :]
    if not others:
        return known
    transforms = known.transforms.updated(*_sketch(others, mapper), kept=1.0)
    return replace(known, transforms=transforms)


def _beside(file: SampleFile, known: Knowledge, suffix: str) -> SampleFile:
    """File for the extended samples of a file."""
    rest = known.prior.n_regressors - file.n_inputs + file.n_outputs
    return file.beside(suffix, file.n_inputs, rest)


@one_blas_thread
def _extend(item: tuple[SampleFile, SampleFile], transforms: Transforms) -> None:
    file, extended_file = item
    X, Y, weights = file.read()
    zeta = extended(transforms, X, transforms.residual(X, Y))
    extended_file.write(zeta[:, : file.n_inputs], zeta[:, file.n_inputs :], weights)


@one_blas_thread
def _assigned(file: SampleFile, seeds: FloatArray) -> FloatArray:
    """Statistics (K, p, p) of a file's samples, each of which is the nearest seed's (K, m)."""
    inputs, rest, weights = file.read()
    labels = nearest_seed(inputs, seeds)
    return assignment_statistics(np.column_stack([inputs, rest]), weights, labels, len(seeds))


def _shares(known: Knowledge, samples: FileSamples) -> FloatArray:
    """Statistics (K, p, p) of samples by what is known of the components."""
    posterior = known.prior.posterior(known.statistics, known.groups)
    return samples.sums(posterior, np.arange(len(known.groups)))[1]
