# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Files from before parameters came in groups, when global models were called fallbacks."""

import numpy as np
import pytest

from ilr_dynamics.exceptions import SnapshotError
from ilr_dynamics.regression import (
    HILR,
    ILR,
    BatchInference,
    LinearGlobalModel,
    Predictor,
    Prior,
    Scaling,
    StochasticInference,
    TwoLevelPrior,
    load_snapshot,
)
from ilr_dynamics.regression.files.model_file import (
    PREDICTOR,
    SNAPSHOT,
    read_file,
    write_file,
)
from ilr_dynamics.regression.files.stored_predictor import concatenated, separated

PARAMETERS = {
    "n_components": 6,
    "concentration": 0.3,
    "input_spread": 0.25,
    "input_strength": None,
    "centre_spread": 1.5,
    "noise_std": 0.2,
    "noise_strength": 3.0,
    "slope_scale": 2.0,
    "fit_scales": "outputs",
    "fit_concentration": True,
    "features": "linear",
    "degree": 3,
    "learn_residual": True,
    "merge": True,
    "n_restarts": 2,
    "calibration_share": 0.0,
    "forgetting_factor": 0.5,
    "inference": "batch",
    "batch_size": 70,
    "step_delay": 2.0,
    "step_rate": 0.8,
    "max_iterations": 8,
    "tolerance": 1e-3,
    "input_location": None,
    "input_scale": [1.0, 200.0],
    "output_location": 0.0,
    "output_scale": None,
    "random_state": 3,
}
"""Parameters of ILR as files held them."""
OF_TWO_LEVELS = {"upper_concentration": 0.7, "upper_centre_spread": 1.2}

PRIOR = {
    "concentration": 0.3,
    "input_spread": 0.25,
    "centre_spread": 1.5,
    "noise_std": 0.2,
    "noise_strength": 3.0,
    "slope_scale": 2.0,
}
INFERENCE = {
    "max_iterations": 8,
    "tolerance": 1e-3,
    "n_restarts": 2,
    "fit_scales": "outputs",
    "fit_concentration": True,
}
COMMON = {
    "n_components": 6,
    "global_model": LinearGlobalModel(),
    "learn_residual": True,
    "scaling": Scaling(input_scale=[1.0, 200.0], output_location=0.0),
    "forgetting_factor": 0.5,
    "random_state": 3,
}
MODELS = {
    "ilr": (
        ILR(prior=Prior(**PRIOR), inference=BatchInference(**INFERENCE, merge=True), **COMMON),
        PARAMETERS,
    ),
    "hilr": (
        HILR(
            prior=TwoLevelPrior(**PRIOR, **OF_TWO_LEVELS),
            inference=BatchInference(**INFERENCE, merge=True),
            **COMMON,
        ),
        PARAMETERS | OF_TWO_LEVELS,
    ),
    "stochastic": (
        ILR(
            prior=Prior(**PRIOR),
            inference=StochasticInference(
                **INFERENCE, batch_size=70, step_delay=2.0, step_rate=0.8
            ),
            **COMMON,
        ),
        PARAMETERS | {"inference": "stochastic"},
    ),
}


def renamed(arrays):
    return {name.replace("global_model.", "fallback."): array for name, array in arrays.items()}


def of_before(transforms):
    """The part of a header that tells about transforms."""
    kept = {name: value for name, value in transforms.items() if name != "global_model"}
    return {**kept, "prior_mean": None, "fallback": transforms["global_model"]}


def rewrite_as_before(path, parameters, **changes):
    """Let a snapshot have the header and the arrays that it would have had before."""
    header, arrays = read_file(path, SNAPSHOT)
    header = {k: v for k, v in header.items() if k not in ("format", "version", "checksum")}
    header["parameters"] = parameters
    header["transforms"] = {**of_before(header["transforms"]), **changes}
    write_file(path, SNAPSHOT, header, renamed(arrays))


@pytest.mark.parametrize("kind", MODELS)
def test_a_snapshot_of_before_loads_and_learns_on(motion, kind, tmp_path):
    X, Y = motion
    model, parameters = MODELS[kind]
    path = tmp_path / "model.npz"
    model.fit(X[:200], Y[:200]).save(path)
    rewrite_as_before(path, parameters)
    loaded = load_snapshot(path)
    stated, found = (m.get_params() for m in (model, loaded))
    assert isinstance(found.pop("global_model"), LinearGlobalModel)
    stated.pop("global_model")
    assert found == stated
    np.testing.assert_array_equal(loaded.predict(X, True), model.predict(X, True))
    for m in (model, loaded):
        m.partial_fit(X[200:], Y[200:])
    np.testing.assert_array_equal(loaded.statistics_, model.statistics_)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_snapshot_of_before_without_a_global_model_loads(motion, tmp_path):
    path = tmp_path / "model.npz"
    model = ILR(3).fit(*motion)
    model.save(path)
    rewrite_as_before(path, {**PARAMETERS, "learn_residual": False})
    loaded = load_snapshot(path)
    assert loaded.global_model is None
    np.testing.assert_array_equal(loaded.predict(motion[0]), model.predict(motion[0]))


def test_a_snapshot_with_a_prior_mean_is_refused_with_what_to_do(motion, tmp_path):
    path = tmp_path / "model.npz"
    ILR(3).fit(*motion).save(path)
    rewrite_as_before(path, PARAMETERS, prior_mean="linear")
    message = "has a prior mean function.*learn it again.*global_model=.*learn_residual=True"
    with pytest.raises(SnapshotError, match=message):
        load_snapshot(path)


@pytest.mark.parametrize("name", ["batch_size", "concentration", "merge", "input_scale"])
@pytest.mark.parametrize("inference", ["batch", "stochastic"])
def test_odd_values_in_files_of_before_are_refused_or_have_no_effect(
    motion, name, inference, tmp_path
):
    path = tmp_path / "model.npz"
    ILR(3).fit(*motion).save(path)
    odd = {**PARAMETERS, "learn_residual": False, "inference": inference, name: "odd"}
    rewrite_as_before(path, odd)
    used = {"batch": "merge", "stochastic": "batch_size"}[inference]
    if name in (used, "concentration"):
        with pytest.raises(SnapshotError, match=name):
            load_snapshot(path)
    else:
        load_snapshot(path)


def test_a_predictor_file_with_names_of_before_is_refused_and_not_misread(motion, tmp_path):
    path = tmp_path / "model.predictor"
    ILR(3, global_model=LinearGlobalModel(), learn_residual=True).fit(*motion).predictor().save(
        path
    )
    header, arrays = read_file(path, PREDICTOR)
    shapes, values = concatenated(renamed(separated(header["shapes"], arrays["values"])))
    before = of_before(header["transforms"])
    for transforms, message in (
        (before, "its arrays do not fit together.*fallback"),
        ({**before, "prior_mean": "linear"}, "has a prior mean function"),
    ):
        header = {"transforms": transforms, "shapes": shapes}
        write_file(path, PREDICTOR, header, {"values": values})
        with pytest.raises(SnapshotError, match=message):
            Predictor.open(path)
