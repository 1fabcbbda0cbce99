"""Simulated EMG of four gestures, with the features and the classifier of LibEMG.

``python -m examples.fields.gestures docs/fields/gestures.png`` draws what docs/fields/gestures.md
shows. It needs ``pip install --no-deps libemg`` and PyWavelets: LibEMG's GUI, its games and its
drivers of devices need much more, and none of it is used here.
"""

from __future__ import annotations

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy.signal import lfilter

import classfilter as cf


def _without_gui() -> None:
    """Let parts of LibEMG load by themselves, in place of all of it."""
    if "libemg" in sys.modules:
        return
    spec = find_spec("libemg")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("libemg is missing: pip install --no-deps libemg PyWavelets")
    folder = Path(spec.origin).parent
    for name, path in (("libemg", folder), ("libemg.environments", folder / "environments")):
        package = ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules.setdefault(name, package)
    for name, used in (("librosa", "lpc"), ("pygame", "init")):
        if find_spec(name) is None:
            module = ModuleType(name)
            setattr(module, used, None)
            sys.modules[name] = module


_without_gui()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of numpy.matlib
    from libemg.emg_predictor import EMGClassifier
    from libemg.feature_extractor import FeatureExtractor
    from libemg.utils import get_windows

CLASSES = ["no movement", "close", "open", "flexion", "extension"]
RATE, WINDOW, STEP, CHANNELS = 1000, 200, 50, 8


def emg(labels: np.ndarray, seed: int, effort: float = 0.0) -> np.ndarray:
    """Return samples of all channels for the class of each sample.

    Muscles follow a class within 100 ms. With `effort`, how strongly they do wanders from one
    contraction to the next and within it, as it does outside of a training session.
    """
    rng, body = np.random.default_rng(seed), np.random.default_rng(99)
    pattern = np.vstack([np.full(CHANNELS, 0.08), body.uniform(0.25, 0.75, (4, CHANNELS))])
    level = pattern[labels]
    level = lfilter([0.02], [1.0, -0.98], level, axis=0)
    knots = np.arange(0, len(labels) + 800, 800)
    wander = np.exp(effort * rng.normal(size=(len(knots), CHANNELS)))
    at = np.arange(len(labels))
    gain = np.column_stack([np.interp(at, knots, w) for w in wander.T])
    return np.asarray(level * gain * rng.normal(size=level.shape))


def session(seed: int = 2, contractions: int = 20) -> np.ndarray:
    """Return the class of each sample: contractions of a few seconds, with rest between them."""
    rng, parts = np.random.default_rng(seed), []
    for _ in range(contractions):
        parts.append(np.zeros(int(rng.uniform(1.0, 2.0) * RATE), int))
        parts.append(np.full(int(rng.uniform(1.5, 3.0) * RATE), rng.integers(1, 5)))
    return np.concatenate(parts)


def windows(labels: np.ndarray, samples: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return LibEMG's features of each window, the time of its end, and the true class then."""
    cut = get_windows(samples, WINDOW, STEP)
    ends = np.arange(len(cut)) * STEP + WINDOW - 1
    features = FeatureExtractor().extract_feature_group("HTD", cut, array=True)
    return features, (ends + 1) / RATE, labels[ends]


def trained() -> EMGClassifier:
    """Return LibEMG's LDA, trained on two even contractions of each class."""
    labels = np.tile(np.repeat(np.arange(5), 2 * RATE), 2)
    features, _, truth = windows(labels, emg(labels, 1, effort=0.2))
    model = EMGClassifier("LDA")
    model.fit({"training_features": features, "training_labels": truth})
    return model


def figures(shown: np.ndarray, truth: np.ndarray) -> str:
    """Return the share of windows right, of those not rejected, rejected, and the changes."""
    kept = shown >= 0
    shares = (shown == truth).mean(), (shown == truth)[kept].mean(), 1.0 - kept.mean()
    return "".join(f"{x:7.1%}" for x in shares) + f"{np.count_nonzero(np.diff(shown)):6}"


def draw(path: str, part: slice = slice(0, 600)) -> None:
    """Draw half a minute: LibEMG's classes, its majority vote, the filtered class, and events."""
    labels = session()
    features, time, truth = windows(labels, emg(labels, 2, effort=0.35))
    probs, model = trained().model.predict_proba(features), trained()
    model.add_majority_vote(5)
    rec, f = (
        cf.rows(time=time, source="lda", probs=probs, classes=CLASSES),
        cf.StickyFilter(CLASSES, dwell="1.8s"),
    )
    events = cf.events({None: rec}, f, cf.EventRule("200ms", ignore="no movement"))
    lanes: dict[str, Any] = {
        "LDA": probs.argmax(axis=1)[part],
        "majority vote": model.run(features)[0][part],
        "filtered": cf.Pipeline(f).run(rec).argmax(axis=1)[part],
        "events": cf.Events(e for e in events if e.end <= time[part][-1]),
    }
    figure = cf.plot.timeline(time[part], truth[part], lanes, CLASSES)
    figure.set_size_inches(9.0, 3.0)
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    draw(sys.argv[1])
