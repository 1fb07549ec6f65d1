# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Let the tests import known_arm."""

import sys
from pathlib import Path

# Test folders are no packages (--import-mode=importlib), so a shared module is found by its path.
sys.path.insert(0, str(Path(__file__).parent))
