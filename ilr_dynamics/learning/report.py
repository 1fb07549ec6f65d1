# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Report on a model: what it was learned from, how well it predicts, where it is saved."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["LearningReport"]


@dataclass(frozen=True)
class LearningReport:
    """
    Report on a model that was learned, loaded or saved.

    The learner process prints it as JSON, and /inverse_dynamics answers with its fields. Those
    that do not apply have their defaults: of a model that was loaded or saved all but
    `components_after`, `samples_total` and the files.

    Attributes
    ----------
    components_before, components_after : int
        Number of active local models of the old model, 0 without one, and of this one.
    samples_total : int
        Number of samples that the model has learned from in all its recordings.
    samples_used : int
        Number of samples of the job's recordings.
    rejected : dict of str to int
        Number of joint states that gave no sample, by reason.
    error_before : list of float
        Mean squared torque error of the old model per joint on the newest tenth of the samples of
        the newest recording, Nm^2: a test error, as it has not seen them. Empty without an old
        model.
    error_after : list of float
        The same of a model that was fitted to all other samples.
    gain : float or None
        Rise of the log predictive density of these newest samples, from the old model to the one
        that was fitted to all others: mean over them, weighted as they are learned, in nats per
        effective sample. It says how much of the recording was new. None without an old model.
    gains : dict of str to (float or None)
        The same of every recording of the job, by URI.
    change : str
        What the update found to have changed about the arm, and how much of it was forgotten;
        empty if it was not asked, or if there was no model.
    forgotten : dict of str to float
        The same in numbers: what has changed, and the share of what was known of it that was
        forgotten.
    worse : bool
        Whether the second error is larger, with joints weighted by the model's torque scales: of
        the newest recording, as these errors.
    implausible : str
        Reason why the recorded torques cannot be those of the arm; empty if they can.
    unsettled : str
        How far inference got, with the figures, if it ended before its bound had settled; else
        empty.
    learning_time : float
        Time of inference for both models, s.
    findings : list of str
        Warnings and errors on the recording; of several each begins with its URI.
    notes : list of str
        What else a person should know of the job, as which recordings it left out.
    refusal : str
        Reason why the model was not accepted; empty if it was.
    overridden : str
        Reason in spite of which it was accepted on request; empty without one.
    snapshot : str
        Path that the model was saved to or loaded from; empty if it was refused.
    base, predictor : str
        Private snapshot for later jobs and predictor file for the control process, in the folder
        of the job; empty if the model was refused or saved.
    """

    components_after: int = 0
    samples_total: int = 0
    components_before: int = 0
    samples_used: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    error_before: list[float] = field(default_factory=list)
    error_after: list[float] = field(default_factory=list)
    gain: float | None = None
    gains: dict[str, float | None] = field(default_factory=dict)
    change: str = ""
    forgotten: dict[str, float] = field(default_factory=dict)
    worse: bool = False
    implausible: str = ""
    unsettled: str = ""
    learning_time: float = 0.0
    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refusal: str = ""
    overridden: str = ""
    snapshot: str = ""
    base: str = ""
    predictor: str = ""
