# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
#
# Every target sets up first what is missing. See tools/setup.

ARGS ?=
NAME ?= *

.PHONY: help setup setup_for_tests demo test lint docs bench clean

help:
	@echo "make demo                the main job: record, learn, track; table and pictures"
	@echo "make test                the tests, on all cores (ARGS='-k name' for some)"
	@echo "make lint                ruff, mypy and ROS 2's linters"
	@echo "make docs                the pages of docs/ as HTML, in docs/_build/html"
	@echo "make bench [NAME=x]      all of benchmarks/, or benchmarks/x.py"
	@echo "make setup               only the environment and the build"
	@echo "make clean               remove what the set-up and the tests made"
	@echo "PYTHON=python3.12 make ...   with another Python"

setup:
	@tools/setup

# What is in test/interfaces too.
setup_for_tests:
	@tools/setup --test

demo: setup
	@tools/run demo $(ARGS)

# One more than there are cores: tests of nodes wait half of their time. Each runs tests that follow
# each other, for what these share, and takes some from another when it is done.
WORKERS = -n $$(($$(nproc) + 1)) --maxprocesses 4 --dist worksteal

# Temporary files and snapshots stay in the checkout.
test: setup_for_tests
	@mkdir -p log/tmp
	@TMPDIR="$(CURDIR)/log/tmp" ROS_HOME="$(CURDIR)/log/tmp/ros" \
		tools/run --test python -P -m pytest $(WORKERS) $(ARGS)

lint: setup
	@tools/run python -m ruff check .
	@tools/run python -m ruff format --check .
	@tools/run python -m mypy
	@tools/ament_lint

docs: setup_for_tests
	@tools/run --test python docs/_extension/write_tables.py
	@tools/run python -P -m sphinx -W --keep-going -q docs docs/_build/html

bench: setup
	@tools/bench "$(NAME)" $(ARGS)

clean:
	rm -rf .venv build install log docs/_build .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
	find ilr_dynamics -name '*.so' -delete
