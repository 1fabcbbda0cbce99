"""Settings as TOML in JavaScript: what Python writes is read, and what is written Python reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import classfilter as cf
import node_cases as node
from classfilter.chain._settings import to_toml
from classfilter.chain._toml import parse
from classfilter.embedded._json import to_json
from classfilter.policy import Adaptive

NAMES = [
    "walk",
    "a b",
    'quote " \\ back',
    "line\nend\ttab",
    "\x7f\x00",
    "日本 😀",
    "__proto__",
    "'",
    "#",
]
FILTERS: list[Any] = [
    cf.DirichletFilter(
        NAMES, half_life=7.3, temperature=1.3, floor=1e-5, prior=np.arange(1, 10) / 3
    ),
    cf.DirichletFilter(3, 0.1 + 0.2, estimate="mean", bounded=False, dtype="float32"),
    cf.DirichletFilter([7, "x", -2], max_concentration=12345678.0, anchor=1e-300, floor=1e-9),
    cf.StickyFilter(NAMES, half_life=1e5),
    cf.StickyFilter(2, stay=0.25, prior=[0.3, 0.7], floor=0.01, dtype="float32"),
]


def chain_of(filter_: Any) -> cf.Chain:
    K = len(filter_.classes)
    rng = np.random.default_rng(K)
    beta = dict(zip(NAMES, rng.random(9).tolist(), strict=True))
    channel = {
        name: cf.Channel(rng.random((K, K)) + np.eye(K), rng.random(K)) for name in NAMES[1::3]
    }
    return cf.Chain(filter_, beta=beta, channel=channel)


def test_python_and_javascript_read_each_other() -> None:
    texts = [to_toml(chain_of(f).settings) for f in FILTERS]
    results = node.run([{"kind": "toml", "config": text} for text in texts])
    for f, result in zip(FILTERS, results, strict=True):
        chain = chain_of(f)
        assert result["classes"] == list(f.classes)
        assert result["sources"] == chain.sources
        assert parse(result["text"]).settings == chain.settings


HEAD = 'classes = ["a", "b"]\nfilter = "sticky"\n'
RULES = [
    cf.EventRule(),
    cf.EventRule("30s", min_duration={"a b": 2.5}, ignore=["walk", "'"], pad=(0.5, 1e-7)),
    cf.EventRule({name: i / 3 for i, name in enumerate(NAMES)}),
    cf.EventRule(
        1e22, leave_cost={"#": 1.0}, merge_gap=0.0, bias={"日本 😀": -1.0}, evidence="log",
        min_probability=0.3, shift="500ms", max_gap=60, max_duration="1h", max_delay=30.0,
    ),
]  # fmt: skip
EXPECTED: dict[str, Any] = {"interval": 5.0, "missing": 0.0, "agreement": 0.5, "longest_gap": 1e30}
EXPECTED |= {"shares": [1 / 9] * 9, "longest_runs": [0.0] * 9, "longest_disagreement": 1.5}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_comes_back_with_the_bytes_of_python(rule: cf.EventRule) -> None:
    expected: Any = {"a b": EXPECTED}
    smoother = cf.Chain(cf.StickyFilter(NAMES), rule=replace(rule, change_cost=7.0, shift=0.25))
    chain = cf.Chain(
        cf.StickyFilter(NAMES, half_life=3.0), beta={"a b": 0.5}, rule=rule, smoother=smoother,
        expected=expected,
    )  # fmt: skip
    text = to_toml(chain.settings_and_expected)
    assert "[smoother.events]" in text
    (result,) = node.run([{"kind": "toml", "config": text}])
    assert result["text"] == text


def test_a_rule_comes_from_json() -> None:
    chain = cf.Chain(cf.StickyFilter(NAMES), rule=RULES[1])
    (result,) = node.run([{"kind": "toml", "config": to_json(chain)}])
    assert parse(result["text"]).rule == RULES[1]


def test_a_rule_of_labels() -> None:
    f = cf.MultiLabelFilter(["robin", "wren"], cf.StickyFilter(2))
    rule = cf.EventRule(2.0, merge_gap={"wren": 3.0})
    text = to_toml(cf.Chain(f, rule=rule).settings)
    (result,) = node.run([{"kind": "toml", "config": text}])
    assert result["text"] == text


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("min_duration = -2.5", "events: minDuration is -2.5; it must not be negative, and finite"),
        ("merge_gap = {a = 1}", "line 4: a value is a number, text in quotes"),
        ("ignore = ['a', 'b']", "events: ignore has all classes; leave one of them out"),
        ("cost = 1", "events: unknown option cost; EventRule has changeCost, leaveCost"),
        ("[events.merge_gap]\na = 1.0", "but the classes exclude each other; only several labels"),
        ("[events.bias]\nc = 1.0", "events: bias names 'c'; the classes are ['a', 'b']"),
    ],
)
def test_a_wrong_rule_is_refused(section: str, message: str) -> None:
    (result,) = node.run([{"kind": "toml", "config": f"{HEAD}[events]\n{section}"}])
    assert message in result["message"]


def test_a_filter_from_toml_has_the_bits_of_python() -> None:
    rng = np.random.default_rng(0)
    for f in FILTERS:
        probs = rng.dirichlet(np.ones(len(f.classes)), 50)
        case = {"kind": "filter", "config": to_toml(cf.Chain(f).settings), "dt": 2.0, "beta": 0.3}
        (result,) = node.run([{**case, "probs": node.encode(probs)}])
        fresh = f.copy()
        assert node.same_bits(result["out"], fresh.run(probs.astype(f.dtype), 0.3, 2.0))


def test_a_policy_from_toml() -> None:
    policy = Adaptive(budget=2.0, cost={"weak": 1.0, "strong": 40.0})
    text = to_toml(cf.Chain(cf.DirichletFilter(2), policy=policy).settings)
    (result,) = node.run([{"kind": "toml", "config": text}])
    assert parse(result["text"]).policy is None  # only the sources are written
    bad = text.replace("budget = 2.0", "budget = -2.0")
    (result,) = node.run([{"kind": "toml", "config": bad}])
    assert result["message"].startswith("policy: budget is -2;")


def test_what_people_write() -> None:
    text = (
        "\ufeff# settings\r\nclasses = [ 'a', # one\r\n  \"b\\u00e9\\U0001F600\",\r\n]\r\n"
        'filter="dirichlet" # kind\n\n[options]\ngamma = +9_0e-0_2\nfloor=1E-4\nbounded = true\n'
        '[ beta ]\n"weak one" = 0.5\nstrong = 1\n[channel . "weak one"]\nmatrix=[[2, 1],[1,\n2]]\n'
    )
    (result,) = node.run([{"kind": "toml", "config": text}])
    ours, theirs = parse(result["text"]), parse(text.removeprefix("\ufeff"))
    assert ours.settings == theirs.settings
    assert list(ours.classes) == ["a", "bé😀"]
    assert ours.beta == {"weak one": 0.5, "strong": 1.0}


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("[options]\nstay = 0.9 0.8", "line 4: something follows; give it a line of its own"),
        ("[options]\nstay = 0.9\nstay = 0.8", "line 5: stay is there twice"),
        ("[beta]\n[beta]", "line 4: the section [beta] is there twice"),
        ("[beta\nweak = 1", "line 3: ']' is missing: a title such as [options]"),
        ("[[beta]]", "line 3: a key is letters, digits, _ and -, or text in quotes"),
        ("[options]\nstay = 1979-05-27", "line 4: a value is a number, text in quotes"),
        ("[options]\nstay = inf", "line 4: a value is a number, text in quotes"),
        ("[options]\nstay = 0.9.1", "line 4: a value is a number, text in quotes"),
        ("[options]\nstay = 07", "line 4: a value is a number, text in quotes"),
        ("[options]\nstay = {a = 1}", "line 4: a value is a number, text in quotes"),
        ("[options]\nprior = [0.5 0.5]", "line 4: ']' is missing: a list has commas"),
        ('[options]\ndtype = "float64', "line 4: text ends in the same line"),
        ('[options]\ndtype = """float64"""', "line 4: text has no triple quotes here"),
        ('[options]\ndtype = "\\q"', "line 4: \\q is no escape"),
        ('[options]\ndtype = "\\ud800"', "line 4: \\ud800 is no escape"),
        ("[options]\nstay", "line 4: '=' is missing: a key, then = and a value"),
        ("[filter]\nx = 1", "line 3: filter is a value and a section"),
        ("[other]\nstay = 0.9", "unknown key other; there are classes, scores, filter, options"),
    ],
)
def test_errors_name_the_line(rest: str, message: str) -> None:
    (result,) = node.run([{"kind": "toml", "config": HEAD + rest}])
    assert message in result["message"]


def test_transitions_need_what_python_prepares() -> None:
    chain = cf.Chain(cf.StickyFilter(2, transitions=[[0.9, 0.1], [0.2, 0.8]]))
    toml, json = node.run(
        [{"kind": "toml", "config": text} for text in (to_toml(chain.settings), to_json(chain))]
    )
    assert "classfilter export --json" in toml["message"]
    assert parse(json["text"]).settings == chain.settings
