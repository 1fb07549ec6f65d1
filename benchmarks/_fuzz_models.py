# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Odd snapshots and predictor files: made, loaded, used."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from _fuzz_mutations import damage, odd_arrays, odd_tree, pick
from numpy.random import Generator

from ilr_dynamics.exceptions import IlrDynamicsError
from ilr_dynamics.regression import HILR, ILR, BatchInference, LinearGlobalModel, load_snapshot
from ilr_dynamics.regression.files.packed_arrays import open_arrays, write_arrays
from ilr_dynamics.regression.files.snapshot_file import HEADER, _checksum, read_snapshot
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.regression.prediction.predictor import Predictor
from ilr_dynamics.robot.dynamics_regressor import n_columns
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics


def models() -> list[MixtureRegressor]:
    """Small models of every kind that a file can hold."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = np.stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] ** 2], axis=1)
    settings = {"n_components": 4, "inference": BatchInference(5), "random_state": 0}
    arm_X, arm_Y = rng.normal(size=(60, 6)), rng.normal(size=(60, 2))
    return [
        ILR(**settings).fit(X, Y),
        HILR(**settings).fit(X, Y),
        ILR(features="polynomial", degree=2, **settings).fit(X, Y),
        ILR(global_model=LinearGlobalModel(), learn_residual=True, **settings).fit(X, Y),
        ILR(global_model=_two_joints(), **settings).fit(arm_X, arm_Y),
    ]


def _two_joints() -> IdentifiedDynamics:
    placement = np.eye(4)
    placement[0, 3] = 0.3
    size = n_columns(2)
    return IdentifiedDynamics(
        placements=np.stack([np.eye(4), placement]),
        axes=np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
        gravity=np.array([0.0, 0.0, -9.81]),
        inertial_prior=np.ones((2, 10)),
        motors=np.eye(2),
        gram=np.zeros((2, size, size)),
        pull=np.zeros((2, size)),
        energy=np.zeros(2),
        weight=np.zeros(2),
        seen=0.0,
        moments=np.zeros((3, 2)),
    )


class Snapshots:
    """
    Snapshot files of five models, damaged as bytes, as zip members or behind a valid checksum.

    Parameters
    ----------
    folder
        Where the file goes.
    """

    name = "snapshot"

    def __init__(self, folder: Path) -> None:
        self._path = folder / "model.npz"
        self._contents: list[bytes] = []
        self._parts = []
        for model in models():
            model.save(self._path, {"joint_names": ["j1", "j2"], "recordings": ["/data/run1"]})
            self._contents.append(self._path.read_bytes())
            self._parts.append(read_snapshot(self._path))

    def write(self, rng: Generator) -> str:
        """Write the next input; the answer says of what kind it is."""
        number = int(rng.integers(len(self._contents)))
        kind = pick(rng, ("bytes", "members", "header", "arrays", "arrays", "header and arrays"))
        if kind == "bytes":
            self._path.write_bytes(damage(self._contents[number], rng))
            return kind
        if kind == "members":
            self._path.write_bytes(_with_damaged_member(self._contents[number], rng))
            return kind
        header, arrays = self._parts[number]
        header = {key: value for key, value in header.items() if key != "checksum"}
        if "header" in kind:
            header = odd_tree(header, rng)
        if "arrays" in kind:
            arrays = odd_arrays(arrays, rng)
        self._path.write_bytes(_packed(header, arrays))
        return kind

    def load(self) -> None:
        """Load the input and use what came of it."""
        model = load_snapshot(self._path)
        scaling = model.regressors_.scaling
        X = scaling.location + scaling.scale * np.array([[0.0], [0.5], [-3.0], [100.0]])
        with np.errstate(all="ignore"):
            model.predict(X, return_std=True)
            predictor = model.predictor()
            for x in X:
                predictor(x)
        # What could be loaded can be saved and loaded again.
        try:
            model.save(self._path)
            load_snapshot(self._path)
        except IlrDynamicsError as error:
            raise AssertionError(f"not saved again: {error}") from error


def _packed(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """A file with a sound checksum, as `write_snapshot` makes it of what it does not refuse."""
    header = json.loads(json.dumps(header))
    header["checksum"] = _checksum(header, arrays)
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **{HEADER: text}, **arrays)
    return buffer.getvalue()


def _with_damaged_member(content: bytes, rng: Generator) -> bytes:
    """A sound zip around an odd .npy file or name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = pick(rng, list(members))
    kind = rng.integers(3)
    if kind == 0:
        members[name] = members[name][:128].replace(
            *pick(
                rng,
                (
                    (b"'<f8'", b"'|O' "),
                    (b"'<f8'", b"'<f4'"),
                    (b"False", b"True "),
                    (b"(", b"(9"),
                    (b"(", b"(0, "),
                    (b"(", b"(" * 60),
                    (b"(", b"(" + b"1" * 100),
                    (b"'shape'", b"'Shape'"),
                ),
            )
        ) + bytes(members[name][128:])
    elif kind == 1:
        head = damage(members[name][:128], rng)
        members[name] = head + members[name][128:]
    else:
        members[name] = damage(members[name], rng)
    buffer = io.BytesIO()
    method = zipfile.ZIP_STORED if rng.random() < 0.9 else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
        if rng.random() < 0.1:
            for number in range(300):
                archive.writestr(f"{number}.npy", b"")
    return buffer.getvalue()


class PredictorFiles:
    """
    Files that a control loop maps, damaged as bytes or with odd headers and arrays.

    Parameters
    ----------
    folder
        Where the file goes.
    """

    name = "predictor"

    def __init__(self, folder: Path) -> None:
        self._path = folder / "model.predictor"
        self._contents: list[bytes] = []
        self._parts = []
        for model in models():
            model.predictor().save(self._path)
            self._contents.append(self._path.read_bytes())
            arrays, header = open_arrays(self._path)
            copies = {name: np.array(array) for name, array in arrays.items()}
            self._parts.append((header, copies))

    def write(self, rng: Generator) -> str:
        """Write the next input; the answer says of what kind it is."""
        number = int(rng.integers(len(self._contents)))
        kind = pick(rng, ("bytes", "shapes", "header", "arrays", "arrays"))
        if kind == "bytes":
            self._path.write_bytes(damage(self._contents[number], rng))
        elif kind == "shapes":
            magic, text, rest = self._contents[number].split(b"\n", 2)
            tree = odd_tree(json.loads(text), rng)
            self._path.write_bytes(b"\n".join([magic, json.dumps(tree).encode(), rest]))
        else:
            header, arrays = self._parts[number]
            header = odd_tree(header, rng) if kind == "header" else header
            arrays = odd_arrays(arrays, rng) if kind == "arrays" else arrays
            write_arrays(self._path, arrays, header)
        return kind

    def load(self) -> None:
        """Map the input and ask what came of it."""
        predictor = Predictor.open(self._path)
        with np.errstate(all="ignore"):
            for size in (0.0, 1.0, -100.0):
                predictor(np.full(predictor.n_inputs, size))
