# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What pushes at the arm, over DDS."""

import numpy as np
import pytest
from controller_bench import CYCLE, seconds
from geometry_msgs.msg import WrenchStamped

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics_msgs.msg import ExternalTorque
from ilr_dynamics_msgs.srv import LoadSnapshot

MODEL = RigidBodyModel(load_description("wam4"))
# Far more than dry friction holds, Nm.
PUSH = np.array([15.0, 0.0, 0.0, 0.0])


@pytest.fixture
def told(arm):
    """What comes on both topics."""
    found = {ExternalTorque: [], WrenchStamped: []}
    subscriptions = [
        arm.node.create_subscription(kind, f"/inverse_dynamics/{name}", found[kind].append, 10)
        for kind, name in ((ExternalTorque, "external_torque"), (WrenchStamped, "external_wrench"))
    ]
    yield found
    for subscription in subscriptions:
        arm.node.destroy_subscription(subscription)


def load(arm, snapshot):
    loaded = arm.ask(LoadSnapshot, "load_snapshot", snapshot_uri=snapshot)
    assert loaded.success, loaded.message


def pushed(arm, push, duration):
    """A hand pushes the joints, Nm; the driver reports what the drives give."""
    arm.change_effort = lambda effort: effort - push
    for _ in range(round(duration / CYCLE)):
        answer = arm.answer_to(arm.joint_state())
        arm.measured = arm.plant.step(np.array(answer.effort) + push)
        arm.time += CYCLE
    arm.change_effort = lambda effort: effort


def listen(arm, told, snapshot):
    """Load a model, and go on until the node has seen that somebody listens."""
    load(arm, snapshot)
    while not told[ExternalTorque]:
        arm.cycle()


def test_free_motion_is_no_contact(arm, told, snapshot):
    listen(arm, told, snapshot)
    began = arm.time
    arm.follow_eight()
    free = [look for look in told[ExternalTorque] if seconds(look.header.stamp) > began]
    assert len(free) > 100
    assert not any(look.contact for look in free)


def test_a_push_is_told_with_its_wrench_unless_nobody_wants_to_know(arm, told, snapshot):
    listen(arm, told, snapshot)
    for torque in ("commanded", "measured"):
        assert arm.set_parameters(learning__torque=torque).successful
        arm.run(0.2)
        check_that_a_push_is_told(arm, told, is_measured=torque == "measured")
    assert arm.set_parameters(external_torque__decimation=0).successful
    arm.run(0.1)
    arm.spin(0.2)
    for found in told.values():
        found.clear()
    arm.run(0.4)
    arm.spin(0.2)
    assert told == {ExternalTorque: [], WrenchStamped: []}


def check_that_a_push_is_told(arm, told, *, is_measured):
    """With its wrench; a part of the test above."""
    told[ExternalTorque].clear()
    told[WrenchStamped].clear()
    began = arm.time
    pushed(arm, PUSH, 0.2)
    arm.spin(0.2)
    found = told[ExternalTorque]
    first = next(look for look in found if look.contact)
    # The stamp is that of the middle of the filter; the newest state in it is later.
    assert began < seconds(first.header.stamp) + first.delay < began + 0.1
    last = found[-1]
    assert last.contact and last.measured is is_measured
    assert list(last.joint_names) == arm.joints
    assert abs(last.torque[0] - PUSH[0]) < last.threshold[0] < PUSH[0]
    assert (np.array(last.std) > 0.0).all() and (np.array(last.threshold) > last.std).all()
    steps = np.diff([seconds(look.header.stamp) for look in found])
    np.testing.assert_allclose(steps, 5 * CYCLE, atol=1e-6)
    # The wrench explains the torques, and of its six components four are known at most.
    wrench = told[WrenchStamped][-1]
    assert wrench.header == last.header and wrench.header.frame_id == MODEL.description.tool_frame
    force, moment = wrench.wrench.force, wrench.wrench.torque
    values = [force.x, force.y, force.z, moment.x, moment.y, moment.z]
    np.testing.assert_array_equal(values, last.wrench)
    position = np.array(arm.state().measured_position)
    explained = MODEL.tool_twist_jacobian(position).T @ values
    assert abs(explained[0] - last.torque[0]) < 0.3 * PUSH[0]
    assert sum(last.wrench_known) < 4.0 and (np.array(last.wrench_std) > 0.0).all()


def test_without_a_learned_model_nothing_is_told(arm, told):
    arm.run(0.5)
    pushed(arm, PUSH, 0.1)
    arm.spin(0.2)
    assert told == {ExternalTorque: [], WrenchStamped: []}
