# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Learning, loading and saving while the arm is held."""

import contextlib
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from controller_bench import CONFIG, NAME
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from rclpy.action import ActionClient

from ilr_dynamics_msgs.action import Learn
from ilr_dynamics_msgs.msg import ControllerState
from ilr_dynamics_msgs.srv import LoadSnapshot, SaveSnapshot, UpdateModel


@pytest.mark.parametrize(
    ("kind", "name", "fields", "text"),
    [
        (UpdateModel, "update_model", {"bag_uri": "/nowhere/bag"}, "/nowhere/bag"),
        (LoadSnapshot, "load_snapshot", {"snapshot_uri": "/nowhere/model.npz"}, "model.npz"),
        (LoadSnapshot, "load_snapshot", {"snapshot_uri": str(CONFIG)}, "outside the allowed"),
        (UpdateModel, "update_model", {"bag_uri": str(CONFIG.parent)}, "outside the allowed"),
        (SaveSnapshot, "save_snapshot", {"snapshot_uri": "/tmp/model.npz"}, "no model yet"),
        (UpdateModel, "update_model", {"bag_uri": "x" * 4097}, "bag_uri has 4097 characters"),
        (LoadSnapshot, "load_snapshot", {"snapshot_uri": "x" * 400_000}, "at most 4096"),
        (SaveSnapshot, "save_snapshot", {"snapshot_uri": "x" * 4097}, "at most 4096"),
    ],
)
def test_bad_request_is_refused_and_the_arm_is_held(arm, kind, name, fields, text):
    answer = arm.ask(kind, name, **fields)
    assert not answer.success
    assert text in answer.message
    assert arm.state().model == ""


def test_model_is_learned_saved_and_loaded_while_the_arm_is_held(
    arm, recording, record_motion, tmp_path
):
    # Of other tests' models, which the node had before it was configured anew.
    earlier = scratch_files(arm.process.pid)
    assert arm.set_parameters(controller="ilr", learning__n_components=20).successful
    learned = arm.ask(
        UpdateModel,
        "update_model",
        bag_uri=recording,
        snapshot_uri=str(tmp_path / "learned.npz"),
    )
    assert learned.success, learned.message
    assert learned.samples_used > 200
    assert learned.components_after > learned.components_before == 0
    assert arm.state().model == learned.snapshot_uri == str(tmp_path / "learned.npz")
    assert np.mean(arm.follow_eight() ** 2) < 5e-3
    assert max(state.gate for state in arm.states) > 0.5
    assert max(max(state.predicted_std) for state in arm.states) > 0.0
    check_that_a_model_without_trust_gives_way(arm)

    # The running model does not need the file that it was saved to.
    (tmp_path / "learned.npz").unlink()
    copy = str(tmp_path / "copy.npz")
    assert arm.ask(SaveSnapshot, "save_snapshot", snapshot_uri=copy).success
    elsewhere = arm.ask(SaveSnapshot, "save_snapshot", snapshot_uri="/tmp/model.npz")
    assert not elsewhere.success and "outside the allowed" in elsewhere.message
    again = arm.ask(SaveSnapshot, "save_snapshot", snapshot_uri=copy)
    assert not again.success and "exists" in again.message
    loaded = arm.ask(LoadSnapshot, "load_snapshot", snapshot_uri=copy)
    assert loaded.success, loaded.message
    assert loaded.components == learned.components_after
    assert loaded.samples == learned.samples_used
    assert arm.state().model == copy
    # The first of three models is deleted, at the latest when the executor's thread is done.
    of_two = set(scratch_files(arm.process.pid)) - set(earlier)
    assert len(of_two) == 4
    assert arm.ask(LoadSnapshot, "load_snapshot", snapshot_uri=copy).success
    while len(left := set(scratch_files(arm.process.pid)) - set(earlier)) > 4:
        arm.spin(0.05)
    assert len(left) == 4 and len(left & of_two) == 2
    again = arm.ask(UpdateModel, "update_model", bag_uri=recording)
    assert not again.success and "has learned" in again.message

    other = record_motion(joints=arm.joints, frequencies=(1.0, 2.0, 1.0, 2.0))
    client, answer = start_update(arm, str(other), accept_worse=True)
    os.kill(arm.learner(), signal.SIGKILL)
    killed = "signal SIGKILL, as the kernel sends when memory is short"
    assert killed in arm.wait(answer).message
    assert arm.state().mode == ControllerState.HOLDING
    assert arm.state().model == copy
    arm.node.destroy_client(client)


def start_update(arm, recording, **fields):
    """Ask for an update; return the client and the future that brings the answer."""
    client = arm.node.create_client(UpdateModel, f"{NAME}/update_model")
    assert client.wait_for_service(timeout_sec=60.0)
    return client, client.call_async(UpdateModel.Request(bag_uri=recording, **fields))


def scratch_files(pid):
    """Files in the node's own folder, which is found by the lock that it holds."""
    opened = (os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir())
    (lock,) = (Path(name) for name in opened if name.endswith("/lock"))
    return [file for file in lock.parent.iterdir() if file != lock]


