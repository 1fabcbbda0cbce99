"""The MQTT example with a broker, where mosquitto and paho-mqtt are installed."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf

mqtt: Any = pytest.importorskip("paho.mqtt.client")
BROKER = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
PROGRAM = Path(__file__).parents[2] / "examples" / "mqtt_filter.py"
pytestmark = pytest.mark.skipif(BROKER is None, reason="mosquitto is not installed")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_estimates_come_back_also_after_a_restart(tmp_path: Path) -> None:
    port, f = str(free_port()), cf.DirichletFilter(["walk", "sit"], half_life=30.0)
    f.save(tmp_path / "walk.toml", {"weak": 0.1, "strong": 1.0})
    (tmp_path / "broker.conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    got: list[dict[str, Any]] = []
    connected, arrived = threading.Event(), threading.Semaphore(0)

    def on_message(_client: object, _data: object, message: Any) -> None:
        got.append(json.loads(message.payload))
        arrived.release()

    def subscribe(client: Any, *_: object) -> None:
        client.subscribe("filtered/#")

    broker = subprocess.Popen([str(BROKER), "-c", str(tmp_path / "broker.conf")])
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.on_message, client.on_connect = on_message, subscribe
    client.on_subscribe = lambda *_: connected.set()
    try:
        for _ in range(300):
            try:
                client.connect("127.0.0.1", int(port))
                break
            except ConnectionRefusedError:  # the broker is not there yet
                time.sleep(0.1)
        client.loop_start()
        assert connected.wait(30)
        for times, source in (([0, 5], "strong"), ([10, 15], "weak")):
            command = [sys.executable, str(PROGRAM), "walk.toml", "127.0.0.1", port]
            with subprocess.Popen(
                command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            ) as program:
                try:
                    assert program.stdout is not None
                    assert program.stderr is not None
                    assert program.stdout.readline() == "ready\n"
                    client.publish(
                        "raw/ann", '{"time": 0, "source": "none", "probs": [0.5, 0.5]}', 1
                    )
                    for at in times:
                        row = {"time": at, "source": source, "probs": [0.25, 0.75]}
                        client.publish("raw/ann", json.dumps(row), 1)
                        assert arrived.acquire(timeout=30)
                    program.send_signal(signal.SIGTERM)
                    assert "raw/ann: source is 'none', which has no weight" in program.stderr.read()
                finally:
                    program.kill()
    finally:
        client.loop_stop()
        broker.terminate()
        broker.wait()
    by_hand = [f.update([0.25, 0.75], b, dt) for b, dt in ((1, 0), (1, 5), (0.1, 5), (0.1, 5))]
    np.testing.assert_allclose([row["probs"] for row in got], by_hand, atol=1e-4)
    assert {row["class"] for row in got} == {"sit"}
