# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Node /recorder: joint states and torque commands to a rosbag2."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ament_index_python import get_package_share_path
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ilr_dynamics.exceptions import IlrDynamicsError, RecordingError
from ilr_dynamics.file_access import resolve_allowed
from ilr_dynamics.nodes.parameter_table import declare, read
from ilr_dynamics.nodes.parameters import RECORDER
from ilr_dynamics.nodes.shared.node_process import StopRequest, limited_end, run_program, spin
from ilr_dynamics.nodes.shared.polled_subscription import PolledSubscription
from ilr_dynamics.recording import (
    GRAVITY_ANNOTATION,
    NAMESPACE_ANNOTATION,
    PREFIX_ANNOTATION,
    RecordingWriter,
)
from ilr_dynamics.recording.guided_states import CONTROLLER_STATE
from ilr_dynamics_msgs.msg import ControllerState

__all__ = ["RecorderNode", "controller_state_definition", "main"]

# Ten seconds of messages at 500 Hz, so that a slow disk delays messages but loses none.
_DEPTH = 5000
_POLL_PERIOD = 0.02


class RecorderNode(Node):
    """Node that writes serialised messages to a bag between `start` and `stop`."""

    def __init__(self) -> None:
        super().__init__("recorder")
        declare(self, RECORDER)
        values = read(self, RECORDER)
        self._writer: RecordingWriter | None = None
        self._topics = [self.resolve_topic_name(topic) for topic in values["topics"]]
        quality = QoSProfile(
            history=HistoryPolicy.KEEP_LAST,
            depth=_DEPTH,
            reliability=ReliabilityPolicy[values["reliability"].upper()],
        )
        self._inputs = {
            topic: PolledSubscription(self, JointState, topic, quality, raw=True)
            for topic in self._topics
        }
        # Empty without a topic of controller states.
        self._reports = ""
        if values["controller_state"]:
            self._reports = self.resolve_topic_name(values["controller_state"])
            self._inputs[self._reports] = PolledSubscription(
                self, ControllerState, self._reports, quality, raw=True
            )
        self.create_timer(_POLL_PERIOD, self._take)
        self.create_service(Trigger, "~/start", partial(self._serve, self.start))
        self.create_service(Trigger, "~/stop", partial(self._serve, self.stop))
        if values["uri"]:
            self.get_logger().info(self.start())

    def start(self) -> str:
        """
        Start a recording with the present parameters.

        Returns
        -------
        str
            Text for the operator.

        Raises
        ------
        RecordingError
            If a recording is running or the new one cannot be written.
        FileAccessError
            If the new one would lie outside the allowed directories.
        """
        if self._writer is not None:
            raise RecordingError(
                f"recording {self._writer.path} is going on; expected one at a time"
            )
        values = read(self, RECORDER)
        notes = {
            NAMESPACE_ANNOTATION: self.get_namespace(),
            PREFIX_ANNOTATION: values["prefix"],
        }
        if values[GRAVITY_ANNOTATION]:
            notes[GRAVITY_ANNOTATION] = values[GRAVITY_ANNOTATION]
        uri = values["uri"]
        writer = RecordingWriter(
            resolve_allowed(uri, values["files.directories"]) if uri.strip() else uri,
            values["storage"],
            notes,
        )
        self._take()  # Messages from before the start are discarded.
        for topic in self._topics:
            writer.add_topic(topic)
        if self._reports:
            writer.add_topic(self._reports, CONTROLLER_STATE, controller_state_definition())
        self._writer = writer
        return f"recording {', '.join(self._inputs)} to {writer.path}"

    def stop(self) -> str:
        """
        Finish the recording.

        Returns
        -------
        str
            Text for the operator.

        Raises
        ------
        RecordingError
            If there is no recording, or it cannot be finished.
        """
        if self._writer is None:
            raise RecordingError("nothing is being recorded; expected a recording to stop")
        self._take()
        writer, self._writer = self._writer, None
        if writer is None:
            raise RecordingError("the recording could not be written; see the log")
        writer.close()
        counts = ", ".join(f"{count} on {topic}" for topic, count in writer.counts.items())
        return f"recorded to {writer.path}: {counts}"

    def close(self) -> None:
        """Finish the recording if there is one."""
        if self._writer is not None:
            self.get_logger().info(self.stop())

    def _take(self) -> None:
        """Take the messages that have arrived, and write them if there is a recording."""
        for topic, subscription in self._inputs.items():
            for data, received in subscription.take():
                self._write(topic, data, received)

    def _write(self, topic: str, data: bytes, received: int) -> None:
        if self._writer is None:
            return
        try:
            self._writer.write(topic, received, data)
        except RecordingError as error:
            self.get_logger().error(str(error))
            self._writer.abort()
            self._writer = None

    def _serve(
        self, action: Callable[[], str], request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        try:
            response.message = action()
            response.success = True
            self.get_logger().info(response.message)
        except IlrDynamicsError as error:
            response.message = str(error)
            self.get_logger().error(response.message)
        return response


def controller_state_definition() -> str:
    """Return the definition of ControllerState that a bag of such messages holds."""
    folder = get_package_share_path("ilr_dynamics_msgs")
    return (folder / "msg" / "ControllerState.msg").read_text()


def main(args: list[str] | None = None) -> int:
    """Record until SIGINT or SIGTERM, then finish the recording; 1 if that is impossible."""
    return run_program("recorder", RECORDER, args, _record)


def _record(stop: StopRequest) -> int:
    node = RecorderNode()
    spin(node, stop)
    node.close()
    with limited_end():
        node.destroy_node()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
