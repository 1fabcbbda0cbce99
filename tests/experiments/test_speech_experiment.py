"""Segments of speech: by silero-vad where it is installed, and by scores that are made up."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest

import classfilter as cf
from experiments import speech


def write_sound(path: Path, sound: np.ndarray, rate: int) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((sound * 32767).astype("<i2").tobytes())


def test_the_truth_of_a_talk_is_the_union_of_who_speaks(tmp_path: Path) -> None:
    rate = 2 * speech.RATE
    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(4 * rate) / rate)
    write_sound(tmp_path / "talk.wav", tone, rate)
    cf.write_events(
        [cf.Event("talk", "ann", 1.0, 2.0), cf.Event("talk", "ben", 1.5, 3.0)],
        tmp_path / "talk.rttm",
    )
    write_sound(tmp_path / "no truth.wav", tone, rate)
    (talk,) = speech.talks_of(tmp_path)
    assert len(talk.sound) == 4 * speech.RATE
    assert abs(np.sqrt(2 * np.square(talk.sound).mean()) - 0.5) < 0.01
    ((start, end),) = [(e.start, e.end) for e in talk.speech]
    assert end is not None
    assert 1.0 <= start < 1.0 + speech.STEP
    assert 3.0 <= end < 3.0 + speech.STEP


class MadeUp:
    """In place of silero-vad: scores that flicker around what is true."""

    def scores(self, talk: speech.Talk) -> np.ndarray:
        rng = np.random.default_rng(len(talk.speech))
        on = speech.in_windows(talk, talk.speech)
        return np.clip(np.where(on, 0.7, 0.3) + rng.normal(0, 0.3, len(on)), 0, 1)

    def segments(self, talk: speech.Talk) -> list[cf.Event]:
        return talk.speech


def test_the_table_of_prompts_in_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    monkeypatch.setattr(speech, "SECONDS", 20.0)
    for i in range(3):
        prompt = 0.5 * np.sin(2 * np.pi * 300 * np.arange((i + 1) * speech.RATE) / speech.RATE)
        write_sound(tmp_path / f"prompt {i}.wav", prompt, speech.RATE)
    write_sound(tmp_path / "noise.wav", 0.1 * rng.standard_normal(44_100).clip(-3, 3), 44_100)
    prompts = sorted(tmp_path.glob("prompt*"))
    noises = [tmp_path / "noise.wav"]
    talks = [speech.mixed(prompts, noises, ratio, 2) for ratio in (20, 20)]
    np.testing.assert_array_equal(talks[0].sound, talks[1].sound)
    assert talks[0].speech
    speech.print_table("prompts", talks, MadeUp())
    lines = capsys.readouterr().out.splitlines()[3:]
    table = {line[:28].strip(): [float(x) for x in line[28:].split()] for line in lines}
    assert table["get_speech_timestamps"][:3] == [100, 100, 100]
    assert table["smoothed, rule"][1] > 80 > 50 > table["scores above 0.5"][1]


def test_silero_on_noise_alone_and_through_a_filter() -> None:
    needed = "pip install silero-vad onnxruntime: the classifier of speech"
    pytest.importorskip("silero_vad", reason=needed)
    pytest.importorskip("onnxruntime", reason=needed)
    silero = speech.Silero()
    noise = 0.01 * np.random.default_rng(0).standard_normal(3 * speech.RATE)
    talk = speech.Talk(noise, [])
    scores = silero.scores(talk)
    assert scores.shape == talk.time.shape
    assert (scores < 0.5).all()
    assert silero.segments(talk) == []
    rec = speech.recording(talk, scores)
    f = cf.MultiLabelFilter(["speech"], cf.StickyFilter(2, half_life="1s"))
    assert list(cf.events(rec, f, speech.RULE)) == []
    alone = cf.StickyFilter(2, half_life=1.0).run(np.stack([1 - scores, scores], 1), dt=rec.dt)
    np.testing.assert_array_equal(rec.run(f)[:, 0], alone[:, 1])
