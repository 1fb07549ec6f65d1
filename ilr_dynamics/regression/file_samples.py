# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Extended samples in files, summed up by one process or by many.

What is asked of a file has all that the answer depends on, so that anybody can answer it, also
again after a process was killed. A process remembers only what saves it work: which components
matter where, from the last time that all were asked.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.regression.files.sample_file import SampleFile
from ilr_dynamics.regression.inference.expectation import Expectation
from ilr_dynamics.regression.inference.merging import entropy_losses
from ilr_dynamics.regression.inference.samples import Samples
from ilr_dynamics.regression.shared.map_reduce import Mapper

__all__ = ["FileSamples"]


@dataclass(frozen=True)
class _Components:
    """Forms (K, p, p) of an E-step, names (K,) of their components, and its number."""

    forms: FloatArray
    names: IndexArray
    number: int


@dataclass(frozen=True)
class _Request:
    """E-step, the one that asked all components which samples they matter to, and of whom."""

    now: _Components
    of_all: _Components
    samples: str


@dataclass(frozen=True)
class _Sums:
    """Result of an E-step; those of parts of the samples add up."""

    log_normalizer: float
    statistics: FloatArray

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.log_normalizer + other.log_normalizer, self.statistics + other.statistics
        )


class _Memory:
    """What a process remembers of the files of some samples, until it is asked of others."""

    def __init__(self) -> None:
        self._samples = ""
        self._relevant: dict[str, tuple[int, list[IndexArray]]] = {}

    def clear(self) -> None:
        """Forget everything."""
        self._samples, self._relevant = "", {}

    def recall(self, file: SampleFile, request: _Request) -> list[IndexArray] | None:
        """Components that matter in each leaf of a file, if all were asked here."""
        number, relevant = self._relevant.get(file.path, (-1, []))
        known = self._samples == request.samples and number == request.of_all.number
        return relevant if known else None

    def keep(self, file: SampleFile, request: _Request, relevant: list[IndexArray]) -> None:
        if self._samples != request.samples:
            self._samples, self._relevant = request.samples, {}
        self._relevant[file.path] = request.of_all.number, relevant


_MEMORY = _Memory()


class FileSamples(Samples):
    """
    Samples in files; of what is computed only sums leave the process that computes it.

    Parameters
    ----------
    files
        Of extended samples: `n_inputs` columns by which samples are near each other, and others.
    mapper
        Who computes.
    """

    def __init__(self, files: Sequence[SampleFile], mapper: Mapper) -> None:
        self.n_rows = sum(file.n_rows for file in files)
        self.total_weight = float(sum(file.weight for file in files))
        self._files, self._mapper = files, mapper
        self._id, self._number = uuid.uuid4().hex, 0
        self._of_all: _Components | None = None

    def sums(
        self, forms: FloatArray, names: IndexArray, *, of_all: bool
    ) -> tuple[float, FloatArray]:
        """As `Samples.sums`."""
        self._number += 1
        now = _Components(forms, names, self._number)
        if of_all or self._of_all is None:
            self._of_all = now
        request = _Request(now, self._of_all, self._id)
        sums = self._mapper.sum(_sums_of_file, self._files, request)
        return sums.log_normalizer, sums.statistics

    def entropy_losses(self, forms: FloatArray, pairs: IndexArray) -> FloatArray:
        """As `Samples.entropy_losses`."""
        return self._mapper.sum(_losses_of_file, self._files, (forms, pairs))

    def n_batches(self, size: int) -> int:
        """As `Samples.n_batches`: a minibatch has whole files."""
        return min(len(self._files), max(1, round(self.n_rows / size)))

    def batches(self, n: int, generator: np.random.Generator) -> Iterator[Samples]:
        """As `Samples.batches`."""
        for chosen in np.array_split(generator.permutation(len(self._files)), n):
            yield FileSamples([self._files[index] for index in chosen], self._mapper)


@one_blas_thread
def _sums_of_file(file: SampleFile, request: _Request) -> _Sums:
    expectation = _expectation(file)
    now, of_all = request.now, request.of_all
    asks = now.number == of_all.number
    if not asks:
        relevant = _MEMORY.recall(file, request)
        if relevant is None:
            # Who was asked is gone, or computes other files by now.
            expectation(of_all.forms, of_all.names, of_all=True)
        else:
            expectation.relevant = relevant
    sums = _Sums(*expectation(now.forms, now.names, of_all=asks))
    _MEMORY.keep(file, request, expectation.relevant)
    return sums


@one_blas_thread
def _losses_of_file(file: SampleFile, question: tuple[FloatArray, IndexArray]) -> FloatArray:
    first, rest, weights = file.read()
    return entropy_losses(np.column_stack([first, rest]), weights, *question)


def _expectation(file: SampleFile) -> Expectation:
    first, rest, weights = file.read()
    return Expectation(np.column_stack([first, rest]), weights, file.n_inputs)
