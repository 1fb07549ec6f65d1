# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Whose end is the end of a launch, and what is said last."""

from __future__ import annotations

import pytest

from ilr_dynamics.bringup.plan import Program
from ilr_dynamics.bringup.watch import Watch

ARM, PICTURE = "/arm", "/picture"
ERROR = "[ERROR] [1.0] [arm]: not configured: x is 1; expected 2\n"


@pytest.fixture
def watch():
    programs = [Program("arm", "arm", "/", needed=True), Program("picture", "picture", "/")]
    watch = Watch(programs)
    for _ in programs:
        watch.started()
    return watch


@pytest.mark.parametrize("code", [0, 1, -9])
def test_the_end_of_a_needed_program_is_the_end_and_told_last(watch, code):
    assert watch.ended(ARM, code, asked=False) == ""
    assert watch.failure.startswith("/arm ")
    assert watch.last_line == ""
    watch.ended(PICTURE, 0, asked=True)
    assert watch.last_line == watch.failure


def test_without_another_the_launch_goes_on_and_says_so(watch):
    assert "goes on without it" in watch.ended(PICTURE, -9, asked=False)
    assert watch.failure == ""


def test_a_program_that_has_done_its_work_is_no_news(watch):
    assert watch.ended(PICTURE, 0, asked=False) == ""
    assert watch.failure == ""


def test_ends_that_were_asked_for_are_no_failures(watch):
    for node in (ARM, PICTURE):
        assert watch.ended(node, -2, asked=True) == ""
    assert watch.last_line == ""


def test_the_first_failure_is_the_reason(watch):
    watch.heard(ARM, ERROR)
    watch.ended(ARM, 1, asked=False)
    watch.ended(PICTURE, 0, asked=False)
    assert watch.last_line == (
        "/arm ended with exit code 1 (not configured: x is 1; expected 2): "
        "mend that and launch again"
    )


def test_programs_of_another_plan_are_waited_for(watch):
    watch.started()
    watch.ended(ARM, 1, asked=False)
    watch.ended(PICTURE, 0, asked=True)
    assert watch.last_line == ""
    watch.ended("", 0, asked=True)
    assert watch.last_line
