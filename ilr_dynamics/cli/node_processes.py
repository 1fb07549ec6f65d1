# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""ROS nodes as child processes that end with the program that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from ilr_dynamics.exceptions import IlrDynamicsError
from ilr_dynamics.process_lifetime import die_with_parent

__all__ = ["NodeProcesses"]

STOP_TIMEOUT = 5.0
LOG_LINES = 15


class NodeProcesses:
    """
    Processes of nodes of this package, stopped at the end of a ``with`` block.

    Each node has its own session, so that Ctrl-C reaches this program only, which then stops the
    nodes in order. If this program is killed, the kernel kills the nodes.

    Parameters
    ----------
    log_folder : Path
        Folder for the output of the nodes, one file per node.
    """

    def __init__(self, log_folder: Path) -> None:
        self._log_folder = log_folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._passing: set[str] = set()

    def start(
        self,
        module: str,
        parameters: Mapping[str, object] | None = None,
        parameter_file: Path | None = None,
        label: str | None = None,
        *,
        may_end: bool = False,
    ) -> None:
        """
        Start a node.

        Parameters
        ----------
        module : str
            Module of the node in ``ilr_dynamics.nodes``.
        parameters : mapping of str to object, optional
            Values of single parameters.
        parameter_file : Path, optional
            ROS parameter file.
        label : str, optional
            Name of the node here and in the log's file name; by default the module.
        may_end : bool
            Whether the node may end by itself with exit code 0.
        """
        command = [sys.executable, "-P", "-m", f"ilr_dynamics.nodes.{module}", "--ros-args"]
        if parameter_file is not None:
            command += ["--params-file", str(parameter_file)]
        for name, value in (parameters or {}).items():
            command += ["-p", f"{name}:={value}"]
        name = label or module
        (self._passing.add if may_end else self._passing.discard)(name)
        with self._log_path(name).open("wb") as log:
            self._processes[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=partial(die_with_parent, os.getpid()),
            )

    def check(self) -> None:
        """
        Check that all nodes that must be running are.

        Raises
        ------
        IlrDynamicsError
            If one has ended; the text includes the end of its log.
        """
        for name, process in self._processes.items():
            code = process.poll()
            if code is not None and (code != 0 or name not in self._passing):
                lines = self._log_path(name).read_text(errors="replace").splitlines()
                raise IlrDynamicsError(
                    f"the node {name} ended with exit code {code}; its log ends:\n"
                    + "\n".join(lines[-LOG_LINES:])
                )

    def pid(self, name: str) -> int:
        """Process id of a node."""
        return self._processes[name].pid

    def running(self, name: str) -> bool:
        """Whether a node has not ended by itself."""
        return self._processes[name].poll() is None

    def stop(self, name: str) -> None:
        """Stop a node by SIGINT or, if it does not end, by SIGKILL."""
        process = self._processes.pop(name)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        """Return this object; nodes are started later."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop all nodes, the newest first, also after a second Ctrl-C."""
        previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            for name in reversed(list(self._processes)):
                self.stop(name)
        finally:
            signal.signal(signal.SIGINT, previous)

    def _log_path(self, name: str) -> Path:
        return self._log_folder / f"{name}.log"
