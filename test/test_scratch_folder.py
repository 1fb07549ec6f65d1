# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ilr_dynamics.scratch_folder import LOCK, ScratchFolder

HOLD_A_FOLDER = """
import sys
from ilr_dynamics.scratch_folder import ScratchFolder
folder = ScratchFolder("test_")
(folder.path / "model.npz").write_bytes(bytes(1000))
print(folder.path, flush=True)
sys.stdin.read()
folder.close()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def hold_a_folder():
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD_A_FOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_private_and_goes_with_its_owner(temporary):
    folder = ScratchFolder("test_")
    assert folder.path.parent == temporary
    assert folder.path.stat().st_mode & 0o077 == 0
    (folder.path / "model.npz").touch()
    folder.close()
    assert not folder.path.exists()


def test_the_folder_of_a_killed_process_is_removed_by_the_next(temporary):
    with hold_a_folder()[0] as killed, hold_a_folder()[0] as living:
        killed.kill()
        killed.wait()
        assert len(os.listdir(temporary)) == 2
        folder = ScratchFolder("test_")
        assert len(os.listdir(temporary)) == 2
        living.communicate("")
        assert os.listdir(temporary) == [folder.path.name]
    folder.close()


def test_the_folder_of_a_living_process_stays(temporary):
    process, path = hold_a_folder()
    with process:
        ScratchFolder("test_").close()
        assert (path / "model.npz").exists()
        process.communicate("")
    assert not path.exists()


def test_folders_of_another_kind_stay(temporary):
    target = temporary / "precious"
    target.mkdir()
    (target / LOCK).touch()
    (temporary / "test_link").symlink_to(target)
    (temporary / "test_without_lock").mkdir()
    ScratchFolder("test_").close()
    assert sorted(os.listdir(temporary)) == ["precious", "test_link", "test_without_lock"]
    assert (target / LOCK).exists()


def test_a_folder_in_another_place_is_removed_there_alone(temporary):
    other = temporary / "other"
    other.mkdir()
    with hold_a_folder()[0] as killed:
        killed.kill()
        killed.wait()
        folder = ScratchFolder("test_", other)
        assert folder.path.parent == other
        # As a killed process leaves it.
        os.close(folder._lock)
        later = ScratchFolder("test_", other)
        assert os.listdir(other) == [later.path.name]
        assert len(os.listdir(temporary)) == 2
        later.close()


def test_without_locks_a_folder_is_made_and_never_taken_for_abandoned(temporary, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError("no locks available")

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", refuse)
        folder = ScratchFolder("test_")
    ScratchFolder("test_").close()
    assert os.listdir(temporary) == [folder.path.name]
    folder.close()
    assert not os.listdir(temporary)
