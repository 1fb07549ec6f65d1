# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Robot arms: description, rigid-body model and kinematics, simulated plant and tool paths."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ilr_dynamics.robot.description import RobotDescription, load_description
    from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
    from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["IdentifiedDynamics", "RigidBodyModel", "RobotDescription", "load_description"]

# Imported when asked for: whoever wants another module of this folder does not wait for Pinocchio.
_MODULES = {
    "IdentifiedDynamics": "identified_dynamics",
    "RigidBodyModel": "rigid_body",
    "RobotDescription": "description",
    "load_description": "description",
}

# Checkers of types would take every name for one of these.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import what is asked for."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
