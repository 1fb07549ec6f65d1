# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticStatus

from ilr_dynamics.nodes.diagnostics import LoopStatistics, diagnostic_array


def cycle(time, gate=1.0, limited=False):
    return SimpleNamespace(time=time, limited=limited, feedforward=SimpleNamespace(gate=gate))


def test_figures_of_a_period():
    statistics = LoopStatistics()
    for k in range(100):
        statistics.add(cycle(0.002 * k, gate=0.5, limited=k == 7), loop_time=1e-4 * (1 + k % 2))
    statistics.unusable = 3
    figures = statistics.summary(period=0.2)
    assert figures["rate [Hz]"] == "500.0"
    assert figures["largest gap [ms]"] == "2.00"
    assert figures["cycles with a torque or rate limit"] == "1"
    assert figures["unusable joint states"] == "3"
    assert figures["loop time median [ms]"] == "0.150"
    assert figures["loop time largest [ms]"] == "0.200"
    assert figures["gate mean"] == "0.500"


def test_gap_across_a_clear_is_seen_and_one_across_a_pause_is_not():
    statistics = LoopStatistics()
    statistics.add(cycle(0.0), 1e-4)
    statistics.clear()
    statistics.add(cycle(0.05), 1e-4)
    assert statistics.summary(1.0)["largest gap [ms]"] == "50.00"
    statistics.forget()
    statistics.add(cycle(9.0), 1e-4)
    assert statistics.summary(1.0)["largest gap [ms]"] == "0.00"


def test_silence_has_a_rate_of_zero():
    assert LoopStatistics().summary(1.0)["rate [Hz]"] == "0.0"


def test_status_carries_name_level_and_values():
    message = diagnostic_array("/node", "wam4", DiagnosticStatus.WARN, "text", {"a": "1"})
    (status,) = message.status
    assert (status.name, status.hardware_id, status.message) == ("/node", "wam4", "text")
    assert status.level == DiagnosticStatus.WARN
    assert [(item.key, item.value) for item in status.values] == [("a", "1")]
