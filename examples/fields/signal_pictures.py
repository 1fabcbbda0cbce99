"""The pictures of docs/fields/speech.md, sleep.md and wearables.md.

python -m examples.fields.signal_pictures [speech] [sleep] [wearables]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import classfilter as cf

FOLDER = Path(__file__).parents[2] / "docs/fields"


def write(name: str, time: Any, truth: Any, lanes: dict[str, Any], classes: list[str]) -> None:
    """Draw lanes and write them."""
    figure = cf.plot.timeline(time, truth, lanes, classes)
    figure.set_size_inches(9.0, 1.1 + 0.4 * (1 + len(lanes)))
    FOLDER.mkdir(exist_ok=True)
    figure.savefig(FOLDER / f"{name}.png", dpi=100)


def speech(seconds: float = 30.0) -> None:
    """Draw segments of a minute of speech."""
    import silero_vad
    import torch
    from examples.fields.speech import RATE, conversation, silero_calls, webrtc_rows

    model = silero_vad.load_silero_vad(onnx=True)
    talks = [conversation("hiss", 10, seed) for seed in (10, 11, 12, 13)]
    calls, frames = [silero_calls(model, t) for t in talks], [webrtc_rows(t) for t in talks]
    rows = [r.assign(stream=i) for each in (calls, frames) for i, r in enumerate(each)]
    both = pd.concat(rows).sort_values("time", kind="stable")
    rule = cf.EventRule(
        0.25, min_duration={"speech": 0.25}, merge_gap=0.3, ignore="silence", pad=(0.03, 0.03)
    )
    found = cf.events(both, cf.tune(both, reference="silero"), rule)
    raw = cf.RawFilter(["speech", "silence"])
    sound = torch.tensor(talks[0].sound, dtype=torch.float32)
    marks = silero_vad.get_speech_timestamps(sound, model, sampling_rate=RATE)
    own = [cf.Event(None, "speech", m["start"] / RATE, m["end"] / RATE) for m in marks]
    lanes = {
        "silero-vad,\nall windows": cf.Events(own),
        "webrtcvad": cf.Events.from_table(
            cf.events(frames[0], raw, cf.EventRule(0, ignore="silence"))
        ),
        "both, a quarter\nof the windows": cf.Events.from_table(found[found.stream == 0]),
    }
    time = frames[0].time.to_numpy()[: int(seconds / 0.03)]
    truth = np.full(len(time), -1)
    for event in talks[0].speech:
        assert event.end is not None
        truth[(time >= event.start) & (time < event.end)] = 0
    write("speech", time, truth, lanes, ["speech", "silence"])


def sleep() -> None:
    """Draw the hypnograms of a night."""
    import yasa
    from examples.fields.sleep import STAGES, night

    raw, truth = night(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the models were written by an older scikit-learn
        staging = yasa.SleepStaging(raw, eeg_name="C4-M1", eog_name="LOC-M2", emg_name="EMG1-EMG2")
        said = staging.predict()
    table = said.proba.assign(time=30.0 * said.proba.index)
    steady = cf.smooth_table(table, cf.tune(cf.rows(table, classes=STAGES).by_stream()))["class"]
    number = {name: k for k, name in enumerate(STAGES)}
    lanes = {"YASA": said.hypno.astype(str).map(number), "smoothed": steady.map(number)}
    write("sleep", table.time, truth.hypno.astype(str).map(number), lanes, STAGES)


def wearables(part: slice = slice(9 * 120, 18 * 120)) -> None:
    """Draw the bouts of a day."""
    from examples.fields.wearables import ACTIVITIES, day

    series, truth = day(10)
    time = 30.0 * np.arange(len(series))
    labels = series[ACTIVITIES].to_numpy().argmax(axis=1)
    rec = cf.rows(time=time, source="actinet", probs=labels, classes=ACTIVITIES)
    f = cf.StickyFilter(ACTIVITIES, dwell="9min")
    bouts = cf.events(rec, f, cf.EventRule("30s"), smooth=True)
    lanes = {"labels": labels[part], "bouts": bouts}
    write("wearables", time[part], truth[part], lanes, ACTIVITIES)


if __name__ == "__main__":
    for picture in sys.argv[1:] or ("speech", "sleep", "wearables"):
        {"speech": speech, "sleep": sleep, "wearables": wearables}[picture]()
