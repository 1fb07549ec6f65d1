# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Odd snapshots and predictor files: made, loaded, used."""

from __future__ import annotations

import copy
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
from ilr_dynamics.regression.files.model_file import (
    PREDICTOR,
    SNAPSHOT,
    Kind,
    _checksum,
    read_file,
)
from ilr_dynamics.regression.files.npz import HEADER, write_arrays
from ilr_dynamics.regression.files.stored_predictor import concatenated, separated
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.regression.predictor import Predictor
from ilr_dynamics.robot.dynamics_regressor import n_columns, n_parameters
from ilr_dynamics.robot.earlier_knowledge import EarlierKnowledge
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.parameter_prior import n_scales
from ilr_dynamics.robot.representative_samples import RepresentativeSamples
from ilr_dynamics.robot.residual_correlation import ResidualCorrelation
from ilr_dynamics.robot.torque_noise import TorqueNoise

# In the header of an .npy file.
ODD_REPLACEMENTS = (
    *((b"'<f8'", b"'|O'"), (b"'<f8'", b"'<f4'"), (b"'<f8'", b"[('a', '<f8', (2,))]")),
    *((b"False", b"True"), (b"'shape'", b"'Shape'"), (b"(", b"(9"), (b"(", b"(0, ")),
    *((b"(", b"(" * 60), (b"(", b"(" + b"1" * 100), (b"(", b"(1, " * 40), (b"(", b"(-")),
)
ODD_NPY_TEXTS = (
    *(b"'", b'"', b"(", b")", b"[", b"]", b"{", b"}", b",", b":", b"-", b"L", b"#", b"\\"),
    *(b"None", b"True", b"1e5", b"1j", b"9" * 30, b"-1", b"set()", b"f'{x}'", b"lambda: 0"),
    *(b"__import__('os')", b"'V99999999999'", b"('<f8', (2, 3))", b"'(3, 3)f8'", b"\0", b"\n"),
)


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
        tool=np.zeros(3),
        frequencies=np.zeros((0, 2)),
        gram=np.zeros((2, size, size)),
        pull=np.zeros((2, size)),
        energy=np.zeros(2),
        weight=np.zeros(2),
        noise=TorqueNoise.none(2),
        description_error=TorqueNoise.none(2),
        representatives=RepresentativeSamples.none(2),
        correlation=ResidualCorrelation(),
        prior_scales=np.ones(n_scales(2)),
        earlier=EarlierKnowledge.none(n_parameters(2)),
    )


