# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ilr_dynamics.cli.table import format_table


def test_columns_are_aligned_and_floats_short():
    table = format_table(["joint", "error"], [["j1", 0.123456], ["elbow", 12]])
    assert table.splitlines() == [
        "joint  error",
        "-----  -----",
        "j1     0.123",
        "elbow     12",
    ]


def test_table_without_rows_is_its_header():
    assert format_table(["a", "b"], []) == "a  b\n-  -"
