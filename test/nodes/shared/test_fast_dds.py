# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Nodes keep off Fast DDS's shared memory and type lookup, or say that they cannot."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.nodes.shared.fast_dds import THIS_MACHINE, prepare_fast_dds, profile_file

# And what they log when they are there.
NODES = {"inverse_dynamics_node": "waiting to be", "wam_simulator": "simulating wam4"}
SHARED_MEMORY = "/dev/shm/fastdds"
WARNING = "Fast DDS sends through shared memory"
RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
PROFILES = "FASTDDS_DEFAULT_PROFILES_FILE"
TRANSPORTS = "FASTDDS_BUILTIN_TRANSPORTS"
# Nobody else is seen. What is on offer are Fast DDS's own transports.
ALONE = {RANGE: "OFF"}
LOCALHOST = {RANGE: "LOCALHOST"}

needs_shared_memory = pytest.mark.skipif(
    not os.access("/dev/shm", os.W_OK | os.X_OK),
    reason="Fast DDS has shared memory only where /dev/shm can be written to",
)
needs_profile = pytest.mark.skipif(
    profile_file(THIS_MACHINE) is None, reason="this middleware does not read the profiles"
)


def log_and_mapped_files(node, environment, folder, until):
    """Run a node until it has logged something; return its log and what it has mapped then."""
    inherited = {name: value for name, value in os.environ.items() if "FASTDDS" not in name}
    command = [sys.executable, "-P", "-m", f"ilr_dynamics.nodes.{node}"]
    log = folder / "log"
    with (
        log.open("w") as stream,
        subprocess.Popen(command, env=inherited | environment, stderr=stream) as process,
    ):
        try:
            deadline = time.monotonic() + 120.0
            while until not in log.read_text() and time.monotonic() < deadline:
                time.sleep(0.02)
            mapped = Path(f"/proc/{process.pid}/maps").read_text()
        finally:
            process.terminate()
    return log.read_text(), mapped


@pytest.mark.parametrize(("node", "ready"), list(NODES.items()))
def test_by_itself_a_node_has_no_shared_memory(node, ready, tmp_path):
    log, mapped = log_and_mapped_files(node, ALONE, tmp_path, ready)
    assert ready in log
    assert WARNING not in log
    assert SHARED_MEMORY not in mapped


@needs_profile
@pytest.mark.parametrize("asked", [LOCALHOST, {RANGE: "SUBNET", "ROS_LOCALHOST_ONLY": "1"}])
def test_on_localhost_a_node_has_none_either(asked, tmp_path):
    node, ready = "wam_simulator", NODES["wam_simulator"]
    log, mapped = log_and_mapped_files(node, asked, tmp_path, ready)
    assert ready in log
    assert WARNING not in log
    assert SHARED_MEMORY not in mapped


@needs_shared_memory
@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize(
    "asked",
    [
        ALONE | {TRANSPORTS: "DEFAULT"},
        LOCALHOST | {"ROS_STATIC_PEERS": "127.0.0.1"},
    ],
    ids=["transports", "static peers"],
)
def test_shared_memory_that_was_asked_for_is_warned_of(node, asked, tmp_path):
    log, mapped = log_and_mapped_files(node, asked, tmp_path, WARNING)
    assert WARNING in log
    assert SHARED_MEMORY in mapped


