# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Motions of an arm and torques of its rigid bodies."""

import numpy as np


def motion(n_joints, n, seed):
    generator = np.random.default_rng(seed)
    spread = np.repeat([1.0, 0.7, 2.0], n_joints)
    return generator.normal(size=(n, 3 * n_joints)) * spread


def rigid_torque(model, X):
    n = model.n_joints
    return np.array([model.inverse_dynamics(x[:n], x[n : 2 * n], x[2 * n :]) for x in X])


def motion_about(posture, duration, rate, seed):
    """Smooth inputs [q, qd, qdd] (n, 3 n_joints) about a posture, at a rate in Hz."""
    generator = np.random.default_rng(seed)
    shape = (len(posture), 3)
    time = np.arange(0.0, duration, 1.0 / rate)[:, None, None]
    speed = 2.0 * np.pi * generator.uniform(0.05, 0.3, shape)
    size = generator.uniform(0.1, 0.3, shape)
    phase = speed * time + generator.uniform(0.0, 2.0 * np.pi, shape)
    parts = (
        posture + np.sum(size * np.sin(phase), axis=2),
        np.sum(size * speed * np.cos(phase), axis=2),
        np.sum(-size * speed**2 * np.sin(phase), axis=2),
    )
    return np.concatenate(parts, axis=1)
