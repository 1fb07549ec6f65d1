# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""From configuration to the end of the process."""

import fcntl
import os
import re
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from controller_bench import COMMAND, CONFIG, CYCLE, NAME, PARAMETERS, RATE_LIMIT, trajectory
from lifecycle_msgs.msg import Transition
from std_srvs.srv import Trigger

from ilr_dynamics.robot.description import load_description
from ilr_dynamics_msgs.srv import UpdateModel


def test_inactive_node_takes_the_torque_back_and_then_sends_none(bench):
    bench.measured = bench.plant.reset(bench.eight.positions[0])
    assert bench.change_state(Transition.TRANSITION_ACTIVATE)
    torques = [bench.run(0.3)[-1]]
    assert np.abs(torques[0]).max() > 1.0
    bench.torques.clear()
    assert bench.change_state(Transition.TRANSITION_DEACTIVATE)
    bench.newest_torque()
    torques += [torque.effort for torque in bench.torques]
    assert (np.abs(np.diff(torques, axis=0)) <= RATE_LIMIT * CYCLE + 1e-9).all()
    assert list(torques[-1]) == [0.0] * 4
    for _ in range(5):
        bench.time += CYCLE
        assert bench.is_unanswered(bench.joint_state())


def test_activation_starts_from_zero_torque(bench):
    # At rest: the damping of an arm that another test left moving is no start.
    bench.measured = bench.plant.reset(bench.eight.positions[0])
    assert bench.change_state(Transition.TRANSITION_ACTIVATE)
    torques = bench.run(0.2)
    assert np.abs(torques[0]).max() < 1e-9
    assert (np.abs(np.diff(torques, axis=0)) <= RATE_LIMIT * CYCLE + 1e-9).all()


def test_node_is_not_configured_with_parameters_that_do_not_fit(bench):
    assert bench.change_state(Transition.TRANSITION_CLEANUP)
    refused = bench.ask(UpdateModel, "update_model", moving=False, bag_uri="/nowhere/bag")
    assert "the node is not configured" in refused.message
    assert bench.set_parameters(moving=False, gains__kd=[1.0]).successful
    assert not bench.change_state(Transition.TRANSITION_CONFIGURE)
    assert bench.set_parameters(moving=False, gains__kd=[3.0, 5.0, 1.5, 1.0]).successful
    assert bench.change_state(Transition.TRANSITION_CONFIGURE)


def test_where_no_torque_goes_out_stop_succeeds_and_hold_does_not(bench):
    def answers(text):
        for request, succeeds in (("stop", True), ("hold", False)):
            answer = bench.ask(Trigger, request, moving=False)
            assert (answer.success, answer.message) == (succeeds, text)

    answers("waiting for joint states: no torque goes out")
    assert bench.change_state(Transition.TRANSITION_CLEANUP)
    answers("not configured: no torque goes out")
    bench.trajectories.publish(trajectory(bench.joints, bench.eight))
    assert bench.change_state(Transition.TRANSITION_CONFIGURE)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            "supervision.input_timeout:=99.0",
            "supervision.input_timeout is 99.0; expected a float from 0.001 to 10 s",
        ),
        ("gains.kp:=stiff", "gains.kp is 'stiff'; expected floats, one per joint"),
        (
            "gains.kp:=[80, 90.0]",
            "gains.kp:=[80, 90.0] has integers and floats in one list; expected "
            "numbers of one type: write 80.0, not 80",
        ),
        ("gains.kp:=[80, 90]", "gains.kp is [80, 90]; expected floats, one per joint"),
        ("gains.kd:=[-1.0]", "gains.kd is [-1.0]; expected floats"),
        (
            "controller:=magic",
            "controller is 'magic'; expected one of pd, analytic, ilr",
        ),
    ],
)
def test_node_does_not_start_with_parameters_out_of_range(value, text):
    ended = subprocess.run(
        [*COMMAND, *PARAMETERS, "-p", value], capture_output=True, text=True, timeout=120.0
    )
    assert ended.returncode == 1
    assert f"not started: parameter {text}" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        (
            "[77.0, 160.0",
            "[77, 160.0",
            ["limits.torque in", "file.yaml is [77, 160.0, ", "write 77.0, not 77"],
        ),
        (
            "kp: [",
            "ki: 1.0\n      kp: [",
            ["gains.ki in", "file.yaml", "such as gains.kp"],
        ),
        ("/inverse_dynamics:", "/inverse_dynamics: [", ["file.yaml: cannot be read"]),
    ],
)
def test_node_does_not_start_with_a_file_that_is_wrong(old, new, texts, tmp_path):
    file, text = tmp_path / "file.yaml", CONFIG.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    ended = subprocess.run(
        [*COMMAND, "--params-file", str(file)], capture_output=True, text=True, timeout=120.0
    )
    assert ended.returncode == 1
    assert all(text in ended.stderr for text in ["not started: ", *texts]), ended.stderr
    assert "Traceback" not in ended.stderr


