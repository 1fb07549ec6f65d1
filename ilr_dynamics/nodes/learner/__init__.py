# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Learning, loading and saving of the model of /inverse_dynamics, in another process."""
