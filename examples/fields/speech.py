"""Real prompts with known pauses between them, in noise, for docs/fields/speech.md.

The prompts are a human voice on the telephone, Debian's package asterisk-core-sounds-en-wav; the
music is asterisk-moh-opsound-wav. `make toolchain` installs both. The noise is made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import classfilter as cf
from classfilter.support.types import Bools, Floats

RATE = 8000
WINDOW = 256
"""Samples that silero-vad scores at once, at this rate."""
STEP = WINDOW / RATE
MERGED = 0.3
"""Seconds of silence within a prompt that count as speech."""
PROMPTS = Path("/usr/share/asterisk/sounds/en_US_f_Allison")
MUSIC = Path("/usr/share/asterisk/moh")
FRAME = 240
"""Samples of a frame of webrtcvad: 30 ms."""
LEVEL = 0.1
"""The loudest sample: a voice at some distance. webrtcvad takes loud noise for speech."""


class Talk(NamedTuple):
    """Sound, (samples,), and the stretches of speech in it."""

    sound: Floats
    speech: list[cf.Event]

    @property
    def time(self) -> Floats:
        """The time of each window."""
        return STEP * np.arange(-(-len(self.sound) // WINDOW), dtype=np.float64)


def read_sound(path: Path) -> Floats:
    """Return a recording at `RATE`, one channel."""
    from scipy.io import wavfile

    rate, sound = wavfile.read(path)
    if rate != RATE:
        raise ValueError(f"{path} has {rate} samples per second; it must have {RATE}")
    mono: Floats = sound.reshape(len(sound), -1).mean(axis=1) / np.iinfo(sound.dtype).max
    return mono


def loud(sound: Floats) -> Bools:
    """Return in which windows a clean prompt is less than 35 decibels below its loudest one."""
    windows = sound[: len(sound) // WINDOW * WINDOW].reshape(-1, WINDOW)
    power = np.square(windows).mean(axis=1)
    return np.asarray(power > power.max(initial=0.0) * 10**-3.5)


def stretches(on: Bools, merged: float = 0.0) -> list[cf.Event]:
    """Return the stretches of windows that are on, as events."""
    time = STEP * np.arange(len(on))
    rec = cf.rows(
        time=time, source="loud", probs=on.astype(float), classes=["speech"], scores="independent"
    )
    return list(cf.events(rec, cf.ThresholdRule(0.5, merge_gap=merged)))


def conversation(noise: str, decibels: float, seed: int, seconds: float = 60.0) -> Talk:
    """Return prompts with pauses of 0.5 to 4 s, in "hiss" or "music", and where speech is.

    `decibels` is the power of speech less that of the noise. Speech is where the clean prompt is
    less than 35 decibels below its loudest window; silences below 0.3 s count as speech.
    """
    prompts = sorted(p for p in PROMPTS.glob("*.wav") if p.stat().st_size > 2 * 2 * RATE)
    if not prompts:
        raise FileNotFoundError(f"{PROMPTS} is empty: apt-get install asterisk-core-sounds-en-wav")
    rng = np.random.default_rng(seed)
    size = int(seconds * RATE)
    pieces: list[Floats] = []
    while sum(map(len, pieces)) < size:
        prompt = read_sound(prompts[int(rng.integers(len(prompts)))])
        pieces += [np.zeros(int(rng.uniform(0.5, 4.0) * RATE)), prompt]
    clean = np.concatenate(pieces)[:size]
    background = _music(size, seed) if noise == "music" else _hiss(size, rng)
    spoken = np.repeat(loud(clean), WINDOW)
    power = np.square(clean[: len(spoken)][spoken]).mean() / np.square(background).mean()
    sound = clean + background * np.sqrt(power * 10 ** (-decibels / 10))
    return Talk(LEVEL * sound / np.abs(sound).max(), stretches(loud(clean), MERGED))


def _hiss(size: int, rng: np.random.Generator) -> Floats:
    """Return noise with as much power in each octave."""
    spectrum = np.fft.rfft(rng.normal(size=size))
    spectrum /= np.sqrt(np.maximum(np.arange(len(spectrum)), 1))
    return np.fft.irfft(spectrum, size)


def _music(size: int, seed: int) -> Floats:
    pieces = sorted(MUSIC.glob("*.wav"))
    if not pieces:
        raise FileNotFoundError(f"{MUSIC} is empty: apt-get install asterisk-moh-opsound-wav")
    return np.resize(read_sound(pieces[seed % len(pieces)]), size)


def silero_rows(model: Any, talk: Talk) -> pd.DataFrame:
    """Return the scores of silero-vad for every window of 32 ms."""
    import torch

    sound = torch.tensor(talk.sound, dtype=torch.float32)
    scores = model.audio_forward(sound, sr=RATE)[0].numpy().astype(float)
    return _rows(talk.time, scores)


def silero_calls(model: Any, talk: Talk, every: int = 32, windows: int = 8) -> pd.DataFrame:
    """Return one score of silero-vad in so many windows, each from the last few windows alone.

    Its network remembers what it heard, so that a call after a pause needs a run-up.
    """
    import torch

    sound = torch.tensor(talk.sound, dtype=torch.float32)
    last = np.arange(windows - 1, len(sound) // WINDOW, every)
    scores = []
    for window in last:
        model.reset_states()
        for i in range(window - windows + 1, window + 1):
            score = model(sound[i * WINDOW : (i + 1) * WINDOW], RATE)
        scores.append(float(score))
    return _rows(STEP * last.astype(np.float64), np.array(scores))


def _rows(time: Floats, speech: Floats) -> pd.DataFrame:
    columns = {"time": time, "source": "silero", "p_speech": speech, "p_silence": 1 - speech}
    return pd.DataFrame(columns)


def webrtc_rows(talk: Talk) -> pd.DataFrame:
    """Return what webrtcvad says of every frame of 30 ms: a label, no probability."""
    import webrtcvad

    vad = webrtcvad.Vad(3)
    samples = (talk.sound * 32767).astype("<i2")
    frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME)
    said = [vad.is_speech(frame.tobytes(), RATE) for frame in frames]
    time = FRAME / RATE * np.arange(len(frames))
    labels = np.where(said, "speech", "silence")
    return pd.DataFrame({"time": time, "source": "webrtc", "prediction": labels})


def iterator_events(model: Any, talk: Talk) -> cf.Events:
    """Return the segments of silero-vad's live `VADIterator`, with its defaults."""
    import silero_vad
    import torch

    live = silero_vad.VADIterator(model, sampling_rate=RATE)
    sound = torch.tensor(talk.sound, dtype=torch.float32)
    marks: list[float] = []
    for i in range(len(sound) // WINDOW):
        for samples in (live(sound[i * WINDOW : (i + 1) * WINDOW]) or {}).values():
            marks.append(samples / RATE)
    marks += [len(sound) / RATE] * (len(marks) % 2)
    live.reset_states()
    pairs = zip(marks[::2], marks[1::2], strict=True)
    return cf.Events([cf.Event(None, "speech", start, end) for start, end in pairs])


def scores(talks: Sequence[Talk], found: Sequence[Sequence[cf.Event]]) -> cf.metrics.EventScores:
    """Return the scores of the events of all talks together."""
    true = [e._replace(stream=i) for i, talk in enumerate(talks) for e in talk.speech]
    said = [e._replace(stream=i) for i, events in enumerate(found) for e in events]
    seconds = sum(len(talk.sound) for talk in talks) / RATE
    return cf.metrics.event_scores(true, said, duration=seconds)
