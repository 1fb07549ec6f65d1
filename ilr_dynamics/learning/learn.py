# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Learning of a model from a recording, with an assessment of the new model."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import LearnerError
from ilr_dynamics.learning.learned_recording import LEARNED, learned_before_change
from ilr_dynamics.learning.noted_warnings import noted_convergence
from ilr_dynamics.learning.plausibility import implausible_torques
from ilr_dynamics.learning.prior import model_to_update
from ilr_dynamics.learning.recording_weights import recording_weights
from ilr_dynamics.learning.report import LearningReport
from ilr_dynamics.learning.settings import LearningSettings, snapshot_metadata
from ilr_dynamics.recording import (
    NAMESPACE_ANNOTATION,
    PREFIX_ANNOTATION,
    Recording,
    Samples,
    read_annotations,
    read_recording,
    training_samples,
)
from ilr_dynamics.regression.inference.inference import IterationCallback
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

__all__ = [
    "Progress",
    "ignore_progress",
    "learn",
    "read_samples",
    "read_states",
]

Progress = Callable[[str, float, float], None]
"""Callback with the stage ("reading", "learning" or "saving"), the share of it that is done, and
the lower bound of the last iteration in nats per sample (NaN before the first)."""

# Share of the stage "reading" in which the states of a large recording are read; the rest is
# smoothing and sampling.
STATES_SHARE = 0.7
# Share of the samples, the newest ones, held out to test an update. They do not calibrate its
# intervals: they mostly repeat a motion of the recording, and factors found on them made the
# intervals on other motions too narrow.
NEWEST_SHARE = 0.1
# An update counts as no worse up to this ratio of squared errors, which vary by some percent by
# chance,
CHANCE_RATIO = 1.05
# or up to a rise of the error by this share of each joint's torque scale.
NEGLIGIBLE_RISE = 0.01


def ignore_progress(stage: str, fraction: float, lower_bound: float) -> None:
    """Discard a report of progress."""


def read_samples(
    bag_uri: str | Path, settings: LearningSettings, progress: Progress = ignore_progress
) -> Samples:
    """
    Read the training samples of a recording.

    Parameters
    ----------
    bag_uri : str or Path
        Folder or file of a rosbag2.
    settings : LearningSettings
        Joints, topics and filter.
    progress : Progress
        Callback for progress.

    Returns
    -------
    Samples

    Raises
    ------
    RecordingError
        If the recording cannot be read or has too few usable samples.
    FileAccessError
        If it is outside the allowed directories.
    """
    progress("reading", 0.0, math.nan)
    recording = read_states(bag_uri, settings, progress)
    progress("reading", STATES_SHARE, math.nan)
    samples = training_samples(recording, settings.samples)
    progress("reading", 1.0, math.nan)
    return samples


def read_states(
    bag_uri: str | Path, settings: LearningSettings, progress: Progress = ignore_progress
) -> Recording:
    """
    Read the usable joint states of a recording.

    Parameters and errors are those of `read_samples`. At the end `STATES_SHARE` of the stage
    "reading" is done.
    """
    noted = read_annotations(bag_uri, settings.directories)
    namespace = noted.get(NAMESPACE_ANNOTATION, settings.namespace)
    prefix = noted.get(PREFIX_ANNOTATION, settings.prefix)
    command_topic, reports = settings.command_topic, settings.controller_state_topic
    recording = read_recording(
        bag_uri,
        [prefix + joint for joint in settings.joint_names],
        state_topic=_in_namespace(settings.state_topic, namespace),
        command_topic=command_topic and _in_namespace(command_topic, namespace),
        controller_state_topic=reports and _in_namespace(reports, namespace),
        driver_compensates_gravity=settings.driver_compensates_gravity,
        limits=settings.limits,
        directories=settings.directories,
        progress=lambda share: progress("reading", STATES_SHARE * share, math.nan),
    )
    return replace(recording, joint_names=settings.joint_names)


def _in_namespace(topic: str, namespace: str) -> str:
    return topic if topic.startswith("/") else f"{namespace.rstrip('/')}/{topic}"