class ModelFiles:
    """
    Files of five models, damaged as bytes, as zip, as .npy files or behind a valid checksum.

    Parameters
    ----------
    folder
        Where the file goes.
    """

    kind: Kind

    def __init__(self, folder: Path) -> None:
        self._path = folder / "model"
        self._contents: list[bytes] = []
        self._parts = []
        for model in models():
            self.save(model)
            self._contents.append(self._path.read_bytes())
            header, arrays = read_file(self._path, self.kind)
            copies = {name: np.array(array) for name, array in arrays.items()}
            self._parts.append((header, copies))

    def save(self, model: MixtureRegressor) -> None:
        """Write the sound file of a model."""
        raise NotImplementedError

    def load(self) -> None:
        """Load the input and use what came of it."""
        raise NotImplementedError

    def write(self, rng: Generator) -> str:
        """Write the next input; the answer says of what kind it is."""
        number = int(rng.integers(len(self._contents)))
        kind = pick(
            rng, ("bytes", "zip", "members", "header", "arrays", "arrays", "header and arrays")
        )
        damaged = {"bytes": damage, "zip": _with_damaged_zip, "members": _with_damaged_member}
        if kind in damaged:
            self._path.write_bytes(damaged[kind](self._contents[number], rng))
            return kind
        header, arrays = self._parts[number]
        if "arrays" in kind:
            header, arrays = self.with_odd_arrays(header, arrays, rng)
        if "header" in kind:
            header = odd_tree(header, rng)
        self._path.write_bytes(_packed(header, arrays))
        return kind

    def with_odd_arrays(
        self, header: dict[str, Any], arrays: dict[str, np.ndarray], rng: Generator
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Change the arrays, and in the header what tells of them."""
        return header, odd_arrays(arrays, rng)


class Snapshots(ModelFiles):
    """Snapshots, loaded, asked and saved again."""

    name = "snapshot"
    kind = SNAPSHOT

    def save(self, model: MixtureRegressor) -> None:
        model.save(self._path, {"joint_names": ["j1", "j2"], "recordings": ["/data/run1"]})

    def load(self) -> None:
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


class PredictorFiles(ModelFiles):
    """Predictor files, mapped as a control loop does and asked."""

    name = "predictor"
    kind = PREDICTOR

    def save(self, model: MixtureRegressor) -> None:
        model.predictor().save(self._path)

    def with_odd_arrays(
        self, header: dict[str, Any], arrays: dict[str, np.ndarray], rng: Generator
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if rng.random() < 0.2:
            return header, odd_arrays(arrays, rng)
        parts = odd_arrays(separated(header["shapes"], arrays["values"]), rng)
        shapes, values = concatenated(parts)
        return {**header, "shapes": shapes}, {"values": values}

    def load(self) -> None:
        predictor = Predictor.open(self._path)
        with np.errstate(all="ignore"):
            for size in (0.0, 1.0, -100.0):
                predictor(np.full(predictor.n_inputs, size))


def _packed(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """A file with a sound checksum, as `write_file` makes it of what it does not refuse."""
    header = json.loads(json.dumps({**header, "checksum": None}))
    arrays = {name: np.asarray(array, "<f8", order="C") for name, array in arrays.items()}
    header["checksum"] = _checksum(header, arrays)
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    buffer = io.BytesIO()
    write_arrays(buffer, {HEADER: text, **arrays})
    return buffer.getvalue()


def _with_damaged_zip(content: bytes, rng: Generator) -> bytes:
    """Sound .npy files in a zip whose directory, or what precedes a member, is damaged."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        begin, end = archive.start_dir, len(content)
        if rng.random() < 0.4:
            begin = pick(rng, archive.infolist()).header_offset
            end = begin + 80
    return content[:begin] + damage(content[begin:end], rng) + content[end:]


def _with_damaged_member(content: bytes, rng: Generator) -> bytes:
    """A sound zip around an odd .npy file or name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = pick(rng, list(members))
    kind = rng.integers(4)
    if kind == 0:
        members[name] = damage(members[name][:128], rng) + members[name][128:]
    elif kind == 1:
        members[name] = damage(members[name], rng)
    else:
        members[name] = _with_odd_npy_header(members[name], rng)
    buffer = io.BytesIO()
    method = zipfile.ZIP_STORED if rng.random() < 0.9 else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
        if rng.random() < 0.1:
            for number in range(300):
                archive.writestr(f"{number}.npy", b"")
        if rng.random() < 0.1:
            # The same array once more, under a name of its own.
            twin = copy.copy(archive.getinfo(name))
            twin.filename = "twin.npy"
            archive.filelist.append(twin)
    return buffer.getvalue()


def _with_odd_npy_header(data: bytes, rng: Generator) -> bytes:
    """An .npy file with something else in its header, of which the length is mostly right."""
    end = 10 + int.from_bytes(data[8:10], "little")
    text = bytearray(data[10:end])
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.5:
            old, new = pick(rng, ODD_REPLACEMENTS)
            text = text.replace(old, new)
        else:
            start = int(rng.integers(60))
            text[start : start + int(rng.integers(8))] = pick(rng, ODD_NPY_TEXTS)
    length = len(text) if rng.random() < 0.9 else int(pick(rng, (0, 64, 118, 65535)))
    return data[:8] + (length % (1 << 16)).to_bytes(2, "little") + bytes(text) + data[end:]
