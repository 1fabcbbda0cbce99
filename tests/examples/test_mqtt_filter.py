"""The MQTT example with a broker, where mosquitto and paho-mqtt are installed."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from examples import mqtt_filter

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
    pipe = replace(
        cf.Pipeline(cf.StickyFilter(classes, stay=0.5 ** (1 / 30))), rule=cf.EventRule(10.0)
    )
    pipe.save(tmp_path / "home.json")
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
    command = [sys.executable, str(PROGRAM), "home.json", "127.0.0.1", port]
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
    tracker = cf.Tracker.load(tmp_path / "mqtt.db")
    alone = cf.Tracker(pipe, events=True)
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
    cf.Pipeline(f, beta={"weak": 0.1, "strong": 1.0}).save(tmp_path / "walk.json")
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
            command = [sys.executable, str(PROGRAM), "walk.json", "127.0.0.1", port]
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


def room(tmp_path: Path) -> tuple[cf.Pipeline, cf.Tracker]:
    pipe = cf.Pipeline(cf.StickyFilter(["empty", "occupied"], stay=0.5 ** (1 / 600)))
    pipe.save(tmp_path / "room.json")
    return pipe, mqtt_filter.started(pipe, anew=True)


def message(tracker: cf.Tracker, **row: object) -> Any:
    result = mqtt_filter.filtered(tracker, "raw/kitchen", json.dumps(row).encode())
    return result and json.loads(result[1])


def test_a_clock_far_ahead_drops_only_its_own_row(tmp_path: Path) -> None:
    pipe, tracker = room(tmp_path)
    alone = cf.Tracker(pipe)
    for n in range(20):
        if n == 5:
            with pytest.raises(ValueError, match=r"time is 2200000000.0, more than 86400 after"):
                message(tracker, time=2.2e9, probs=[0.2, 0.8])
        given = message(tracker, time=1.7e9 + 5 * n, probs=[0.2, 0.8])
        wanted = alone.update("kitchen", 1.7e9 + 5 * n, None, [0.2, 0.8])
        np.testing.assert_allclose(given["probs"], wanted, atol=1e-4)
    assert message(tracker, time=1.7e9, probs=[0.2, 0.8]) is None


def test_what_a_message_must_have(tmp_path: Path) -> None:
    pipe, tracker = room(tmp_path)
    for payload in (b"ON", b"[0.2, 0.8]", b'{"probs": [0.2, 0.8]}', b'{"time": 5}', b"{}",
                    b'{"time": "noon", "prediction": "empty"}'):  # fmt: skip
        with pytest.raises(ValueError, match="a message is a JSON object with time"):
            mqtt_filter.filtered(tracker, "raw/kitchen", payload)
    assert len(tracker) == 0
    alone = cf.Tracker(pipe)
    said: list[dict[str, Any]] = [
        {"prediction": "occupied"},
        {"prediction": "empty", "confidence": 0.7},
    ]
    for time_, rest in enumerate(said):
        given = message(tracker, time=time_, **rest)
        wanted = alone.update("kitchen", time_, None, rest["prediction"], rest.get("confidence"))
        np.testing.assert_allclose(given["probs"], wanted, atol=1e-4)


def test_a_state_of_other_settings_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pipe, tracker = room(tmp_path)
    message(tracker, time=0, probs=[0.2, 0.8])
    tracker.save(mqtt_filter.STATE)
    assert mqtt_filter.started(cf.load("room.json")).streams == ["kitchen"]
    other = replace(pipe, rule=cf.EventRule("15s"))
    with pytest.raises(SystemExit, match=r"mqtt.db was saved with other settings; add --new"):
        mqtt_filter.started(other)
    assert mqtt_filter.started(other, anew=True).streams == []


def test_a_connection_that_fails_ends_the_program(tmp_path: Path) -> None:
    room(tmp_path)
    port = str(free_port())
    command = [sys.executable, str(PROGRAM), "room.json", "127.0.0.1", port]

    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60,
                              env=os.environ | variables, check=False)  # fmt: skip

    alone = run()
    assert alone.returncode == 1
    assert f"no connection to 127.0.0.1, port {port}" in alone.stderr
    tool = shutil.which("mosquitto_passwd")
    if tool is None:
        pytest.skip("mosquitto_passwd is not installed")
    subprocess.run([tool, "-b", "-c", str(tmp_path / "users"), "ann", "secret"], check=True)
    text = f"listener {port} 127.0.0.1\nallow_anonymous false\nuser {getpass.getuser()}\n"
    text += f"password_file {tmp_path / 'users'}\n"
    (tmp_path / "broker.conf").write_text(text)
    broker = subprocess.Popen([str(BROKER), "-c", str(tmp_path / "broker.conf")])
    try:
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        connect(client, port)
        for variables in ({}, {"MQTT_USER": "ann", "MQTT_PASSWORD": "wrong"}):
            ended = run(**variables)
            assert ended.returncode == 1
            assert "refuses the connection: Not authorized; give what it asks for" in ended.stderr
        variables = {"MQTT_USER": "ann", "MQTT_PASSWORD": "secret"}
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True,
                              env=os.environ | variables) as program:  # fmt: skip
            try:
                assert program.stdout is not None
                assert program.stdout.readline() == "ready\n"
            finally:
                program.terminate()
    finally:
        broker.terminate()
        broker.wait()
