# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What is shown of the log of a stage that failed, from logs of the real tools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def errors_of(log):
    """Lines that are shown of a log."""
    command = [ROOT / "tools" / "log_errors", log]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.fixture
def failed(tmp_path):
    """Run what fails and return what is shown of its output."""

    def run(*command):
        log = tmp_path / "log"
        with log.open("w") as file:
            assert subprocess.run(command, stdout=file, stderr=file, cwd=tmp_path).returncode != 0
        return errors_of(log)

    return run


def test_first_errors_of_a_compiler_are_shown(failed, tmp_path):
    (tmp_path / "broken.cpp").write_text("#include <cmath>\nint f() { return nothing; }\n")
    (line,) = failed("c++", "-c", "broken.cpp")
    assert line.startswith("broken.cpp:2:18: error: ")
    (tmp_path / "no_header.cpp").write_text("#include <not/there.hpp>\n")
    assert "fatal error: not/there.hpp" in failed("c++", "-c", "no_header.cpp")[0]
    (tmp_path / "no_symbol.cpp").write_text("int f(); int main() { return f(); }\n")
    assert any("undefined reference" in line for line in failed("c++", "no_symbol.cpp"))


def test_what_cmake_misses_is_shown(failed, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(a LANGUAGES NONE)\n"
        "message(STATUS fine)\nfind_package(not_there REQUIRED)\n"
    )
    shown = failed("cmake", "-S", ".", "-B", "build")
    assert shown[0].startswith("CMake Error at CMakeLists.txt:4 (find_package):")
    assert "not_there" in shown[1]
    assert not any("fine" in line for line in shown)


def test_last_line_of_a_traceback_is_shown(failed):
    assert failed(sys.executable, "-c", "import not_there") == [
        "ModuleNotFoundError: No module named 'not_there'"
    ]


def test_packages_that_failed_are_shown(tmp_path):
    log = tmp_path / "log"
    log.write_text("Starting >>> a\nFailed   <<< a [1.20s, exited with code 2]\nSummary: 0\n")
    assert errors_of(log) == ["Failed   <<< a [1.20s, exited with code 2]"]


def test_lines_are_few_short_and_different(tmp_path):
    log = tmp_path / "log"
    log.write_text("".join(f"error: {k // 2} {1000 * 'x'}\n" for k in range(100)))
    shown = errors_of(log)
    assert len(shown) == len(set(shown)) == 10
    assert {len(line) for line in shown} == {180}


def test_the_end_is_shown_where_nothing_says_what_is_wrong(tmp_path):
    log = tmp_path / "log"
    log.write_text("".join(f"step {k}\n" for k in range(100)))
    assert errors_of(log) == [f"step {k}" for k in range(90, 100)]
