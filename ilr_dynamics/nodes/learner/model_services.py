# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Services and action of /inverse_dynamics that learn, load and save its model."""

from __future__ import annotations

import time
import uuid
from _thread import start_new_thread
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import coroutine
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleNode

from ilr_dynamics.exceptions import IlrDynamicsError, LearnerError, SnapshotError
from ilr_dynamics.learning import (
    LearnerLimits,
    LearningReport,
    LearningSettings,
    LoadJob,
    Progressed,
    SaveJob,
    UpdateJob,
)
from ilr_dynamics.learning.learn import ignore_progress
from ilr_dynamics.nodes.learner.job_answers import Answer, Request, check_texts, feedback, fill
from ilr_dynamics.nodes.learner.learner_client import LearnerClient
from ilr_dynamics.nodes.shared.event_log import EventLog
from ilr_dynamics.regression import Predictor
from ilr_dynamics.robot import identified_dynamics  # noqa: F401  # a predictor may hold some
from ilr_dynamics.scratch_folder import ScratchFolder
from ilr_dynamics_msgs.action import Learn
from ilr_dynamics_msgs.srv import LoadSnapshot, SaveSnapshot, UpdateModel

__all__ = ["ModelServices"]


@dataclass(frozen=True)
class _Model:
    """Files of a model: its predictor, and the snapshot that later updates start from."""

    predictor: str
    base: str


@dataclass(frozen=True)
class _Use:
    """Settings of the services while the node is configured."""

    settings: LearningSettings
    snapshot_folder: Path
    set_predictor: Callable[[Predictor, str], None]


