"""Filter predictions that come by MQTT: ``python examples/mqtt_filter.py SETTINGS.toml [HOST]``.

Messages under ``raw/<stream>`` are JSON objects with ``time``, ``probs`` and, where there are
several sources, ``source``. The estimate goes to ``filtered/<stream>``, and is kept there; with a
rule for events in SETTINGS, each event that is confirmed goes to ``events/<stream>``. Home
Assistant finds a sensor for each stream by itself. SETTINGS is a file of `Chain.save`, such as
`tune` or a filter's `save` write. It needs ``pip install paho-mqtt``.

The state is saved before messages are acknowledged, so that a broker sends again what was not
saved, and rows that the state has are left out: no row is lost, and none counts twice.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import classfilter as cf

STATE = Path("mqtt.npz")
STATUS = "classfilter/status"


def filtered(tracker: cf.Tracker, topic: str, payload: bytes) -> tuple[str, str] | None:
    """Return the topic and the payload of the estimate that a message gives.

    None for a row that came before a restart.
    """
    stream, row = topic.partition("/")[2], json.loads(payload)
    if stream in tracker and row["time"] <= tracker.time(stream):
        return None
    probs = tracker.update(stream, row["time"], row.get("source"), row["probs"])
    result = {
        "time": row["time"],
        "class": tracker.label(stream),
        "probs": probs.round(4).tolist(),
    }
    return f"filtered/{stream}", json.dumps(result)


def events(tracker: cf.Tracker) -> list[tuple[str, str]]:
    """Return the topic and the payload of each event that was confirmed since the last call."""
    return [
        (
            f"events/{e.stream}",
            json.dumps({"class": e.label, "start": e.start, "end": e.end,
                        "probability": None if e.probability is None else round(e.probability, 4)}),
        )
        for e in (tracker.pop_events() if tracker.chain.rule is not None else ())
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


def main(settings: str, host: str = "localhost", port: str = "1883", every: str = "1") -> None:
    """Filter messages until SIGTERM or Ctrl-C; save the tracker after each `every` of them."""
    import paho.mqtt.client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion

    chain = cf.load(settings)
    if STATE.exists():
        tracker = cf.Tracker.load(STATE)
    else:
        tracker = cf.Tracker(chain, expire_after=3600.0, events=chain.rule or False)
    classes = tuple(map(str, tracker.classes))
    announced: set[str] = set()
    taken: list[Any] = []

    def on_connect(client: Any, *_: object) -> None:
        client.publish(STATUS, "online", 1, retain=True)
        client.subscribe("raw/#", 1)

    def on_message(client: Any, _: object, message: Any) -> None:
        try:
            result = filtered(tracker, message.topic, message.payload)
            if result is not None:
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
        if len(taken) >= int(every):
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
    client.connect(host, int(port))
    try:
        client.loop_forever()
    finally:
        tracker.save(STATE)


if __name__ == "__main__":
    main(*sys.argv[1:])
