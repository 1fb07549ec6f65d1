# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ilr_dynamics.cli import ros_domain
from ilr_dynamics.cli.node_processes import NodeProcesses
from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.exceptions import IlrDynamicsError


def wait_until(condition, timeout: float = 120.0) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout:g} s"
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_nodes_are_stopped_at_the_end_of_the_block(tmp_path):
    with pytest.raises(KeyboardInterrupt), NodeProcesses(tmp_path) as processes:
        processes.start("recorder")
        processes.start("recorder", label="second")
        pids = [process.pid for process in processes._processes.values()]
        processes.check()
        raise KeyboardInterrupt
    assert not any(is_running(pid) for pid in pids)


def test_node_that_ends_is_reported_with_the_end_of_its_log(tmp_path):
    with NodeProcesses(tmp_path) as processes:
        processes.start("wam_simulator", {"robot": "wam99"})
        with pytest.raises(IlrDynamicsError, match="wam_simulator ended.*\n(.*\n)*.*wam99"):
            wait_until(lambda: processes.check())


@pytest.mark.parametrize("may_end", [True, False])
def test_node_that_ends_well_is_missed_unless_it_may_end(tmp_path, may_end):
    with NodeProcesses(tmp_path) as processes:
        files = {"uri": str(tmp_path / "bag"), "files.directories": [str(tmp_path)]}
        processes.start("recorder", files, may_end=may_end)
        wait_until(lambda: "recording" in (tmp_path / "recorder.log").read_text())
        os.kill(processes.pid("recorder"), signal.SIGINT)
        wait_until(lambda: not processes.running("recorder"))
        if may_end:
            processes.check()
        else:
            with pytest.raises(IlrDynamicsError, match="recorder ended with exit code 0"):
                processes.check()


def test_nodes_die_with_the_program_that_started_them(tmp_path):
    code = (
        "import pathlib, sys, time\n"
        "from ilr_dynamics.cli.node_processes import NodeProcesses\n"
        f"processes = NodeProcesses(pathlib.Path({str(tmp_path)!r}))\n"
        "processes.start('recorder')\n"
        "print(processes._processes['recorder'].pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        assert is_running(pid)
        os.kill(program.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(pid))


def test_domains_taken_at_the_same_time_differ():
    with OwnDomain() as first, OwnDomain() as second:
        assert first.number != second.number
        assert first.environment()["ROS_DOMAIN_ID"] == str(first.number)


def test_processes_of_a_domain_speak_on_this_machine_only(tmp_path):
    command = [sys.executable, "-P", "-m", "ilr_dynamics.nodes.wam_simulator"]
    with OwnDomain() as domain, (tmp_path / "log").open("w") as log:
        environment = os.environ | domain.environment()
        if environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST":
            pytest.skip("this middleware has ways of its own to stay on the machine")
        with subprocess.Popen(command, env=environment, stderr=log) as process:
            try:
                wait_until(lambda: "simulating" in (tmp_path / "log").read_text())
                addresses = udp_addresses(process.pid)
            finally:
                process.terminate()
    assert addresses
    assert set(addresses) == {"127.0.0.1"}


@pytest.mark.parametrize(
    "elsewhere", [{"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}, {"ROS_DISTRO": "jazzy"}]
)
def test_localhost_is_asked_for_where_the_profile_would_not_be_read(monkeypatch, elsewhere):
    for name, value in elsewhere.items():
        monkeypatch.setenv(name, value)
    with OwnDomain() as domain:
        environment = domain.environment()
    assert environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    assert "FASTDDS_DEFAULT_PROFILES_FILE" not in environment


def udp_addresses(pid):
    """Return the addresses at which a process listens to UDP."""
    links = (os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir())
    inodes = {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}
    rows = [row.split() for row in Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]]
    hexadecimal = [row[1].split(":")[0] for row in rows if row[9] in inodes]
    # In the byte order of this machine.
    return [
        socket.inet_ntoa(int(address, 16).to_bytes(4, sys.byteorder)) for address in hexadecimal
    ]


def test_domain_can_be_taken_again_once_given_back(monkeypatch):
    with OwnDomain() as first:
        number = first.number
    monkeypatch.setattr(ros_domain, "DOMAINS", range(number, number + 1))
    monkeypatch.setattr(ros_domain, "_had", [number])
    with OwnDomain() as second:
        assert second.number == number


def test_others_come_before_one_in_which_nodes_may_live_on():
    numbers = []
    for _ in range(3):
        with OwnDomain() as domain:
            numbers.append(domain.number)
    assert len(set(numbers)) == 3