class ModelServices:
    """
    Services that learn and load in the learner process and exchange the predictor in use.

    They exist as long as the node does, so that requests always get a response.

    Parameters
    ----------
    node : LifecycleNode
        Node of the services.
    log : EventLog
        Log of the node.
    """

    def __init__(self, node: LifecycleNode, log: EventLog) -> None:
        self._node = node
        self._log = log
        # A callback that awaits the learner must not block others.
        group = ReentrantCallbackGroup()
        self._learner = LearnerClient(node, group)
        self._use: _Use | None = None
        self._model: _Model | None = None
        self._previous: _Model | None = None
        # The model in use is backed by private copies, which no other program changes or removes.
        self._scratch = ScratchFolder("ilr_dynamics_")
        for kind, name, work in (
            (UpdateModel, "update_model", self._learn),
            (LoadSnapshot, "load_snapshot", self._load),
            (SaveSnapshot, "save_snapshot", self._save),
        ):
            answer = partial(self._answer, name, work)
            node.create_service(kind, f"~/{name}", answer, callback_group=group)
        self._action = ActionServer(
            node,
            Learn,
            "~/learn",
            self._on_goal,
            cancel_callback=self._on_cancel,
            callback_group=group,
        )

    @property
    def status(self) -> str:
        """Present activity of the learner."""
        return self._learner.status

    def configure(
        self,
        settings: LearningSettings,
        snapshot_folder: Path,
        limits: LearnerLimits,
        set_predictor: Callable[[Predictor, str], None],
    ) -> None:
        """
        Start to accept requests.

        Parameters
        ----------
        settings : LearningSettings
            Settings of the arm and the model.
        snapshot_folder : Path
            Folder of snapshots whose request gives no path.
        limits : LearnerLimits
            Limits of the learner process.
        set_predictor : callable
            Callback with a new predictor and the identity of its model.
        """
        self._use = _Use(settings, snapshot_folder, set_predictor)
        self._learner.limits = limits

    def unconfigure(self) -> None:
        """Refuse requests from now on, and discard the model."""
        self._learner.cancel()
        self._use = None
        self._model = None

    def close(self) -> None:
        """End the learner: for the end of the program only."""
        self._learner.close()
        self._action.destroy()
        self._scratch.close()

    def load(self, snapshot_uri: str) -> None:
        """Load a snapshot in this process, or raise why not; for while no arm is controlled."""
        # Only here: without a snapshot the node starts without the learner's modules.
        from ilr_dynamics.learning.worker import run_job

        job = LoadJob(snapshot_uri, str(self._scratch.path), self._configured().settings)
        report = run_job(job, ignore_progress)
        self._model = _Model(report.predictor, report.base)
        self._configured().set_predictor(Predictor.open(Path(report.predictor)), report.snapshot)
        self._log_model(report)

    async def _answer(
        self,
        name: str,
        work: Callable[[Request], Awaitable[LearningReport]],
        request: Request,
        answer: Answer,
    ) -> Answer:
        """Answer a request with the report on its job, or with why it was refused or failed."""
        try:
            check_texts(request)
            fill(answer, await work(request))
        except IlrDynamicsError as error:
            answer.message = str(error)
        if not answer.success:
            self._log.error(name, f"{name}: {answer.message}")
        return answer

    async def _on_goal(self, goal: ServerGoalHandle[Any, Any, Any]) -> Learn.Result:
        def publish(progress: Progressed) -> None:
            goal.publish_feedback(feedback(progress))

        async def learn(request: Learn.Goal) -> LearningReport:
            if goal.is_cancel_requested:
                raise LearnerError("learning was cancelled")
            return await self._learn(request, publish, goal)

        result = await self._answer("learn", learn, goal.request, Learn.Result())
        if result.success:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        return result

    def _on_cancel(self, goal: ServerGoalHandle[Any, Any, Any]) -> CancelResponse:
        self._learner.cancel(goal)
        return CancelResponse.ACCEPT

    async def _learn(
        self,
        request: UpdateModel.Request | Learn.Goal,
        on_progress: Callable[[Progressed], None] | None = None,
        owner: object = None,
    ) -> LearningReport:
        use = self._configured()
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:8]}.npz"
        job = UpdateJob(
            bag_uri=request.bag_uri,
            directory=str(self._scratch.path),
            settings=use.settings,
            snapshot=None if self._model is None else self._model.base,
            snapshot_uri=request.snapshot_uri or str(_existing(use.snapshot_folder) / name),
            accept_worse=request.accept_worse,
            skip_bad=request.skip_bad,
        )
        title = f"learning from {request.bag_uri}"
        report = await self._learner.run(job, title, on_progress, owner)
        if not report.refusal:
            await self._take(report)
            if report.unsettled:
                self._log.warning(
                    "unsettled", f"learning from {request.bag_uri}: {report.unsettled}"
                )
        return report

    async def _load(self, request: LoadSnapshot.Request) -> LearningReport:
        uri = request.snapshot_uri
        job = LoadJob(uri, str(self._scratch.path), self._configured().settings)
        report = await self._learner.run(job, f"loading {uri}")
        await self._take(report)
        return report

    async def _save(self, request: SaveSnapshot.Request) -> LearningReport:
        uri, settings = request.snapshot_uri, self._configured().settings
        if self._model is None:
            raise SnapshotError("there is no model yet: expected one to be learned or loaded")
        job = SaveJob(self._model.base, uri, settings, request.overwrite)
        return await self._learner.run(job, f"saving {uri}")

    def _configured(self) -> _Use:
        if self._use is None:
            raise LearnerError("the node is not configured: expected it to be inactive or active")
        return self._use

    async def _take(self, report: LearningReport) -> None:
        """
        Exchange the model in use, and delete the one before the previous one.

        Opening and exchanging a large model take longer than a control cycle: joint states are
        answered between the parts.
        """
        before, model = self._model, _Model(report.predictor, report.base)
        # At once: what is asked for between the parts is asked of the new model.
        self._model = model
        try:
            predictor = await _in_turns(Predictor.opening(Path(report.predictor)))
        except SnapshotError:
            self._model = before
            raise
        await _next_turn()
        if self._model is not model:
            raise LearnerError(
                "the model is not in use: the node was cleaned up, or given another, meanwhile"
            )
        self._configured().set_predictor(predictor, report.snapshot)
        outdated, self._previous = self._previous, before
        await _next_turn()
        self._log_model(report)
        # Releasing the disk space of a large model takes longer than a control cycle, also if a
        # file is deleted earlier and what maps it goes: until it has faded out, the previous model
        # is in use. A `Thread` would wait until it runs, without a real-time priority.
        if outdated is not None:
            start_new_thread(_delete, (outdated,))

    def _log_model(self, report: LearningReport) -> None:
        self._log.info(
            "model",
            f"model {report.snapshot}: {report.components_after} components, "
            f"{report.samples_total} samples",
        )


def _delete(model: _Model) -> None:
    for path in (model.predictor, model.base):
        # What cannot be deleted now goes with the scratch folder.
        with suppress(OSError):
            Path(path).unlink()


@coroutine
def _next_turn() -> Generator[None, None, None]:
    """Awaitable that resumes after the executor has handled everything else that is due."""
    yield


@coroutine
def _in_turns(parts: Generator[None, None, Predictor]) -> Generator[None, None, Predictor]:
    """Awaitable of what a generator returns that yields like `_next_turn`."""
    return (yield from parts)


def _existing(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SnapshotError(f"the folder {folder} cannot be made: {error}") from error
    return folder