def learn(
    samples: Samples,
    settings: LearningSettings,
    model: MixtureRegressor | None = None,
    progress: Progress = ignore_progress,
    recordings: Sequence[str | Path] = (),
) -> tuple[MixtureRegressor, LearningReport]:
    """
    Learn a new model from samples, or update a model with them.

    Parameters
    ----------
    samples : Samples
        Inputs and torques, ordered by time.
    settings : LearningSettings
        Parameters of the model.
    model : MixtureRegressor, optional
        Model to update; it is not changed.
    progress : Progress
        Callback for progress.
    recordings : sequence of str or Path
        URIs of the recordings of these samples.

    Returns
    -------
    model : MixtureRegressor
        New model; its `metadata_` names its arm and all its recordings.
    report : LearningReport
        Assessment of the new model.

    Raises
    ------
    InvalidParameterError
        If a parameter of the model is unknown or out of range.
    LearnerError
        If the new model predicts torques that are not finite.
    """
    new_model = model_to_update(model, settings)
    implausible = implausible_torques(samples, settings)
    progress("learning", 0.0, math.nan)
    start = time.perf_counter()
    weights = recording_weights(samples.X, new_model) if settings.effective_samples else None
    older, newest = _split(samples, weights)
    before = None if model is None else _judged(model, newest)
    trial = _trial(new_model, older, _reporter(progress, 0.0, 0.5))
    after = _judged(trial, newest)
    has_changed = trial.change_ is not None and trial.change_.forgotten
    if model is not None and not has_changed:
        # Before it is learned, a recording is as new to the model as the next one will be after,
        # unless it is of an arm that has changed. It counts as all earlier ones of its size; the
        # posterior's own intervals as the first.
        share = samples.n_used / (samples.n_used + model.n_samples_)
        new_model.calibrate(samples.X, samples.Y, share=share, unseen=False)
    with noted_convergence() as unsettled:
        new_model.partial_fit(
            samples.X, samples.Y, weights, callback=_reporter(progress, 0.5, 1.0)
        )
    learning_time = time.perf_counter() - start
    for errors in (after.squared_errors, _squared_errors(new_model, newest)):
        if not np.isfinite(errors).all():
            raise LearnerError(
                f"the new model's torque errors are {errors}; expected finite numbers"
            )
    new_model.metadata_ = _metadata(new_model, model, settings, recordings)
    change = new_model.change_
    return new_model, LearningReport(
        samples_used=samples.n_used,
        rejected=dict(samples.rejected),
        components_before=0 if model is None else model.n_active_,
        components_after=new_model.n_active_,
        error_before=[] if before is None else before.squared_errors,
        error_after=after.squared_errors,
        gain=None if before is None else after.log_density - before.log_density,
        change="" if change is None else str(change),
        forgotten={} if change is None else dict(change.forgotten),
        worse=before is not None and _is_worse(after, before, settings, new_model),
        implausible=implausible,
        unsettled="".join(unsettled),
        learning_time=learning_time,
        samples_total=new_model.n_samples_,
    )


class _Part(NamedTuple):
    """Some samples, and their weights if they have any."""

    X: FloatArray
    Y: FloatArray
    weights: FloatArray | None


class _Judgement(NamedTuple):
    """Mean squared error of each torque, Nm^2, and log density of a sample's torques, nats."""

    squared_errors: list[float]
    log_density: float


def _split(samples: Samples, weights: FloatArray | None) -> tuple[_Part, _Part]:
    """Samples without the newest ones, and these."""
    n_older = samples.n_used - math.ceil(NEWEST_SHARE * samples.n_used)
    older, newest = (
        _Part(samples.X[rows], samples.Y[rows], None if weights is None else weights[rows])
        for rows in (slice(n_older), slice(n_older, None))
    )
    return older, newest


def _trial(model: MixtureRegressor, older: _Part, callback: IterationCallback) -> MixtureRegressor:
    """
    Return what a model would be without the newest samples, which then judge it.

    Updating this model with the newest tenth would save half of the time. But two batches do not
    give the model of one batch: with two, errors of the simulated arm after three recordings were
    up to three times as large.
    """
    trial = copy.copy(model).set_params(calibration_share=0.0)
    with noted_convergence():
        trial.partial_fit(older.X, older.Y, older.weights, callback=callback)
    return trial


def _judged(model: MixtureRegressor, part: _Part) -> _Judgement:
    """Judge a model by samples: the log density is a mean over the effective ones."""
    log_densities = model.log_predictive_density(part.X, part.Y)
    return _Judgement(
        _squared_errors(model, part), float(np.average(log_densities, weights=part.weights))
    )


def _squared_errors(model: MixtureRegressor, part: _Part) -> list[float]:
    errors: list[float] = np.mean((model.predict(part.X) - part.Y) ** 2, axis=0).tolist()
    return errors


def _reporter(progress: Progress, first: float, last: float) -> IterationCallback:
    """Report iterations as progress between two shares of the learning."""

    def iteration_done(iteration: int, max_iterations: int, lower_bound: float) -> None:
        fraction = first + (last - first) * iteration / max_iterations
        progress("learning", fraction, lower_bound)

    return iteration_done


def _metadata(
    new_model: MixtureRegressor,
    model: MixtureRegressor | None,
    settings: LearningSettings,
    recordings: Sequence[str | Path],
) -> dict[str, Any]:
    """Metadata of a new model: its arm, all its recordings, and what each of them gave."""
    earlier = {} if model is None else model.metadata_
    change = new_model.change_
    learned = dict(earlier.get(LEARNED, {}))
    if change is not None and change.forgotten:
        learned = learned_before_change(earlier)
    names = [*earlier.get("recordings", []), *map(str, recordings)]
    return {**snapshot_metadata(settings, names), LEARNED: learned}


def _is_worse(
    after: _Judgement, before: _Judgement, settings: LearningSettings, model: MixtureRegressor
) -> bool:
    """Compare squared errors in units of torque scales, which differ tenfold between joints."""
    stated = settings.model.get("output_scale")
    unit = model.output_scaling_.scale if stated is None else np.asarray(stated, dtype=float)
    allowed = CHANCE_RATIO * np.array(before.squared_errors)
    rise = np.sum((np.array(after.squared_errors) - allowed) / unit**2)
    return bool(rise > NEGLIGIBLE_RISE**2 * len(after.squared_errors))
