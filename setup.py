# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from glob import glob

from setuptools import Extension, find_packages, setup

PACKAGE = "ilr_dynamics"
SHARE = f"share/{PACKAGE}"

EXECUTABLES = {
    "inverse_dynamics_node": "nodes.programs:inverse_dynamics_node",
    "wam_simulator": "nodes.programs:wam_simulator",
    "trajectory_publisher": "nodes.programs:trajectory_publisher",
    "visualizer": "nodes.programs:visualizer",
    "recorder": "nodes.programs:recorder",
    "train": "cli.train:main",
    "evaluate": "cli.evaluate:main",
    "inspect": "cli.inspect_recordings:main",
    "export": "cli.export:main",
    "report": "cli.report:main",
    "plan": "cli.plan:main",
    "demo": "cli.demo:main",
}
COMPILED = (
    "regression.families._linear_algebra",
    "regression.inference._expectation",
    "regression.prediction._mixture",
    "robot._dynamics",
)


def extension(name):
    """Compile a module; traps and errno, which nobody reads, would hinder vector instructions."""
    path = f"{PACKAGE}/{name.replace('.', '/')}"
    return Extension(
        f"{PACKAGE}.{name}",
        [f"{path}.c"],
        depends=glob(f"{PACKAGE}/**/*.h", recursive=True),
        extra_compile_args=["-std=c11", "-O3", "-fno-trapping-math", "-fno-math-errno"],
    )


setup(
    name=PACKAGE,
    version="0.1.0",
    description="Learned inverse dynamics for torque-controlled arms",
    author="The ilr_dynamics contributors",
    maintainer="The ilr_dynamics contributors",
    maintainer_email="maintainers@ilr-dynamics.invalid",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    ext_modules=[extension(name) for name in COMPILED],
    package_data={f"{PACKAGE}.robot": ["description/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (SHARE, ["package.xml"]),
        (f"{SHARE}/config", glob("config/*.*")),
        (f"{SHARE}/config/drivers", glob("config/drivers/*")),
        (f"{SHARE}/launch", glob("launch/*.launch.py")),
        (f"{SHARE}/urdf", glob(f"{PACKAGE}/robot/description/*.urdf")),
    ],
    # package.xml names what is needed. Named here too, Pinocchio would have to come from pip.
    install_requires=["setuptools"],
    # A cluster for `train --cluster`.
    extras_require={"test": ["pytest", "distributed"], "cluster": ["distributed>=2024.2"]},
    zip_safe=False,
    entry_points={
        "console_scripts": [
            f"{name} = {PACKAGE}.{function}" for name, function in EXECUTABLES.items()
        ],
        # By the name in a snapshot: who loads one need not know which module to import.
        f"{PACKAGE}.global_models": [
            f"identified_dynamics = {PACKAGE}.robot.identified_dynamics:IdentifiedDynamics"
        ],
    },
)