WAM4 = load_description("wam4").urdf_path.read_text()
EYE = """<link name="eye"/><joint name="eye_fixed" type="fixed"><parent link="forearm"/>
<child link="eye"/></joint></robot>"""
WITH_EYE, ENDS = WAM4.replace("</robot>", EYE), "the links eye, tool end the arm"


@contextmanager
def node_with_own_urdf(start_bench, folder, *parameters):
    """A node configured with a URDF with a second end; yields a function that tries another one.

    That returns whether the node is configured with it, and all that it has logged.
    """
    path, log = folder / "arm.urdf", folder / "log"
    path.write_text(WITH_EYE)
    with log.open("wb") as stderr:
        options = (f"robot:={path}", *parameters)
        with start_bench(stderr=stderr, parameters=options) as bench:

            def configure(urdf):
                path.write_text(urdf)
                assert bench.change_state(Transition.TRANSITION_CLEANUP)
                return bench.change_state(Transition.TRANSITION_CONFIGURE), log.read_text()

            yield configure


def test_what_is_put_up_with_is_logged_and_missing_masses_are_refused(start_bench, tmp_path):
    light, count = re.subn("(?s)(name=.forearm.>).*?</inertial>", r"\1", WAM4)
    assert count == 1
    with node_with_own_urdf(start_bench, tmp_path) as configure:
        configured, log = configure(light)
    assert f"{ENDS}; taken as the tool frame is 'eye', the first by name" in log
    assert not configured
    assert "not configured: " in log and "link 'forearm', which joint 'j4' moves" in log


def test_the_tool_frame_can_be_set(start_bench, tmp_path):
    with node_with_own_urdf(start_bench, tmp_path, "tool_frame:=tool") as configure:
        configured, log = configure(WAM4.replace('"tool"', '"hand"'))
    assert ENDS not in log
    assert not configured
    assert "no moving joint carries a link 'tool' for the parameter tool_frame" in log


def test_arm_is_held_while_nobody_reads_the_log(start_bench):
    reader, writer = os.pipe()
    os.write(writer, b"x" * fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096))
    with start_bench(stderr=writer) as bench:
        os.close(writer)
        bench.measured = bench.plant.reset(bench.eight.positions[0])
        assert bench.change_state(Transition.TRANSITION_ACTIVATE)
        message = bench.joint_state()
        message.position.pop()
        assert bench.is_unanswered(message)
        bench.run(0.1)
        os.read(reader, 4096)
        log = ""
        while "joint state not answered" not in log:
            bench.run(0.05)
            log += os.read(reader, 4096).decode()
        assert log.index("configured for wam4") < log.index("joint state not answered")
    os.close(reader)


def test_signal_ends_the_node_and_its_learner(start_bench, recording):
    with start_bench() as bench:
        assert bench.change_state(Transition.TRANSITION_ACTIVATE)
        bench.run(0.1)
        client = bench.node.create_client(UpdateModel, f"{NAME}/update_model")
        assert client.wait_for_service(timeout_sec=60.0)
        client.call_async(UpdateModel.Request(bag_uri=recording))
        learner = bench.learner()
        bench.torques.clear()
        bench.process.send_signal(signal.SIGTERM)
        assert bench.process.wait(timeout=60.0) == 0
        bench.spin(0.5)
        assert list(bench.torques[-1].effort) == [0.0] * 4
        assert not Path(f"/proc/{learner}").exists()
