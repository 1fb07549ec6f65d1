# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Samples in files, a part of them in each: more than fit into memory, or for several machines."""

from __future__ import annotations

import contextlib
import os
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import FileAccessError, InvalidDataError
from ilr_dynamics.regression.shared.validation import check_training_data

__all__ = ["SampleFile", "write_samples"]


@dataclass(frozen=True)
class SampleFile:
    """
    File of samples and what is in it: an array (n, m + d + 1) of inputs, outputs and weights.

    `write_samples` makes one.

    Attributes
    ----------
    path : str
        The file, an .npy.
    n_rows, n_inputs, n_outputs : int
        Numbers n, m and d.
    weight : float
        Sum of the weights.
    """

    path: str
    n_rows: int
    n_inputs: int
    n_outputs: int
    weight: float

    def read(self, every: int = 1, first: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
        """
        Return inputs (n, m), outputs (n, d) and weights (n,).

        Parameters
        ----------
        every, first
            Only one of every so many rows, from row `first` on.

        Raises
        ------
        InvalidDataError
            If the file is not what was written.
        """
        try:
            # Mapped, so that only the rows wanted are read, and a header's false size allocates
            # nothing.
            array = np.load(self.path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InvalidDataError(f"the samples {self.path} cannot be read: {error}") from error
        shape = self.n_rows, self.n_inputs + self.n_outputs + 1
        if not isinstance(array, np.ndarray):
            raise InvalidDataError(f"the samples {self.path} are an archive; expected an array")
        if array.shape != shape or array.dtype != np.float64:
            raise InvalidDataError(
                f"the samples {self.path} are an array of shape {array.shape} and type "
                f"{array.dtype}; expected {shape} and float64"
            )
        rows = np.array(array[first::every])
        if not np.all(rows[:, -1] > 0.0):
            raise InvalidDataError(f"the samples {self.path} have weights that are not positive")
        m = self.n_inputs
        return rows[:, :m], rows[:, m:-1], rows[:, -1]

    def beside(self, suffix: str, n_inputs: int, n_outputs: int) -> SampleFile:
        """File for what is made of the same samples, which has a name like this one's."""
        path = f"{self.path.removesuffix('.npy')}{suffix}.npy"
        return replace(self, path=path, n_inputs=n_inputs, n_outputs=n_outputs)

    def write(self, X: FloatArray, Y: FloatArray, weights: FloatArray) -> None:
        """Write arrays of the shapes that `read` returns, in one step; FileAccessError if not."""
        # The file is whole even if this worker is killed or another one writes the same part.
        # What can be made again need not have reached the disk (`atomic_writer`).
        unfinished = f"{self.path}.{uuid.uuid4().hex}"
        try:
            with open(unfinished, "wb") as file:
                np.save(file, np.column_stack([X, Y, weights]), allow_pickle=False)
            os.replace(unfinished, self.path)
        except OSError as error:
            raise FileAccessError(
                f"the samples {self.path} cannot be written ({error}); expected a folder with "
                "room for them that this process may write to"
            ) from error
        finally:
            # Where it could not be written it may not be removable either.
            with contextlib.suppress(OSError):
                os.unlink(unfinished)

    def remove(self) -> None:
        """Remove the file, if it is there."""
        Path(self.path).unlink(missing_ok=True)


def write_samples(
    path: str | os.PathLike[str],
    X: ArrayLike,
    Y: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> SampleFile:
    """
    Write samples to a file, in one step.

    Parameters
    ----------
    path
        The file, whose name ends in .npy.
    X, Y : (n, n_inputs), (n, n_outputs)
        Inputs and outputs, in physical units.
    sample_weight : (n,), optional
        How many samples each row counts for. Rows of weight zero are left out.

    Raises
    ------
    InvalidDataError
        If the arrays are malformed or do not fit together, or the name ends otherwise.
    FileAccessError
        If the file cannot be written.
    """
    name = os.fspath(path)
    if not name.endswith(".npy"):
        raise InvalidDataError(f"the samples are to be written to {name}; expected a .npy file")
    X, Y, weights = check_training_data(X, Y, sample_weight)
    file = SampleFile(name, X.shape[0], X.shape[1], Y.shape[1], float(np.sum(weights)))
    file.write(X, Y, weights)
    return file
