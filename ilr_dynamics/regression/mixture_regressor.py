# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Base of the estimators: parameters, learning, and keeping a model in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.exceptions import (
    ConvergenceWarning,
    DoubtfulDataWarning,
    InvalidParameterError,
)
from ilr_dynamics.regression.estimator import Estimator
from ilr_dynamics.regression.files.model_file import SNAPSHOT, write_file
from ilr_dynamics.regression.files.stored_knowledge import pack_knowledge
from ilr_dynamics.regression.files.stored_parameters import pack_parameters
from ilr_dynamics.regression.fitted_mixture import FittedMixture, check_coverage
from ilr_dynamics.regression.former_names import answering_former_names
from ilr_dynamics.regression.inference.batch import BatchInference
from ilr_dynamics.regression.inference.inference import Inference, IterationCallback
from ilr_dynamics.regression.inference.knowledge import Knowledge
from ilr_dynamics.regression.inference.state import InferenceResult
from ilr_dynamics.regression.inference.stochastic import StochasticInference
from ilr_dynamics.regression.learner import Learner, calibrated
from ilr_dynamics.regression.mixture.prior import Prior
from ilr_dynamics.regression.shared.caller_warning import warn_caller
from ilr_dynamics.regression.shared.change import Change
from ilr_dynamics.regression.shared.global_model import GlobalModel, check_global_model
from ilr_dynamics.regression.shared.parameter_group import ParameterGroup
from ilr_dynamics.regression.shared.validation import (
    check_choice,
    check_integer,
    check_random_state,
    check_real,
    check_training_data,
    check_type,
)
from ilr_dynamics.regression.units.features import check_features
from ilr_dynamics.regression.units.scaling import Scaling

__all__ = ["MixtureRegressor"]

# Schemes by their short names, with their default parameters.
INFERENCE: dict[str, Inference] = {
    "batch": BatchInference(),
    "stochastic": StochasticInference(),
}


