"""Filter predictions that come by MQTT: ``python examples/mqtt_filter.py SETTINGS.json [HOST]``.

Messages under ``raw/<stream>`` are JSON objects with ``time``, ``probs`` or ``prediction`` (and
perhaps its ``confidence``) and, where there are several sources, ``source``. The estimate goes to
``filtered/<stream>``, and is kept there; with a rule for events in SETTINGS, each event that is
confirmed goes to ``events/<stream>``. Home Assistant finds a sensor for each stream by itself.
SETTINGS is a file of `Pipeline.save`, such as `tune` or a filter's `save` write. It needs
``pip install paho-mqtt``. The environment variables ``MQTT_USER`` and ``MQTT_PASSWORD`` are for a
broker that asks for them.

The state is saved before messages are acknowledged, so that a broker sends again what was not
saved, and rows that the state has are left out: no row is lost, and none counts twice.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import classfilter as cf

STATE = Path("mqtt.db")
STATUS = "classfilter/status"
MAX_JUMP = "1d"  # a row this far ahead of the one before has a wrong clock, unless the next agrees
NEEDS = (
    "a message is a JSON object with time, a number of seconds, and probs, a list or an object of "
    "probabilities, or prediction, a class"
)


def filtered(tracker: cf.Tracker, topic: str, payload: bytes) -> tuple[str, str] | None:
    """Return the topic and the payload of the estimate that a message gives.

    None for a row that is not after the last one of its stream, such as one that is sent again.
    """
    stream, row = topic.partition("/")[2], parsed(payload)
    if stream in tracker and row["time"] <= tracker.time(stream):
        return None
    said = row["probs"] if "probs" in row else row["prediction"]
    probs = tracker.update(stream, row["time"], row.get("source"), said, row.get("confidence"))
    result = {
        "time": row["time"],
        "class": tracker.label(stream),
        "probs": probs.round(4).tolist(),
    }
    return f"filtered/{stream}", json.dumps(result)


def parsed(payload: bytes) -> dict[str, Any]:
    """Return the row of a message, or say what a message must have."""
    try:
        row = json.loads(payload)
    except ValueError as error:
        raise ValueError(f"this is no JSON ({error}); {NEEDS}") from None
    if not isinstance(row, dict):
        raise ValueError(f"this is {row!r}; {NEEDS}")
    if not isinstance(row.get("time"), (int, float)) or not {"probs", "prediction"} & row.keys():
        raise ValueError(f"this has {', '.join(row) or 'no keys'}; {NEEDS}")
    return row


def started(pipe: cf.Pipeline, *, anew: bool = False) -> cf.Tracker:
    """Return the tracker of the saved state, or a new one where there is none."""
    if anew or not STATE.exists():
        return cf.Tracker(pipe, expire_after="1h", max_jump=MAX_JUMP, events=pipe.rule or False)
    tracker = cf.Tracker.load(STATE)
    if tracker.pipe.digest != pipe.digest:
        sys.exit(
            f"{STATE} was saved with other settings; add --new to begin anew with those of the "
            "file, or give the file that it was saved with"
        )
    return tracker


def events(tracker: cf.Tracker) -> list[tuple[str, str]]:
    """Return the topic and the payload of each event that was confirmed since the last call."""
    return [
        (
            f"events/{e.stream}",
            json.dumps({"class": e.label, "start": e.start, "end": e.end,
                        "probability": None if e.probability is None else round(e.probability, 4)}),
        )
        for e in (tracker.pop_events() if tracker.pipe.rule is not None else ())
    ]  # fmt: skip


def discovery(stream: str, classes: tuple[str, ...], expire_after: int = 900) -> tuple[str, str]:
    """Return the topic and the payload that announce a stream to Home Assistant as a sensor."""
    node = "classfilter_" + re.sub("[^a-zA-Z0-9_-]", "_", stream)
    config = {
        "name": "Class",
        "unique_id": f"{node}_class",
        "device_class": "enum",
        "options": list(classes),
        "state_topic": f"filtered/{stream}",
        "value_template": "{{ value_json.class }}",
        "json_attributes_topic": f"filtered/{stream}",
        "json_attributes_template": "{{ {'probability': value_json.probs | max} | tojson }}",
        "availability_topic": STATUS,
        "expire_after": expire_after,
        "device": {"identifiers": [node], "name": stream, "manufacturer": "classfilter"},
        "origin": {"name": "classfilter", "sw_version": cf.__version__},
    }
    return f"homeassistant/sensor/{node}/class/config", json.dumps(config)


def main(settings: str, host: str, port: int, every: int, *, anew: bool = False) -> None:
    """Filter messages until SIGTERM or Ctrl-C; save the tracker after each `every` of them."""
    import paho.mqtt.client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion

    tracker = started(cf.load(settings), anew=anew)
    refused: list[str] = []
    classes = tuple(map(str, tracker.classes))
    announced: set[str] = set()
    taken: list[Any] = []

    def on_connect(client: Any, _: object, __: object, reason: Any, *___: object) -> None:
        if reason.is_failure:  # paho would try again without end
            refused.append(str(reason))
            client.disconnect()
            return
        client.publish(STATUS, "online", 1, retain=True)
        client.subscribe("raw/#", 1)

    def on_message(client: Any, _: object, message: Any) -> None:
        try:
            result = filtered(tracker, message.topic, message.payload)
            if result is None:
                print(f"{message.topic}: a row that is not after the last one is left out: "
                      f"{message.payload.decode()}", file=sys.stderr, flush=True)  # fmt: skip
            else:
                stream = message.topic.partition("/")[2]
                if stream not in announced:
                    announced.add(stream)
                    client.publish(*discovery(stream, classes), 1, retain=True)
                client.publish(*result, 1, retain=True)
                for event in events(tracker):
                    client.publish(*event, 1)
        except (ValueError, KeyError, TypeError) as error:  # the stream is as it was
            print(f"{message.topic}: {error}", file=sys.stderr, flush=True)
        taken.append(message)
        if len(taken) >= every:
            keep(client)

    def keep(client: Any) -> None:
        tracker.save(STATE)
        for message in taken:
            client.ack(message.mid, message.qos)
        taken.clear()

    client = mqtt.Client(
        CallbackAPIVersion.VERSION2, "classfilter", clean_session=False, manual_ack=True
    )
    client.will_set(STATUS, "offline", 1, retain=True)
    client.on_connect, client.on_message = on_connect, on_message
    client.on_subscribe = lambda *_: print("ready", flush=True)

    def stop(*_: object) -> None:
        client.publish(STATUS, "offline", 1, retain=True)
        client.disconnect()

    signal.signal(signal.SIGTERM, stop)
    if "MQTT_USER" in os.environ:
        client.username_pw_set(os.environ["MQTT_USER"], os.environ.get("MQTT_PASSWORD"))
    try:
        client.connect(host, port)
    except OSError as error:
        sys.exit(f"no connection to {host}, port {port}: {error}; give HOST and PORT of the broker")
    try:
        client.loop_forever()
    finally:
        tracker.save(STATE)
    if refused:
        sys.exit(
            f"{host}, port {port}, refuses the connection: {refused[0]}; give what it asks for in "
            "the environment variables MQTT_USER and MQTT_PASSWORD"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Filter predictions that come by MQTT.")
    parser.add_argument("settings", help="a file of Pipeline.save, such as tune writes")
    parser.add_argument("host", nargs="?", default="localhost")
    parser.add_argument("port", nargs="?", type=int, default=1883)
    parser.add_argument("every", nargs="?", type=int, default=1, help="save after so many messages")
    parser.add_argument("--new", action="store_true", help="forget the saved state, begin anew")
    given = parser.parse_args()
    main(given.settings, given.host, given.port, given.every, anew=given.new)
