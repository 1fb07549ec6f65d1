# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The main job as a benchmark: tracking error before and after learning, over real DDS."""

import sys

from ilr_dynamics.cli.demo import main

if __name__ == "__main__":
    sys.exit(main(["--json", *sys.argv[1:]]))
