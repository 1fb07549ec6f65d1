# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Services and action of /inverse_dynamics that learn, load and save its model."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import coroutine
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleNode

from ilr_dynamics.exceptions import IlrDynamicsError, LearnerError, SnapshotError
from ilr_dynamics.learning import (
    LearnerLimits,
    LearningSettings,
    LoadJob,
    Progressed,
    SaveJob,
    UpdateJob,
)
from ilr_dynamics.nodes.event_log import EventLog
from ilr_dynamics.nodes.learn_action import LearnAction
from ilr_dynamics.nodes.learner_client import LearnerClient
from ilr_dynamics.nodes.learner_messages import check_texts, fill_learned
from ilr_dynamics.regression import Predictor
from ilr_dynamics.robot import identified_dynamics  # noqa: F401  # a predictor may hold some
from ilr_dynamics.scratch_folder import ScratchFolder
from ilr_dynamics_msgs.action import Learn
from ilr_dynamics_msgs.srv import LoadSnapshot, SaveSnapshot, UpdateModel

__all__ = ["ModelServices"]


@dataclass(frozen=True)
class _Model:
    """Model in use: its predictor file, and the snapshot that later updates start from."""

    predictor: Predictor
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
        # The model in use is backed by private copies, which no other program changes or removes.
        self._scratch = ScratchFolder("ilr_dynamics_")
        for kind, name, callback in (
            (UpdateModel, "~/update_model", self._on_update),
            (LoadSnapshot, "~/load_snapshot", self._on_load),
            (SaveSnapshot, "~/save_snapshot", self._on_save),
        ):
            node.create_service(kind, name, callback, callback_group=group)
        self._action = LearnAction(node, group, self._learner, self._learn, log)

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
        """Load a snapshot in the background and log the outcome."""
        assert self._node.executor is not None
        self._node.executor.create_task(self._load_and_log, snapshot_uri)

    async def _load_and_log(self, snapshot_uri: str) -> None:
        try:
            await self._load(snapshot_uri)
        except IlrDynamicsError as error:
            self._log.error("load", f"snapshot not loaded: {error}")

    async def _load(self, snapshot_uri: str) -> Mapping[str, Any]:
        job = LoadJob(snapshot_uri, str(self._scratch.path), self._configured().settings)
        result = await self._learner.run(job, f"loading {snapshot_uri}")
        await self._take(result, snapshot_uri)
        return result

    async def _learn(
        self,
        request: UpdateModel.Request | Learn.Goal,
        on_progress: Callable[[Progressed], None] | None = None,
        owner: object = None,
    ) -> Mapping[str, Any]:
        check_texts(request)
        use = self._configured()
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:8]}.npz"
        job = UpdateJob(
            bag_uri=request.bag_uri,
            directory=str(self._scratch.path),
            settings=use.settings,
            snapshot=None if self._model is None else self._model.base,
            snapshot_uri=request.snapshot_uri or str(_existing(use.snapshot_folder) / name),
            accept_worse=request.accept_worse,
        )
        title = f"learning from {request.bag_uri}"
        result = await self._learner.run(job, title, on_progress, owner)
        if not result["refusal"]:
            await self._take(result, result["snapshot"])
        return result

    def _configured(self) -> _Use:
        if self._use is None:
            raise LearnerError("the node is not configured: expected it to be inactive or active")
        return self._use

    async def _take(self, result: Mapping[str, Any], identity: str) -> None:
        """Exchange the model in use, and delete the previous one later."""
        use = self._configured()
        path = Path(result["predictor"])
        previous, self._model = self._model, _Model(Predictor.open(path), result["base"])
        use.set_predictor(self._model.predictor, identity)
        self._log.info(
            "model",
            f"model {identity}: {result['components']} components, {result['samples']} samples",
        )
        await _next_turn()
        # The memory mapping keeps the content of the deleted file.
        path.unlink(missing_ok=True)
        # Releasing memory and disk space of a large model takes as long as a control cycle.
        if previous is not None:
            Path(previous.base).unlink(missing_ok=True)

    async def _on_update(
        self, request: UpdateModel.Request, response: UpdateModel.Response
    ) -> UpdateModel.Response:
        try:
            fill_learned(response, await self._learn(request))
        except IlrDynamicsError as error:
            response.message = str(error)
        if not response.success:
            self._log.error("update_model", f"update_model: {response.message}")
        return response

    async def _on_load(
        self, request: LoadSnapshot.Request, response: LoadSnapshot.Response
    ) -> LoadSnapshot.Response:
        try:
            check_texts(request)
            result = await self._load(request.snapshot_uri)
        except IlrDynamicsError as error:
            self._fail("load_snapshot", response, error)
            return response
        response.success = True
        response.message = f"loaded {request.snapshot_uri}"
        response.components = result["components"]
        response.samples = result["samples"]
        return response

    async def _on_save(
        self, request: SaveSnapshot.Request, response: SaveSnapshot.Response
    ) -> SaveSnapshot.Response:
        try:
            check_texts(request)
            settings = self._configured().settings
            if self._model is None:
                raise SnapshotError("there is no model yet: expected one to be learned or loaded")
            job = SaveJob(self._model.base, request.snapshot_uri, settings, request.overwrite)
            result = await self._learner.run(job, f"saving {request.snapshot_uri}")
        except IlrDynamicsError as error:
            self._fail("save_snapshot", response, error)
            return response
        response.success = True
        response.message = f"saved {result['snapshot']}"
        response.snapshot_uri = result["snapshot"]
        return response

    def _fail(self, name: str, answer: Any, error: IlrDynamicsError) -> None:
        answer.success = False
        answer.message = str(error)
        self._log.error(name, f"{name}: {error}")


@coroutine
def _next_turn() -> Generator[None, None, None]:
    """Awaitable that resumes after the executor has handled everything else that is due."""
    yield


def _existing(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SnapshotError(f"the folder {folder} cannot be made: {error}") from error
    return folder