def check_that_a_model_without_trust_gives_way(arm):
    """To the rigid-body model, or to nothing; a part of the test above, which has a model."""
    trusted, refused = [3.0, 4.0, 2.0, 1.5], [6.0, 8.0, 4.0, 3.0]
    never = {"gate__std_trusted": [1e-6] * 4, "gate__std_refused": [2e-6] * 4}
    assert arm.set_parameters(**never).successful
    level, text, values = arm.diagnosis()
    assert (level, text) == (DiagnosticStatus.WARN, "holding, the learned model is not trusted")
    assert float(values["gate mean"]) < 0.1
    assert arm.state().gate == 0.0
    physics = np.array(arm.state().feedforward_torque)
    assert np.abs(physics).max() > 1.0
    assert arm.set_parameters(feedforward__fallback="none").successful
    arm.run(0.2)
    assert not any(arm.state().feedforward_torque)
    assert arm.set_parameters(
        feedforward__fallback="analytic", gate__std_trusted=trusted, gate__std_refused=refused
    ).successful
    arm.run(0.2)


def test_update_that_is_worse_is_not_swapped_in(bench, record_motion):
    # A motion that passes the same states again, the second time with the right sign of torque.
    motion = {"joints": bench.joints, "frequencies": (1.0, 2.0, 1.0, 2.0)}
    assert bench.change_state(Transition.TRANSITION_CLEANUP)
    local = {"learning__identify_dynamics": False, "learning__n_components": 8}
    assert bench.set_parameters(moving=False, **local).successful
    assert bench.change_state(Transition.TRANSITION_CONFIGURE)
    first, worse = (
        bench.ask(UpdateModel, "update_model", moving=False, bag_uri=str(bag))
        for bag in (record_motion(**motion), record_motion(**motion, wrong_until=0.8))
    )
    assert first.success, first.message
    assert not worse.success
    assert "worse on the newest tenth" in worse.message
    assert np.mean(worse.newest_error_after) > np.mean(worse.newest_error_before) > 0.0
    assert worse.samples_used > 100 and worse.rejection_reasons
    assert worse.components_before == first.components_after
    assert worse.snapshot_uri == ""
    assert bench.diagnosis(moving=False)[2]["model"] == first.snapshot_uri


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ({"learning__timeout": 5.0}, "made no progress for 5 s and was killed"),
        ({"learning__memory_limit": 10}, "the learner ended without a result"),
    ],
)
def test_learner_that_hangs_or_starves_leaves_the_arm_held(arm, recording, limit, text):
    assert arm.set_parameters(**limit).successful
    client, answer = start_update(arm, recording)
    learner = arm.learner()
    if "learning__timeout" in limit:
        # On a busy machine its imports may have taken too long already.
        with contextlib.suppress(ProcessLookupError):
            os.kill(learner, signal.SIGSTOP)
    assert text in arm.wait(answer).message
    assert arm.state().mode == ControllerState.HOLDING
    assert arm.state().model == ""
    arm.node.destroy_client(client)


def test_answer_comes_while_simulated_time_stands_still(arm):
    assert arm.set_parameters(use_sim_time=True).successful
    answer = arm.ask(UpdateModel, "update_model", bag_uri="/nowhere/bag")
    assert "/nowhere/bag" in answer.message
    assert arm.diagnosis()[1] == "holding"


def test_second_update_is_refused_while_one_runs(arm, recording):
    assert arm.set_parameters(learning__n_components=20).successful
    # By one client: requests of two may overtake each other on their way.
    client, first = start_update(arm, recording)
    second = arm.wait(client.call_async(UpdateModel.Request(bag_uri="/nowhere/bag")))
    assert not second.success
    assert f"busy (learning from {recording}" in second.message
    assert not first.done()
    assert arm.wait(first).success
    arm.node.destroy_client(client)


def test_action_reports_progress(arm, recording, tmp_path):
    assert arm.set_parameters(learning__n_components=20).successful
    stages = []
    client = ActionClient(arm.node, Learn, f"{NAME}/learn")
    folder, snapshot = Path(recording).parent, str(tmp_path / "model.npz")
    goal = Learn.Goal(bag_uri=f"{folder}/*", snapshot_uri=snapshot)
    assert client.wait_for_server(timeout_sec=60.0)
    handle = arm.wait(
        client.send_goal_async(goal, lambda message: stages.append(message.feedback.stage))
    )
    answer = arm.wait(handle.get_result_async())
    assert answer.status == GoalStatus.STATUS_SUCCEEDED
    assert answer.result.snapshot_uri == goal.snapshot_uri
    # To read so little is over before anybody hears of it.
    assert "learning" in stages and set(stages) <= {"reading", "learning", "saving"}
    client.destroy()


def test_action_can_be_cancelled(arm, recording):
    client = ActionClient(arm.node, Learn, f"{NAME}/learn")
    assert client.wait_for_server(timeout_sec=60.0)
    handle = arm.wait(client.send_goal_async(Learn.Goal(bag_uri=recording)))
    arm.wait(handle.cancel_goal_async())
    answer = arm.wait(handle.get_result_async())
    assert answer.status == GoalStatus.STATUS_CANCELED
    assert "cancelled" in answer.result.message
    client.destroy()
