"""A simulated night whose stages are known, for YASA to stage: docs/fields/sleep.md.

The hypnogram comes from `yasa.simulate_hypnogram`; the signals are noise, in each of YASA's bands
as strong as a textbook says of the stage, times a factor that varies from epoch to epoch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classfilter.support.types import Floats

STAGES = ["WAKE", "N1", "N2", "N3", "REM"]
RATE = 100
BANDS = ((0.4, 1.0), (1.0, 4.0), (4.0, 8.0), (8.0, 12.0), (12.0, 16.0), (16.0, 30.0))
EEG = np.array([
    [5.0, 5.0, 11.0, 30.0, 6.0],
    [6.0, 8.0, 13.0, 26.0, 8.0],
    [4.0, 8.0, 7.0, 8.0, 6.0],
    [9.0, 4.0, 4.0, 3.5, 3.5],
    [3.0, 3.0, 4.5, 3.0, 2.0],
    [5.0, 3.5, 2.2, 1.5, 2.5],
])  # fmt: skip
"""Microvolts in each band and stage."""
EOG, EMG = np.array([25.0, 18.0, 6.0, 5.0, 30.0]), np.array([12.0, 6.0, 4.0, 3.5, 1.8])


def night(seed: int, hours: float = 7.0) -> tuple[Any, Any]:
    """Return signals as an `mne.io.Raw`, and their true `yasa.Hypnogram`."""
    import mne
    import yasa

    truth = yasa.simulate_hypnogram(tib=60 * hours, seed=seed)
    stage = np.array([STAGES.index(name) for name in truth.hypno.astype(str)])
    rng = np.random.default_rng(seed)
    size = 30 * RATE * len(stage)

    def amplitude(of: Floats, spread: float) -> Floats:
        """Return that of each sample, which varies from epoch to epoch."""
        each = of[stage] * np.exp(rng.normal(0.0, spread, len(stage)))
        return np.repeat(each, 30 * RATE)

    eeg = sum(
        _noise(rng, size, *band) * amplitude(a, 0.25) for band, a in zip(BANDS, EEG, strict=True)
    )
    eog = _noise(rng, size, 0.3, 2.0) * amplitude(EOG, 0.3) + 0.4 * eeg
    emg = rng.normal(size=size) * amplitude(EMG, 0.3)
    names = ["C4-M1", "LOC-M2", "EMG1-EMG2"]
    info = mne.create_info(names, RATE, ["eeg", "eog", "emg"])
    return mne.io.RawArray(1e-6 * np.array([eeg, eog, emg]), info, verbose="error"), truth


def _noise(rng: np.random.Generator, size: int, low: float, high: float) -> Floats:
    """Return noise of one band, of variance 1."""
    spectrum = np.fft.rfft(rng.normal(size=size))
    frequency = np.fft.rfftfreq(size, 1 / RATE)
    spectrum[(frequency < low) | (frequency >= high)] = 0
    noise = np.fft.irfft(spectrum, size)
    return np.asarray(noise / noise.std())
