"""Speech by silero-vad: its own segments beside those of a filter and a rule for events.

silero-vad (pip install silero-vad onnxruntime) scores each window of 32 ms: one label, one column.
Its `get_speech_timestamps` has two thresholds and minimum durations; the rules here have the same
minimum durations and the same padding. The streams are real recordings of prompts, with pauses of
random length between them, mixed with real noise at a few ratios. Where a prompt is loud is what
is true. In --talks, the truth of each x.wav is in x.rttm, from people who listened.

    apt-get download asterisk-core-sounds-en-wav && dpkg -x asterisk-core-sounds-en-wav_*.deb DEB
    git clone https://github.com/karolpiczak/ESC-50
    pip download --no-deps pyannote.audio && unzip pyannote_audio-*.whl 'pyannote/audio/sample/*'
    python -m experiments.speech --speech DEB --noise ESC-50/audio --talks pyannote
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from math import gcd
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import classfilter as cf
from classfilter._support.types import Bools, Floats

RATE = 8000
WINDOW = 256
"""Samples that silero-vad scores at once, at this rate."""
STEP = WINDOW / RATE
RATIOS = (20, 5, 0)
"""Of speech to noise, in decibels."""
STREAMS, SECONDS = 4, 120.0
MERGED = 0.3
"""Seconds of silence within a prompt that count as speech."""
RULE = cf.EventRule("100ms", min_duration="250ms", merge_gap="100ms", pad=("30ms", "30ms"))
"""The minimum durations and the padding are the defaults of silero-vad."""


Method = Callable[[cf.Recording], list[cf.Event]]


class Talk(NamedTuple):
    """Sound, (samples,), and the stretches of speech in it."""

    sound: Floats
    speech: list[cf.Event]

    @property
    def time(self) -> Floats:
        """The time of each window."""
        return STEP * np.arange(-(-len(self.sound) // WINDOW), dtype=np.float64)


def read_sound(path: Path) -> Floats:
    """Return a recording at the rate of this experiment, one channel."""
    from scipy.io import wavfile
    from scipy.signal import resample_poly

    rate, sound = wavfile.read(path)
    full = np.iinfo(sound.dtype).max if sound.dtype.kind == "i" else 1
    mono: Floats = sound.reshape(len(sound), -1).mean(axis=1) / full
    if rate != RATE:
        common = gcd(rate, RATE)
        mono = resample_poly(mono, RATE // common, rate // common)
    return mono


def loud(sound: Floats) -> Bools:
    """Return in which windows a clean prompt is less than 35 decibels below its loudest one."""
    windows = sound[: len(sound) // WINDOW * WINDOW].reshape(-1, WINDOW)
    power = np.square(windows).mean(axis=1)
    return np.asarray(power > power.max(initial=0.0) * 10**-3.5)


def stretches(on: Bools, merged: float = 0.0) -> list[cf.Event]:
    """Return the stretches of windows that are on, as events."""
    time = STEP * np.arange(len(on))
    rec = cf.Recording(time, "loud", on.astype(float), ["speech"], scores="independent")
    return list(cf.events(rec, cf.ThresholdRule(0.5, merge_gap=merged)))


def mixed(prompts: Sequence[Path], noises: Sequence[Path], ratio: float, seed: int) -> Talk:
    """Return prompts with pauses between them, in noise."""
    rng = np.random.default_rng(seed)
    pieces: list[Floats] = []
    size = int(SECONDS * RATE)
    while sum(map(len, pieces)) < size:
        pieces += [
            np.zeros(int(rng.exponential(1.0) * RATE)),
            read_sound(prompts[int(rng.integers(len(prompts)))]),
        ]
    clean = np.concatenate(pieces)[:size]
    noise: list[Floats] = []
    while sum(map(len, noise)) < size:
        noise.append(read_sound(noises[int(rng.integers(len(noises)))]))
    background = np.concatenate(noise)[:size]
    spoken = np.repeat(loud(clean), WINDOW)
    power = np.square(clean[: len(spoken)][spoken]).mean() / np.square(background).mean()
    sound = clean + background * np.sqrt(power * 10 ** (-ratio / 10))
    return Talk(sound / np.abs(sound).max(), stretches(loud(clean), MERGED))


def talks_of(folder: Path) -> Iterator[Talk]:
    """Return the recordings of a folder that have a truth; who speaks does not matter."""
    for path in sorted(folder.rglob("*.wav")):
        marks = path.with_suffix(".rttm")
        if marks.exists():
            sound = read_sound(path)
            time = STEP * np.arange(-(-len(sound) // WINDOW))
            on = np.zeros(len(time), bool)
            for event in cf.read_events(marks):
                assert event.end is not None
                on |= (time >= event.start) & (time < event.end)
            yield Talk(sound, stretches(on))


class Silero:
    """silero-vad: its scores, and its own segments."""

    def __init__(self) -> None:
        import silero_vad
        import torch

        torch.set_num_threads(1)
        self._module, self._torch = silero_vad, torch
        self._model = silero_vad.load_silero_vad(onnx=True)

    def scores(self, talk: Talk) -> Floats:
        """Return the score of each window."""
        sound = self._torch.tensor(talk.sound, dtype=self._torch.float32)
        found = self._model.audio_forward(sound, sr=RATE)[0].numpy().astype(float)
        return np.asarray(found)

    def segments(self, talk: Talk) -> list[cf.Event]:
        """Return the segments of `get_speech_timestamps` with its defaults."""
        sound = self._torch.tensor(talk.sound, dtype=self._torch.float32)
        found = self._module.get_speech_timestamps(sound, self._model, sampling_rate=RATE)
        return [cf.Event(None, "speech", s["start"] / RATE, s["end"] / RATE) for s in found]


def recording(talk: Talk, scores: Floats) -> cf.Recording:
    """Return the scores of a talk: one label, one column."""
    return cf.Recording(talk.time, "silero", scores, ["speech"], scores="independent")


def methods(recs: Sequence[cf.Recording]) -> dict[str, Method]:
    """Return what finds events in the scores of silero-vad."""
    f = cf.MultiLabelFilter(["speech"], cf.StickyFilter(2, half_life="1s"))
    raw = cf.MultiLabelFilter(["speech"], cf.RawFilter(2))
    tuned, on = cf.tune(recs), cf.EventRule()

    def found(by: Any, rule: cf.EventRule, smooth: bool = False) -> Method:
        return lambda rec: list(cf.events(rec, by, rule, smooth=smooth))

    return {
        "scores above 0.5": found(raw, on),
        "scores, rule": found(raw, RULE),
        "filter above 0.5": found(f, on),
        "filter, rule": found(f, RULE),
        "smoothed, rule": found(f, RULE, smooth=True),
        "tuned, rule": found(tuned, RULE),
        "tuned, smoothed, rule": found(tuned, RULE, smooth=True),
    }


def in_windows(talk: Talk, events: Sequence[cf.Event]) -> Bools:
    """Return in which windows there is an event."""
    on = np.zeros(len(talk.time), bool)
    for event in events:
        assert event.end is not None
        on |= (talk.time + STEP / 2 >= event.start) & (talk.time + STEP / 2 < event.end)
    return on


def print_table(title: str, talks: Sequence[Talk], silero: Any) -> None:
    """Print how right silero-vad's own segments and those of the other methods are."""
    recs = [recording(talk, silero.scores(talk)) for talk in talks]
    found = {"get_speech_timestamps": [silero.segments(talk) for talk in talks]}
    found |= {name: [method(rec) for rec in recs] for name, method in methods(recs).items()}
    true = [e._replace(stream=i) for i, talk in enumerate(talks) for e in talk.speech]
    seconds = sum(len(talk.sound) for talk in talks) / RATE
    print(f"\n{title}: {seconds:.0f} s, {len(true)} stretches of speech")
    print(f"{'':28}{'F1':>8}{'F1@50':>8}{'F1, 0.2 s':>11}{'events':>8}{'false/min':>11}")
    for name, of in found.items():
        said = [e._replace(stream=i) for i, events in enumerate(of) for e in events]
        a = np.concatenate([in_windows(talk, talk.speech) for talk in talks])
        b = np.concatenate([in_windows(*pair) for pair in zip(talks, of, strict=True)])
        half = cf.metrics.event_scores(true, said, iou=0.5, duration=seconds)
        collar = cf.metrics.event_scores(true, said, collar=0.2, duration=seconds)
        print(
            f"{name:28}{200 * (a & b).sum() / (a.sum() + b.sum()):8.1f}{100 * half.f1:8.1f}"
            f"{100 * collar.f1:11.1f}{len(said):8}{half.false_per_hour / 60:11.1f}"
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speech", type=Path, required=True, help="folder with prompts, *.wav")
    parser.add_argument("--noise", type=Path, required=True, help="folder with noise, *.wav")
    parser.add_argument("--talks", type=Path, help="folder with x.wav and x.rttm")
    given = parser.parse_args()
    silero = Silero()
    prompts, noises = (sorted(d.rglob("*.wav")) for d in (given.speech, given.noise))
    for ratio in RATIOS:
        talks = [mixed(prompts, noises, ratio, seed) for seed in range(STREAMS)]
        print_table(f"prompts in noise, {ratio} dB", talks, silero)
    if given.talks:
        print_table("talks", list(talks_of(given.talks)), silero)


if __name__ == "__main__":
    main()
