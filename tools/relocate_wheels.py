# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Point the CMake exports of the ROS 2 wheels at this environment.

The exports name the headers of Python and of NumPy where they lay on the machine that built the
wheels. Run with the environment's own Python; it does no harm to run it again.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from pathlib import Path

import numpy as np

BUILD_MACHINE = "/opt/python/"
HEADERS = {
    re.compile(BUILD_MACHINE + r'[^;"\s]*/include/python3\.\d+t?'): sysconfig.get_path("include"),
    re.compile(BUILD_MACHINE + r'[^;"\s]*/numpy/_?core/include'): np.get_include(),
}


def relocate(text: str) -> str:
    """Text of a CMake export with this environment's header folders in place of the builder's."""
    for pattern, folder in HEADERS.items():
        text = pattern.sub(lambda _, folder=folder: folder, text)
    return text


def main() -> None:
    """Rewrite every CMake export below the environment's share folder."""
    for path in Path(sys.prefix, "share").rglob("*.cmake"):
        before = path.read_text()
        after = relocate(before)
        if BUILD_MACHINE in after:
            sys.exit(f"{path} names an unknown folder of the machine that built the ROS 2 wheels")
        if after != before:
            path.write_text(after)


if __name__ == "__main__":
    main()
