"""Filter predictions that come by MQTT: ``python examples/mqtt_filter.py SETTINGS.toml [HOST]``.

Messages under ``raw/<stream>`` are JSON objects with ``time``, ``probs`` and, where there are
several sources, ``source``. The estimate goes to ``filtered/<stream>``. SETTINGS is a file of
`Chain.save`, such as `tune` or a filter's `save` write. It needs ``pip install paho-mqtt``.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import classfilter as cf

STATE = Path("mqtt.npz")


def filtered(tracker: cf.Tracker, topic: str, payload: bytes) -> tuple[str, str]:
    """Return the topic and the payload of the estimate that a message gives."""
    stream, row = topic.partition("/")[2], json.loads(payload)
    probs = tracker.update(stream, row["time"], row.get("source"), row["probs"])
    result = {
        "time": row["time"],
        "class": tracker.label(stream),
        "probs": probs.round(4).tolist(),
    }
    return f"filtered/{stream}", json.dumps(result)


def main(settings: str, host: str = "localhost", port: str = "1883") -> None:
    """Filter messages until SIGTERM or Ctrl-C, and save the tracker then."""
    import paho.mqtt.client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion

    if STATE.exists():
        tracker = cf.Tracker.load(STATE)
    else:
        tracker = cf.Tracker(cf.load(settings), expire_after=3600.0)

    def on_connect(client: Any, *_: object) -> None:
        client.subscribe("raw/#")

    def on_message(client: Any, _: object, message: Any) -> None:
        try:
            client.publish(*filtered(tracker, message.topic, message.payload))
        except (ValueError, KeyError, TypeError) as error:  # the stream is as it was
            print(f"{message.topic}: {error}", file=sys.stderr, flush=True)

    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.on_connect, client.on_message = on_connect, on_message
    client.on_subscribe = lambda *_: print("ready", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: client.disconnect())
    client.connect(host, int(port))
    try:
        client.loop_forever()
    finally:
        tracker.save(STATE)


if __name__ == "__main__":
    main(*sys.argv[1:])