class MixtureRegressor(FittedMixture, Estimator):
    """
    Base of estimators whose predictive distribution is a mixture of Student-t densities.

    Parameters
    ----------
    n_components
        How many components one call of `fit` or `partial_fit` may open. Those that stay empty are
        closed again, and those that are better one than two may be merged (`BatchInference`).
    prior
        Base distribution of the components; None: that of the class, with its defaults.
    features, degree
        What the local models are linear in: "linear", "polynomial" (all products of up to
        `degree` inputs), or a name given to `register_features`. Polynomials grow quickly away
        from the data: between and beyond them predictions may be far off.
    global_model
        Model of few parameters, learned from the same samples, that predicts where no component
        has data; None: there the prior predicts.
    learn_residual
        Whether components learn what the global model leaves of the outputs, instead of the
        outputs; None: as the global model recommends. They then have less to learn, and stray less
        between motions; but what a model of an arm makes of noisy inputs, or does not learn of
        joints that stick, they cannot put right, so that between neighbouring samples of a
        recording they are worse than without.
    inference
        `BatchInference` or `StochasticInference`, or "batch" or "stochastic" for their defaults.
    scaling
        Physical values that become 0 and 1.
    calibration_share
        Share of the samples, at most a half and one drawn of every so many, on which `fit`
        calibrates the spread with a trial model that has not learned them, before it learns all,
        and by which it decides whether components are merged (`BatchInference`);
        0, or fewer than 50 held out: it does not. Later learning keeps the factors found, so
        calibrate again after much of it.
    forgetting_factor
        What earlier samples still weigh after each `partial_fit`, above 0 and at most 1. With 1
        nothing is forgotten; less follows an arm whose load or friction changes. "auto": each
        call compares what the new samples say with what was known, forgets what has changed and
        nothing else, and says so in `change_`. Without a global model that knows in what ways its
        outputs may change (`GlobalModel.adapted`), that is all of the past or nothing.
    random_state
        Seed, or a ``numpy.random.Generator``, or None for a different draw each time.

    Attributes
    ----------
    prior_ : MixturePrior
        Base distribution, in standard units; its scales are the data's choice if the inference
        fits them.
    statistics_ : (K, p, p)
        Scatter of the extended samples [x, features, 1, y] of each component, largest first.
    groups_ : (K,)
        Upper component of each; of `ILR` each has its own.
    posterior_ : MixturePosterior
        Prior plus statistics.
    lower_bounds_ : (n_iterations,)
        Lower bound after each iteration of the newest call, in nats.
    converged_ : bool
        Whether the bound settled in the newest call.
    n_active_ : int
        Number of components that hold more than one sample.
    n_samples_ : int
        Number of samples learned from so far.
    n_features_in_, n_outputs_ : int
        Lengths of an input and of an output.
    global_model_ : GlobalModel or None
        The global model, with all samples it was given.
    change_ : Change or None
        What the newest `partial_fit` found to have changed; None of a first fit, or if a number
        was given.
    metadata_ : dict
        What was saved with the model; empty unless loaded from a snapshot.
    """

    default_prior: ClassVar[Prior]
    lower_bounds_: FloatArray
    converged_: bool
    change_: Change | None
    metadata_: dict[str, Any]

    @answering_former_names
    def __init__(
        self,
        n_components: int = 300,
        *,
        prior: Prior | None = None,
        features: str = "linear",
        degree: int = 3,
        global_model: GlobalModel | None = None,
        learn_residual: bool | None = None,
        inference: Inference | Literal["batch", "stochastic"] = "batch",
        scaling: Scaling | None = None,
        calibration_share: float = 0.0,
        forgetting_factor: float | Literal["auto"] = 1.0,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.n_components = n_components
        self.prior = prior
        self.features = features
        self.degree = degree
        self.global_model = global_model
        self.learn_residual = learn_residual
        self.inference = inference
        self.scaling = scaling
        self.calibration_share = calibration_share
        self.forgetting_factor = forgetting_factor
        self.random_state = random_state

    def _group(self, name: str, value: object) -> ParameterGroup:
        """Group of parameters that a value stands for, by default or by a short name."""
        if name == "prior" and value is None:
            return self.default_prior
        if name == "scaling" and value is None:
            return Scaling()
        if name == "inference" and isinstance(value, str):
            check_choice(value, name, tuple(INFERENCE))
            return INFERENCE[value]
        return super()._group(name, value)

    def _learner(self) -> Learner:
        """Parameters, checked before any work is done, whether they will be used or not."""
        check_integer(self.n_components, "n_components", 1)
        check_integer(self.degree, "degree", 1)
        check_features(self.features)
        model = check_global_model(self.global_model)
        if self.learn_residual is not None:
            check_choice(self.learn_residual, "learn_residual", (True, False))
        if self.learn_residual and model is None:
            raise InvalidParameterError(
                "learn_residual is True: expected a global_model that leaves something, got None"
            )
        check_real(self.calibration_share, "calibration_share", at_least=0.0, at_most=0.5)
        _check_forgetting(self.forgetting_factor)
        check_random_state(self.random_state)
        values = {field.name: getattr(self, field.name) for field in fields(Learner)}
        if self.learn_residual is None:
            values["learn_residual"] = model is not None and model.learns_residual
        groups = {n: self._group(n, values[n]) for n in ("prior", "inference", "scaling")}
        # A prior of two levels would make a hierarchical model.
        check_type(groups["prior"], "prior", type(self.default_prior), exactly=True)
        check_type(groups["inference"], "inference", Inference)
        check_type(groups["scaling"], "scaling", Scaling)
        return Learner(**{**values, **groups})

    @one_blas_thread
    def fit(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        callback: IterationCallback | None = None,
    ) -> Self:
        """
        Learn from data alone, forgetting what was learned before.

        Parameters
        ----------
        X : (n, n_inputs)
            Inputs, in physical units.
        Y : (n, n_outputs)
            Outputs, in physical units.
        sample_weight : (n,), optional
            How many samples each row counts for.
        callback
            Called after each iteration with (iteration, max_iterations, bound per sample).

        Raises
        ------
        InvalidDataError
            If the arrays are malformed or do not fit together.
        InvalidParameterError
            If a parameter is out of range.

        Warns
        -----
        ConvergenceWarning
            If inference ended at its last iteration and its bound had not settled.
        DoubtfulDataWarning
            If the samples do not look like those of what the global model describes.
        """
        learner = self._learner()
        X, Y, weights = check_training_data(X, Y, sample_weight)
        self._warn_of_doubts(X, Y)
        knowledge, result = learner.learn(X, Y, weights, callback)
        self.metadata_ = {}
        return self._learned(knowledge, result)

    @one_blas_thread
    def partial_fit(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        callback: IterationCallback | None = None,
    ) -> Self:
        """
        Learn from new data on top of what is known: the posterior becomes the prior.

        Components are opened where the present ones do not explain the new samples. Scaling and
        features stay those of the first call. Parameters as in `fit`.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, Y, sample_weight, callback=callback)
        learner = self._learner()
        X, Y, weights = check_training_data(
            X, Y, sample_weight, self.n_features_in_, self.n_outputs_
        )
        self._warn_of_doubts(X, Y)
        return self._learned(*learner.update(self._knowledge, X, Y, weights, callback))

    def _learned(
        self, knowledge: Knowledge, result: InferenceResult, change: Change | None = None
    ) -> Self:
        self._know(knowledge)
        self.change_ = change
        self.lower_bounds_, self.converged_ = result.lower_bounds, result.converged
        if not result.converged:
            inference = self._group("inference", self.inference)
            assert isinstance(inference, Inference)
            warn_caller(inference.unsettled_text(result), ConvergenceWarning)
        return self

    def _warn_of_doubts(self, X: FloatArray, Y: FloatArray) -> None:
        for text in [] if self.global_model is None else self.global_model.doubts(X, Y):
            warn_caller(text, DoubtfulDataWarning)

    @one_blas_thread
    def calibrate(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        coverage: float = 0.95,
        *,
        share: float = 1.0,
        unseen: bool = True,
    ) -> Self:
        """
        Scale the spread so that intervals have their nominal coverage on samples not learned.

        Call it with a new recording before `partial_fit` learns it. Components and the unseen
        component (the global model) are calibrated apart, each on the samples that are its own and
        only if there are at least 50; `spread_factors_` holds what was found, and later learning
        keeps it.

        Parameters
        ----------
        X : (n, n_inputs)
            Inputs of samples the model has not seen, in physical units.
        Y : (n, n_outputs)
            Their outputs.
        coverage
            Share of the outputs that intervals of that coverage shall hold, between 0 and 1.
        share
            What these samples count against those of earlier calls, from 0 to 1: the factors
            become weighted geometric means. 1: they alone count.
        unseen
            Whether to calibrate the unseen component too. Samples near the learned ones do not
            tell how far off it is elsewhere.

        Raises
        ------
        InvalidDataError
            If the arrays are malformed.
        InvalidParameterError
            If coverage or share are out of range.
        """
        self._check_fitted()
        check_coverage(coverage)
        check_real(share, "share", at_least=0.0, at_most=1.0)
        check_choice(unseen, "unseen", (True, False))
        X, Y, _ = check_training_data(X, Y, None, self.n_features_in_, self.n_outputs_)
        self._know(calibrated(self._knowledge, X, Y, coverage, share, bool(unseen)))
        return self

    def save(
        self, path: str | os.PathLike[str], metadata: Mapping[str, Any] | None = None
    ) -> None:
        """
        Write the model to one file, in one step; `load_snapshot` reads it.

        Parameters
        ----------
        path
            The file.
        metadata
            Values that JSON can hold, kept with the model; by default those it came with.

        Raises
        ------
        NotFittedError
            Before the first fit.
        SnapshotError
            If the file cannot be written.
        """
        self._check_fitted()
        learned, arrays = pack_knowledge(self._knowledge)
        header = {
            **learned,
            "class": type(self).__name__,
            "parameters": pack_parameters(self.get_params(deep=False)),
            "converged": self.converged_,
            "metadata": dict(self.metadata_ if metadata is None else metadata),
        }
        write_file(path, SNAPSHOT, header, {**arrays, "lower_bounds": self.lower_bounds_})


def _check_forgetting(value: object) -> None:
    if isinstance(value, str) and value == "auto":
        return
    try:
        check_real(value, "forgetting_factor", above=0.0, at_most=1.0)
    except InvalidParameterError as error:
        raise InvalidParameterError(f'{error}, or "auto"') from error
