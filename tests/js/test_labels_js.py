"""Several heads in JavaScript, labels among them: the bits of Python, and what it rejects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import classfilter as cf
import node_cases as node
from classfilter.inputs import Heads
from classfilter.policy import Periodic
from node_cases import sent
from saved_files import file_of

LABELS = ["robin", "__proto__", "a b"]
ROWS = 300


def scores_of(heads: Heads, seed: int) -> Any:
    """Return rows with all that they may have: silence, all at once, and heads not observed."""
    rng = np.random.default_rng(seed)
    C = len(heads.shown)
    scores = rng.beta(0.4, 0.4, (ROWS, C))
    scores[:4] = [[0.0] * C, [1.0] * C, [np.nan] * C, [1e-12] * C]
    for h, span in enumerate(heads.spans):
        if h not in heads.labels:
            scores[:, span] = rng.dirichlet([0.5] * heads.sizes[h], ROWS)
        scores[rng.random(ROWS) < 0.1, span] = np.nan
    return scores


def filters_of(dtype: str) -> dict[str, Any]:
    turning = [[0.9, 0.1], [0.3, 0.7]]
    return {
        "one": cf.MultiLabelFilter(
            ["speech"], cf.StickyFilter(2, stay=0.5 ** (1 / 5), dtype=dtype)
        ),
        "shared": cf.MultiLabelFilter(LABELS, cf.DirichletFilter(2, 0.8, dtype=dtype)),
        "numbers": cf.MultiLabelFilter(4, cf.StickyFilter(2, transitions=turning, dtype=dtype)),
        "each": cf.MultiLabelFilter(
            LABELS,
            {
                "robin": cf.StickyFilter(2, prior=[0.9, 0.1], temperature=1.6, dtype=dtype),
                "__proto__": cf.DirichletFilter(2, estimate="mean", anchor=0.1, dtype=dtype),
                "a b": cf.StickyFilter(2, transitions=turning, dtype=dtype),
            },
        ),
        "heads": cf.MultiLabelFilter(
            {"2": ("walk", "sit", "run"), "a b": None, "1": ("up", "down")},
            {
                "2": cf.StickyFilter(3, stay=0.5 ** (1 / 9), prior=[0.5, 0.3, 0.2], dtype=dtype),
                "a b": cf.StickyFilter(2, transitions=turning, dtype=dtype),
                "1": cf.DirichletFilter(2, 0.8, temperature=1.3, dtype=dtype),
            },
        ),
        "alike": cf.MultiLabelFilter(
            {"b": ("up", "down"), "a": ("x", "y")},
            cf.StickyFilter(2, stay=0.5 ** (1 / 9), dtype=dtype),
        ),
    }


def pipe_of(f: Any) -> cf.Pipeline:
    """Return a pipeline whose sources have weights and channels for each head."""
    heads = cf.Pipeline(f).heads
    names = heads.names
    beta: Any = {"mic": {name: 0.2 + 0.1 * i for i, name in enumerate(names)}, "eye": 1.0}
    of_two = cf.Channel([[8, 2], [3, 7]], [0.8, 0.2])
    each: Any = {
        name: None if i == 1 else of_two if size == 2 else cf.Channel(np.eye(size) * 8 + 1)
        for i, (name, size) in enumerate(zip(names, heads.sizes, strict=True))
    }
    return cf.Pipeline(
        f, beta=beta, channel={"mic": each}, policy=Periodic(3, strong="eye", weak="mic")
    )


def test_a_filter_has_the_bits_of_the_filter_of_each_head() -> None:
    cases: list[Any] = []
    expected: list[Any] = []
    for dtype in ("float64", "float32"):
        for seed, f in enumerate(filters_of(dtype).values()):
            heads = cf.Pipeline(f).heads
            scores = scores_of(heads, seed)
            rng = np.random.default_rng(seed)
            for beta, dt in ((0.3, 2.0), (rng.random(ROWS), rng.choice([0.0, 1.0, 9.0], ROWS))):
                ways = [
                    x if isinstance(x, float) else node.encode(x.astype(dtype).astype(float))
                    for x in (beta, dt)
                ]
                case = {"config": file_of(cf.Pipeline(f)), "scores": node.encode(scores)}
                cases.append({"kind": "labels", **case, "beta": ways[0], "dt": ways[1]})
                stack, out = heads.stacked(scores.astype(dtype)), []
                for h, name in enumerate(heads.names):
                    one = cf.Pipeline(f).head(name).filter
                    rows = np.ascontiguousarray(stack[:, h, : heads.sizes[h]])
                    out.append(one.run(rows, beta, dt)[:, -len(heads.columns[h]) :])
                after = f.copy()
                after.run(scores, beta, dt)
                expected.append((np.concatenate(out, 1), after))
    for (out, f), result in zip(expected, node.run(cases), strict=True):
        for way in ("out", "updates", "byName"):
            assert node.same_bits(result[way], out), way
        assert node.same_bits(result["probs"], f.probs)
        assert result["label"] == list(f.label)
        assert result["same"]
        for text, numbers in zip(result["state"], f.state, strict=True):
            assert node.same_bits(text, numbers)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_tracker_has_weights_and_channels_of_labels(dtype: str) -> None:
    for seed, f in enumerate(filters_of(dtype).values()):
        pipe = pipe_of(f)
        rng = np.random.default_rng(seed)
        times = np.cumsum(rng.choice([0.0, 1.0, 40.0], ROWS))
        scores = [[None if np.isnan(s) else s for s in row] for row in scores_of(pipe.heads, 7)]
        rows: list[Any] = [
            [f"s{rng.integers(5)}", float(t), str(rng.choice(["mic", "eye"])), row]
            for t, row in zip(times, scores, strict=True)
        ]
        config = file_of(pipe)
        (result,) = node.run([{"kind": "tracker", "config": config, "rows": rows, "maxStreams": 4}])
        tracker = cf.Tracker(pipe, max_streams=4)
        for row, (source, text) in zip(rows, result["results"], strict=True):
            assert source == tracker.next_source(*row[:2])
            assert node.same_bits(text, tracker.update(*row))
        assert result["streams"] == tracker.streams
        assert result["labels"] == [list(tracker.label(name)) for name in tracker.streams]


TWO, THREE = {"classes": 2}, {"classes": 3}
SETTINGS: list[tuple[Any, Any]] = [
    ("ab", TWO),
    ([], TWO),
    (["a", "a"], TWO),
    (["a", "b"], THREE),
    (["a", "b"], 3),
    (["a", "b"], {"each": {"a": TWO}}),
    (["a"], {"each": {"b": TWO, "a": TWO}}),
    (["a", "b"], {"each": {"a": TWO, "b": {**TWO, "options": {"dtype": "float32"}}}}),
]
NAN = float("nan")
CALLS: list[tuple[str, Any, dict[str, Any]]] = [
    ("update", [0.5, 1.5], {}),
    ("update", [-0.5, NAN], {}),
    ("update", {"a": 0.5, "b": 50}, {}),
    ("update", [0.5], {}),
    ("update", 0.5, {}),
    ("update", "a", {}),
    ("update", [0.5, "b"], {}),
    ("update", {"a": 0.5}, {}),
    ("update", {"a": 0.5, "c": 0.5}, {}),
    ("update", [0.5, 0.5], {"beta": 2.5}),
    ("update", [0.5, 0.5], {"beta": [0.5, 1.5]}),
    ("update", [0.5, 0.5], {"dt": -1}),
    ("run", [0.5, 0.5], {}),
    ("run", [[0.5, 0.5], [0.5, 3.5]], {}),
    ("run", [[0.5, 0.5], [0.5, 0.3]], {"beta": [0.5, 5]}),
    ("run", [[0.5, 0.5], [0.5, 0.3]], {"dt": [0.5, -1]}),
    ("run", [{"a": 0.5, "b": 0.5}, {"a": 1}], {}),
]


def python_filter(given: Any) -> Any:
    if not isinstance(given, dict):
        return given
    if "each" in given:
        return {name: python_filter(one) for name, one in given["each"].items()}
    return cf.StickyFilter(given["classes"], **given.get("options", {}))


def test_rejected_as_in_python() -> None:
    cases = []
    for labels, given in SETTINGS:
        cases.append({"kind": "error", "name": "MultiLabelFilter", "args": [labels, given]})
        with pytest.raises((ValueError, TypeError)):
            cf.MultiLabelFilter(labels, python_filter(given))
    for method, scores, options in CALLS:
        made = {"kind": "error", "name": "MultiLabelFilter", "args": [["a", "b"], TWO]}
        cases.append({**made, "method": method, "call": [sent(scores), options]})
        f = cf.MultiLabelFilter(["a", "b"], cf.StickyFilter(2))
        with pytest.raises((ValueError, TypeError)):
            getattr(f, method)(scores, **options)
    results = node.run(cases)
    assert all(result["message"] for result in results)
    assert all(result["unchanged"] for result in results)
    named = dict(zip(map(str, CALLS), results[len(SETTINGS) :], strict=True))
    assert 'scores["b"] is 1.5;' in named[str(CALLS[0])]["message"]
    assert 'scores in row 1, class "b", is 3.5;' in named[str(CALLS[13])]["message"]


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    half: Any = {"probs": [0.5, 0.5]}
    states = [[half], [{"probs": [0.9, 0.1]}, {"probs": [0.5, 0.9]}]]
    made = {"kind": "error", "name": "MultiLabelFilter", "args": [["a", "b"], TWO]}
    cases = [{**made, "method": "state", "call": [state]} for state in states]
    short, invalid = node.run(cases)
    assert short["message"] == "state has 1 parts; it must have 2, one per label"
    assert "their sum must be within 1e-4 of 1" in invalid["message"]
    assert short["unchanged"]
    assert invalid["unchanged"]


def test_settings_that_do_not_fit_are_refused() -> None:
    two = {"filter": "sticky"}
    base = {"classes": ["a", "b"], "scores": "independent"}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({**base, "scores": "many"}, 'scores is "many"'),
        ({"classes": ["a", "b"], "labels": {"a": two, "b": two}}, "labels needs"),
        (
            {**base, "labels": {"a": two}},
            'labels has sections for ["a"], but classes is ["a", "b"]',
        ),
        ({**base, "labels": {"a": two, "b": {**two, "policy": {}}}}, "unknown key labels.b.policy"),
        ({**base, "labels": {"a": two, "b": {"filter": "x"}}}, 'labels.b: filter is "x"'),
        (
            {**base, "labels": {"a": {**two, "beta": {"mic": 1}}, "b": two}},
            'labels.b.beta has no weight for "mic"; add it',
        ),
        (
            {**base, "labels": {"a": {**two, "beta": 0.5}, "b": two}},
            "beta is one number for all sources, but not the same for all labels",
        ),
        (
            {**base, **two, "channel": {"mic": {"matrix": np.eye(3).tolist()}}},
            "channel.mic has 3 classes, but the filter has 2",
        ),
    ]
    cases = [{"kind": "error", "name": "load", "args": [config]} for config, _ in wrong]
    for (_, text), result in zip(wrong, node.run(cases), strict=True):
        assert text in result["message"]
