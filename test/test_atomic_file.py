# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
import stat
import subprocess
import sys

import pytest

from ilr_dynamics import atomic_file
from ilr_dynamics.atomic_file import atomic_writer

WRITE_WITHOUT_END = """
import sys
from ilr_dynamics.atomic_file import atomic_writer
with atomic_writer(sys.argv[1]) as file:
    file.write(bytes(1_000_000))
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["unnamed", "hidden"])
def kind(request, monkeypatch):
    if request.param == "hidden":
        monkeypatch.setattr(atomic_file, "DESCRIPTORS", "/nowhere")
    return request.param


def test_a_file_is_made_or_replaced_for_its_owner_alone(tmp_path, kind):
    path = tmp_path / "file"
    for content in (b"first", b"second"):
        with atomic_writer(path) as file:
            file.write(content)
        assert path.read_bytes() == content
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert os.listdir(tmp_path) == ["file"]


def test_an_error_leaves_the_old_file_alone(tmp_path, kind):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic_writer(path) as file:
        file.write(b"new")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_missing_folder_is_told(tmp_path, kind):
    with pytest.raises(FileNotFoundError), atomic_writer(tmp_path / "nowhere" / "file"):
        pass


def test_a_kill_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with subprocess.Popen(
        [sys.executable, "-c", WRITE_WITHOUT_END, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"writing\n"
        process.kill()
    assert path.read_bytes() == b"old"
    descriptor = atomic_file._open_unnamed(tmp_path)
    if descriptor is not None:
        os.close(descriptor)
        assert os.listdir(tmp_path) == ["file"]
