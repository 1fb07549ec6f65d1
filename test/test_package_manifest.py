# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""package.xml names what is imported, and every source file its owner and licence."""

import ast
import sys
from pathlib import Path

import pytest
from catkin_pkg.package import parse_package

ROOT = Path(__file__).parents[1]
SOURCES = [
    ROOT / "setup.py",
    *(
        path
        for folder in ("ilr_dynamics", "launch", "test", "benchmarks", "tools", "docs")
        for path in (ROOT / folder).rglob("*.py")
    ),
    *(ROOT / "ilr_dynamics").rglob("*.[ch]"),
    *(path for path in (ROOT / "tools").iterdir() if path.is_file()),
    *(ROOT / "config").rglob("*.yaml"),
    ROOT / "ilr_dynamics_msgs" / "CMakeLists.txt",
    *(ROOT / "test" / "interfaces").rglob("CMakeLists.txt"),
]
# Keys of rosdep that have another name than the module.
KEYS = {
    "PIL": "python3-pil",
    "matplotlib": "python3-matplotlib",
    "mujoco": "python3-mujoco-pip",
    "numpy": "python3-numpy",
    "rosbags": "python3-rosbags-pip",
    "scipy": "python3-scipy",
    "tqdm": "python3-tqdm",
    "yaml": "python3-yaml",
    # rosbags needs these two itself.
    "lz4": "python3-rosbags-pip",
    "backports": "python3-rosbags-pip",
}


def _imported(folder: Path) -> set[str]:
    """Names of the modules of others that are imported, from anywhere in the code."""
    names = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(str(node.module))
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names


@pytest.mark.parametrize("folder", [".", "ilr_dynamics_msgs", "test/interfaces/control_msgs"])
def test_package_xml_is_valid(folder):
    warnings: list[str] = []
    package = parse_package(str(ROOT / folder), warnings=warnings)
    package.validate(warnings)
    assert warnings == []
    assert package.licenses == ["Apache-2.0"]


def test_versions_agree():
    packages = [parse_package(str(ROOT / folder)) for folder in (".", "ilr_dynamics_msgs")]
    assert len({package.version for package in packages}) == 1
    assert f'version="{packages[0].version}"' in (ROOT / "setup.py").read_text()


def test_package_xml_names_what_is_imported():
    package = parse_package(str(ROOT))
    named = {depend.name for depend in (*package.exec_depends, *package.build_depends)}
    imported = _imported(ROOT / "ilr_dynamics") | _imported(ROOT / "launch")
    # Optional: scikit-learn, whose own tools are met with, what sets BLAS's threads, and clusters.
    imported -= {"ilr_dynamics", "compression", "distributed", "sklearn", "threadpoolctl"}
    assert {KEYS.get(name, name) for name in imported} - named == set()


def test_source_says_whose_it_is_and_under_which_licence():
    for path in SOURCES:
        lines = [line.lstrip("#/ ") for line in path.read_text().splitlines()[:4]]
        assert "Copyright 2026 The ilr_dynamics contributors" in lines, path
        assert "SPDX-License-Identifier: Apache-2.0" in lines, path
