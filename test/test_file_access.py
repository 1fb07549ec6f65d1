# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os

import pytest

from ilr_dynamics.exceptions import FileAccessError
from ilr_dynamics.file_access import open_regular, resolve_allowed


@pytest.fixture
def allowed(tmp_path):
    folder = tmp_path / "allowed"
    folder.mkdir()
    return folder


def test_what_is_inside_is_allowed_whether_it_exists_or_not(allowed):
    for path in (allowed, allowed / "a" / "b.npz", allowed / "a" / ".." / "b.npz"):
        assert resolve_allowed(path, ["/nowhere", allowed]) == path.resolve()


def test_relative_paths_and_home_are_followed(allowed, monkeypatch):
    monkeypatch.chdir(allowed)
    monkeypatch.setenv("HOME", str(allowed))
    for path in ("run", "./run", "~/run"):
        assert resolve_allowed(path, [allowed]) == allowed / "run"
    assert resolve_allowed(allowed / "run", ["."]) == allowed / "run"
    assert resolve_allowed(allowed / "run", ["~"]) == allowed / "run"


@pytest.mark.parametrize("path", ["{}/../secret", "{}-other/x", "/etc/passwd", "{}/link/x", "/"])
def test_what_leads_out_is_refused_with_path_and_directories(allowed, path):
    (allowed / "link").symlink_to("/etc")
    path = path.format(allowed)
    with pytest.raises(FileAccessError) as caught:
        resolve_allowed(path, [allowed, "/data"])
    assert str(caught.value).startswith(repr(path))
    assert str(caught.value).endswith(f"expected a path inside {allowed}, /data")


def test_links_inside_may_lead_elsewhere_inside(allowed):
    (allowed / "link").symlink_to(allowed / "target")
    assert resolve_allowed(allowed / "link", [allowed]) == allowed / "target"


def test_directories_may_be_links_themselves(allowed, tmp_path):
    (tmp_path / "link").symlink_to(allowed)
    assert resolve_allowed(tmp_path / "link" / "a", [tmp_path / "link"]) == allowed / "a"


def test_no_directory_allows_nothing_and_none_everything(allowed):
    with pytest.raises(FileAccessError, match=r"\(no directory\)"):
        resolve_allowed(allowed, [])
    assert str(resolve_allowed("/etc/passwd", None)) == "/etc/passwd"


def test_a_root_that_is_everything_allows_everything():
    assert str(resolve_allowed("/etc/passwd", ["/"])) == "/etc/passwd"


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "~nobody-of-that-name/x", "/" + 300 * "x"])
def test_what_cannot_be_a_path_is_told(path):
    with pytest.raises(FileAccessError, match="cannot be reached"):
        resolve_allowed(path, None)


def test_a_circle_of_links_is_refused(allowed):
    (allowed / "a").symlink_to(allowed / "b")
    (allowed / "b").symlink_to(allowed / "a")
    with pytest.raises((FileAccessError, OSError), match="[Ss]ymbolic link|[Ss]ymlink"):
        open_regular(resolve_allowed(allowed / "a", [allowed]), 10)


def test_only_regular_files_of_allowed_size_are_opened(allowed):
    os.mkfifo(allowed / "pipe")
    (allowed / "file").write_bytes(bytes(100))
    with open_regular(allowed / "file", 100) as file:
        assert len(file.read()) == 100
    with pytest.raises(FileAccessError, match="has 100 bytes; expected at most 99"):
        open_regular(allowed / "file", 99)
    for path in (allowed, allowed / "pipe"):
        with pytest.raises(FileAccessError, match="is no regular file"):
            open_regular(path, 100)
