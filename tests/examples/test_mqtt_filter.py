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


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGKILL])
def test_no_row_is_lost_or_counts_twice(stop: signal.Signals, tmp_path: Path) -> None:
    """However it is stopped: rows that come meanwhile wait in the broker, with its QoS of 1."""
    port, classes = str(free_port()), ["out", "in"]
    chain = cf.Chain(cf.StickyFilter(classes, half_life=30.0)).with_rule(cf.EventRule(10.0))
    chain.save(tmp_path / "home.toml")
    (tmp_path / "broker.conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    rng = np.random.default_rng(0)
    at_home = np.repeat([0, 1, 0, 1, 0], 40)
    rows = [
        {"time": 5.0 * n, "probs": [float(p), float(1 - p)]}
        for n, p in enumerate(np.clip(0.7 - 0.4 * at_home + rng.normal(scale=0.2, size=200), 0, 1))
    ]
    got: dict[str, list[Any]] = {}
    connected, done = threading.Event(), threading.Event()

    def on_message(_client: object, _data: object, message: Any) -> None:
        kind = message.topic.partition("/")[0]
        payload = message.payload.decode()
        got.setdefault(kind, []).append(payload if kind == "classfilter" else json.loads(payload))
        if kind == "filtered" and got[kind][-1]["time"] == rows[-1]["time"]:
            done.set()

    broker = subprocess.Popen([str(BROKER), "-c", str(tmp_path / "broker.conf")])
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.on_message = on_message
    client.on_connect = lambda client, *_: client.subscribe("#", 1)
    client.on_subscribe = lambda *_: connected.set()
    command = [sys.executable, str(PROGRAM), "home.toml", "127.0.0.1", port]
    try:
        connect(client, port)
        client.loop_start()
        assert connected.wait(30)
        for part in (rows[:90], rows[90:]):
            with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as program:
                try:
                    assert program.stdout is not None
                    assert program.stdout.readline() == b"ready\n"
                    for row in part:
                        client.publish("raw/kitchen", json.dumps(row), 1)
                    if part[-1] is rows[-1]:
                        assert done.wait(60)
                        program.terminate()
                    else:
                        program.send_signal(stop)  # in the middle of these rows
                finally:
                    program.wait(60)
    finally:
        client.loop_stop()
        broker.terminate()
        broker.wait()
    tracker = cf.Tracker.load(tmp_path / "mqtt.npz")
    alone = cf.Tracker(chain, events=True)
    for row in rows:
        alone.update("kitchen", row["time"], None, row["probs"])
    np.testing.assert_array_equal(tracker.probs("kitchen"), alone.probs("kitchen"))
    wanted = [(e.label, e.start, e.end) for e in alone.pop_events()]
    found = [(e["class"], e["start"], e["end"]) for e in got["events"]]
    assert len(wanted) >= 4
    # A process that is killed after it has published and before it has saved publishes again.
    assert (found if stop == signal.SIGTERM else list(dict.fromkeys(found))) == wanted
    assert got["classfilter"][0] == "online"
    assert got["classfilter"][-1] == "offline"
    (config, *_) = got["homeassistant"]
    assert config["options"] == classes
    assert config["state_topic"] == "filtered/kitchen"


def connect(client: Any, port: str) -> None:
    for _ in range(300):
        try:
            client.connect("127.0.0.1", int(port))
            return
        except ConnectionRefusedError:  # the broker is not there yet
            time.sleep(0.1)


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
        connect(client, port)
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
                    wrong = {"time": times[0], "source": "none", "probs": [0.5, 0.5]}
                    client.publish("raw/ann", json.dumps(wrong), 1)
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