@pytest.mark.parametrize(
    "given",
    [
        LOCALHOST | {PROFILES: "/mine.xml"},
        LOCALHOST | {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"},
        LOCALHOST | {"ROS_DISTRO": "jazzy"},
    ],
    ids=["own profile", "another middleware", "Fast DDS 2"],
)
def test_what_would_not_fit_is_left_as_it_is(given, monkeypatch):
    for name in (PROFILES, TRANSPORTS, "ROS_STATIC_PEERS"):
        monkeypatch.setenv(name, "")
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    prepare_fast_dds()
    assert os.environ[RANGE] == "LOCALHOST"
    assert os.environ[PROFILES] == given.get(PROFILES, "")


@needs_profile
@pytest.mark.parametrize(
    ("given", "chosen", "range_"),
    [
        (LOCALHOST, "fastdds_this_machine.xml", "SYSTEM_DEFAULT"),
        (LOCALHOST | {"ROS_STATIC_PEERS": "10.0.0.2"}, "fastdds.xml", "LOCALHOST"),
        ({RANGE: "SUBNET"}, "fastdds.xml", "SUBNET"),
    ],
    ids=["localhost", "static peers", "subnet"],
)
def test_profile_is_chosen_by_the_range(given, chosen, range_, monkeypatch):
    for name in (PROFILES, TRANSPORTS, "ROS_STATIC_PEERS"):
        monkeypatch.setenv(name, "")
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    prepare_fast_dds()
    assert Path(os.environ[PROFILES]).name == chosen
    assert os.environ[RANGE] == range_


def announcements(profile):
    tree = ElementTree.parse(profile_file(profile))
    (found,) = tree.iter("{http://www.eprosima.com}initialAnnouncements")
    return ElementTree.tostring(found)


@needs_profile
def test_nodes_that_start_together_announce_themselves_until_all_have_started():
    # To the port of the node that would be the 21st of the domain, which is not there.
    with OwnDomain() as domain, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.0.1", 7410 + 250 * domain.number + 2 * 20))
        peer.settimeout(60.0)
        code = "import time, rclpy; rclpy.init(); n = rclpy.create_node('n'); time.sleep(120)"
        environment = os.environ | domain.environment()
        with subprocess.Popen([sys.executable, "-c", code], env=environment) as process:
            try:
                peer.recv(65536)
                began = time.monotonic()
                times = [peer.recv(65536) and time.monotonic() - began for _ in range(12)]
            finally:
                process.kill()
    # By default there are five more within half a second, and the next after three.
    assert [seconds for seconds in times if 0.7 < seconds < 2.9]
    assert announcements("fastdds.xml") == announcements(THIS_MACHINE)


PUBLISHER = """
import sys, time, rclpy
from sensor_msgs.msg import JointState
rclpy.init()
publisher = rclpy.create_node("p").create_publisher(JointState, sys.argv[1], 1)
print("published", flush=True)
time.sleep(120)
"""
# It does not have the type itself. Fails after 20 s.
OBSERVER = """
import sys, time, rclpy
rclpy.init()
node = rclpy.create_node("o")
print("looking", flush=True)
deadline = time.monotonic() + 20
while not node.count_publishers(sys.argv[1]):
    assert time.monotonic() < deadline
    time.sleep(0.02)
"""
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 0x11


@contextmanager
def no_type_lookup(pid):
    """Stop the thread of a child process that answers who asks for its types."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    tasks = Path(f"/proc/{pid}/task").iterdir()
    names = {int(task.name): (task / "comm").read_text() for task in tasks}
    (thread,) = (number for number, name in names.items() if name.startswith("dds.tls.request"))
    if ptrace(PTRACE_SEIZE, thread, 0, 0) or ptrace(PTRACE_INTERRUPT, thread, 0, 0):
        pytest.skip("threads of a child process cannot be stopped here")
    try:
        yield
    finally:
        # A process with a traced thread cannot be waited for.
        ptrace(PTRACE_DETACH, thread, 0, 0)


@needs_profile
@pytest.mark.skipif(sys.platform != "linux", reason="threads are stopped by ptrace")
def test_who_does_not_answer_for_a_type_hides_no_publisher_of_it(tmp_path):
    # Other programs look types up, as is Fast DDS's default.
    text = profile_file(THIS_MACHINE).read_text()
    others = tmp_path / "others.xml"
    others.write_text(text.replace("<value>disabled", "<value>enabled"))
    with OwnDomain() as domain, ExitStack() as stack:

        def start(code, topic, **changed):
            line = [sys.executable, "-c", code, topic]
            environment = os.environ | domain.environment() | changed
            process = stack.enter_context(
                subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, text=True)
            )
            stack.callback(process.kill)
            assert process.stdout.readline()
            return process

        mute = start(PUBLISHER, "mute", **{PROFILES: str(others)})
        stack.enter_context(no_type_lookup(mute.pid))
        # One that looks types up would ask the first, and then for ever see neither.
        seen_mute = start(OBSERVER, "mute")
        seen = start(OBSERVER, "other")
        start(PUBLISHER, "other", **{PROFILES: str(others)})
        assert seen_mute.wait(60) == 0
        assert seen.wait(60) == 0
