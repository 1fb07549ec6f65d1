# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What several nodes share: messages, logging, start and end of the process, real time."""
