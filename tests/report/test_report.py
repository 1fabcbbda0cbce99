"""The report as a file: what is in it, what is not, and that names stay text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.report.page import calibration, calibration_section
from classfilter.report.page_data import as_script, first_rows, page_data, playable
from classfilter.report.sections import (
    calls_section,
    confusions_section,
    matrix,
    sources_section,
    streams_section,
)
from classfilter.tuning import TuningRecord
from conftest import Run

report = import_module("classfilter.report.page")

HOSTILE = ["</script><img src=x onerror=alert(1)>", "\"'><u>\u2028{{data}}", "__proto__", "a\\b"]
ABCD = ["a", "b", "c", "d"]
SOURCES = ["<i>strong</i>", "constructor"]


class Page(HTMLParser):
    """The elements of a page, their attributes, and the text in each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        self.texts.append((self.inside, data))

    def all(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]

    @property
    def data(self) -> Any:
        return json.loads(next(text for text in self.all("script") if text.startswith("{")))


def streams(labels: bool = True, classes: Any = HOSTILE, sources: Any = SOURCES) -> list[cf.Rows]:
    """Return short streams of a strong and a weak source, with names that are not nice."""
    recs = []
    for seed in range(2):
        day = cf.simulate("plain", hours=1.5, seed=seed).rows()
        names = np.where(day.of_source("strong"), *sources)
        label = day.label if labels else None
        recs.append(
            cf.rows(time=day.time, source=names, probs=day.probs, classes=classes, label=label)
        )
    return recs


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = tmp_path_factory.mktemp("report") / "report.html"
    cf.report(dict(zip(HOSTILE, streams(), strict=False)), path, reference=SOURCES[0])
    assert path.stat().st_mode & 0o777 == 0o600  # it has rows of people in it
    return Page(path.read_text("utf-8"))


def test_names_are_text(page: Page) -> None:
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"img", "u", "i", "iframe", "object", "link", "base"}
    attributes = {name for _, attributes in page.elements for name in attributes}
    assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert page.data["classes"] == HOSTILE
    assert [stream["name"] for stream in page.data["streams"]] == HOSTILE[:2]
    cells = {*page.all("th"), *page.all("td")}
    assert {*HOSTILE, *SOURCES} <= cells | set(page.all("h3"))


def test_the_contents_lead_to_every_section(page: Page) -> None:
    places = [attributes["id"] for tag, attributes in page.elements if tag == "section"]
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert links == ["#main", *(f"#{place}" for place in places)]
    titles = [text for text in page.all("a")[1:] if text.strip()]
    assert titles == page.all("h2")
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_nothing_comes_from_outside(page: Page) -> None:
    for _, attributes in page.elements:
        assert not {"src", "srcset", "action"} & attributes.keys()
        assert (attributes.get("href") or "#").startswith("#")
    assert "@import" not in "".join(page.all("style"))
    assert "url(" not in "".join(page.all("style"))


def test_the_policy_names_what_runs(page: Page) -> None:
    (policy,) = [
        attributes["content"] or ""
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    (script,) = [text for text in page.all("script") if not text.startswith("{")]

    def hashed(text: str) -> str:
        digest = hashlib.sha256(text.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"

    assert set(rules["script-src"].split()) == {hashed(script), "'wasm-unsafe-eval'"}
    assert rules["style-src"] == hashed("".join(page.all("style")))


def test_data_end_no_script() -> None:
    hostile = {"names": [*HOSTILE, "<!--<script>", "\u2028\u2029"]}
    text = as_script(hostile)
    assert json.loads(text) == hostile
    assert not re.search("[<>&\u2028\u2029]", text)


def unpacked(text: str, dtype: str) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype)


def test_rows_are_embedded_to_the_bit() -> None:
    recs = streams(classes=ABCD, sources=["strong", "weak"])
    f = cf.DirichletFilter(["c", "a", "b", "d"], 0.97)
    tuned = cf.Pipeline(f, beta={"weak": 0.25, "strong": 1.0})
    data = page_data([("one", recs[0]), ("two", recs[1])], tuned)
    assert data["classes"] == ["c", "a", "b", "d"]
    assert data["zone"] is None
    for stream, rec in zip(data["streams"], recs, strict=True):
        assert unpacked(stream["time"], "<f8").tolist() == rec.time.tolist()
        np.testing.assert_array_equal(
            unpacked(stream["probs"], "<f8").reshape(-1, 4), rec.probs[:, [2, 0, 1, 3]]
        )
        names = np.array(["weak", "strong"])[unpacked(stream["source"], "<u2")]
        assert names.tolist() == rec.source_names.tolist()
        assert rec.label is not None
        labels = np.array(["c", "a", "b", "d"])[unpacked(stream["label"], "<i2")]
        assert labels.tolist() == np.array(ABCD)[rec.label].tolist()
    config = data["configs"][0]
    assert (config["options"]["gamma"], config["beta"]) == (0.97, {"weak": 0.25, "strong": 1.0})


def test_a_long_input_is_cut_and_the_page_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recs = streams(classes=ABCD, sources=["strong", "weak"])
    total = sum(map(len, recs))
    monkeypatch.setattr(report, "MAX_EMBEDDED", len(recs[0]) + 5)
    cf.report(recs, tmp_path / "r.html", cf.tune(recs, reference="strong"))
    page = Page((tmp_path / "r.html").read_text("utf-8"))
    text = " ".join(text for _, text in page.texts)
    assert f"{total:,} rows of 2 streams" in text
    assert f"the first {len(recs[0]) + 5:,} rows of 2 streams" in text
    sizes = [unpacked(stream["time"], "<f8").size for stream in page.data["streams"]]
    assert sizes == [len(recs[0]), 5]


def test_first_rows() -> None:
    rec = cf.rows(time=np.arange(10), source="weak", probs=np.full((10, 2), 0.5), classes=2)
    chosen = first_rows([("a", rec), ("empty", rec.take(slice(0, 0))), ("b", rec), ("c", rec)], 14)
    assert [(name, len(part)) for name, part in chosen] == [("a", 10), ("b", 4)]


def test_a_simple_rule_gives_its_place_to_a_filter() -> None:
    def settings(f: Any, smoother: Any = None) -> cf.Pipeline:
        beta = {"strong": 1.0}
        return cf.Pipeline(f, beta=beta, smoother=smoother)

    sticky = settings(cf.StickyFilter(2))
    assert playable(sticky) is sticky
    assert playable(settings(cf.HoldFilter(2), sticky)).settings == sticky.settings
    assert isinstance(playable(settings(cf.HoldFilter(2))).filter, cf.DirichletFilter)


# --- what it measures -----------------------------------------------------------------------


def test_with_labels_filtered_and_smoothed_rows_are_judged() -> None:
    probs = np.repeat([[0.62, 0.38], [0.9, 0.1]], [40, 50], axis=0)
    truth = np.concatenate([np.repeat([0, 1], [30, 10]), np.repeat([0, 1], [40, 9]), [-1]])
    rec = cf.rows(time=np.arange(90), source="only", probs=probs, classes=2, label=truth)
    curves = calibration([rec], [probs], "only", True, [probs[:, ::-1]])
    assert list(curves) == ["filtered", "smoothed", "only"]
    wrong = (40 * (0.62 - 0.25) + 49 * (0.9 - 9 / 49)) / 89
    assert curves["smoothed"].error == pytest.approx(wrong)
    for name in ("filtered", "only"):
        assert curves[name].error == pytest.approx((40 * 0.13 + abs(40 - 49 * 0.9)) / 89)


def test_the_table_of_calibration_leaves_out_bins_of_few_rows() -> None:
    probs = np.repeat([[0.62, 0.38], [0.9, 0.1], [1.0, 0.0]], [40, 50, 10], axis=0)
    rec = cf.rows(
        time=np.arange(100),
        source="only",
        probs=probs,
        classes=2,
        label=np.repeat([0, 1, 0], [30, 10, 60]),
    )
    raw = cf.Pipeline(cf.RawFilter(2), beta={"only": 1.0})
    html = calibration_section([rec], raw, "only", labelled=True)
    lines = [re.findall(r"<t[hd][^>]*>(.*?)</t", row) for row in html.split("<tr>")[1:]]
    assert lines[0] == ["probability", "filtered", "only"]
    assert [row[0] for row in lines[1:]] == ["60% to 67%", "87% to 93%", "calibration error"]
    assert [row[-1] for row in lines[1:3]] == ["75%", "100%"]


def test_without_labels_the_reference_judges_what_came_before() -> None:
    source = np.array(["weak", "weak", "strong", "weak", "strong"])
    probs = np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.6, 0.4], [0.1, 0.9]])
    rec = cf.rows(time=np.arange(5), source=source, probs=probs, classes=2)
    filtered = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9], [0.2, 0.8], [0.0, 1.0]])
    curves = calibration([rec], [filtered], "strong", labelled=False)
    assert list(curves) == ["filtered", "weak"]
    # strong says 1 in rows 2 and 4; before that, the filter has 0.5 for 0 and 0.8 for 1, and weak
    # has 0.8 for 1 and 0.6 for 0
    assert curves["filtered"].error == pytest.approx((0.5 + 0.2) / 2)
    assert curves["weak"].error == pytest.approx((0.2 + 0.6) / 2)


def test_confusions_by_hand() -> None:
    shares = matrix(np.array([[3.0, 1.0], [0.0, 0.0]]), ["a", "b"], "title")
    assert re.findall(r"<td( class=\"heat\d+\")?>(\d*)</td>", shares.split("<tbody>")[1]) == [
        (' class="heat7"', "75"), (' class="heat2"', "25"), ("", ""), ("", ""),
    ]  # fmt: skip


def settings(gamma: float = 0.9) -> cf.Pipeline:
    f = cf.DirichletFilter(ABCD, gamma, estimate="mean")
    beta = {"strong": 1.0, "weak": 0.1}
    record = TuningRecord("strong", "As it is.")
    return cf.Pipeline(f, beta=beta, channel=dict.fromkeys(beta), tuning=record)


def cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


@pytest.mark.parametrize("labelled", [True, False])
def test_calls_by_hand(labelled: bool) -> None:
    recs = streams(labelled, ABCD, ["strong", "weak"])
    html = calls_section(recs, settings(), labelled)
    rows = cells(html)[1:]
    hours = sum(rec.time[-1] - rec.time[0] for rec in recs) / 3600
    calls = sum((rec.of_source("strong")).sum() for rec in recs)
    assert [float(row[0]) for row in rows] == sorted(float(row[0]) for row in rows)
    assert float(rows[-1][0]) == pytest.approx(calls / hours, abs=0.06)
    if labelled:
        right = [cf.Pipeline.of(settings()).run(rec).argmax(1) == rec.label for rec in recs]
        assert float(rows[-1][1]) == pytest.approx(100 * np.concatenate(right).mean(), abs=0.06)
    else:
        assert rows[-1][1] == "100.0"  # all calls agree with all calls
        assert float(rows[0][1]) < 100


def test_calls_of_one_source() -> None:
    alone = [
        cf.rows(time=np.arange(50), source="strong", probs=np.full((50, 4), 0.25), classes=ABCD)
    ]
    assert "no choice of calls" in calls_section(alone, settings(), False)


def test_confusions_name_the_channel() -> None:
    recs = streams(False, ABCD, ["strong", "weak"])
    tuned = settings()
    tuned.channel["weak"] = cf.Channel(np.eye(4) + 1)
    html = confusions_section(recs, tuned, False)
    strong, weak = html.split("<h3>weak</h3>")
    assert "used as it is" in strong
    assert "through its channel" in weak
    assert "by the labels" not in html


# --- the function, the method and the command -------------------------------------------------


def test_too_little_data_is_said(tmp_path: Path) -> None:
    rec = cf.rows(
        time=np.arange(6), source="weak", probs=np.tile([0.6, 0.4], (6, 1)), classes=["a", "b"]
    )
    with pytest.warns(UserWarning, match="tuning needs"):
        cf.report(rec, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text("utf-8")
    assert "There is no comparison: there are too few predictions of" in text
    assert "<h2>Calibration</h2>" in text


def test_rows_of_one_time(tmp_path: Path) -> None:
    """At the end of each time the class is as before, so that there is no switch."""
    probs = np.tile([[0.9, 0.1], [0.1, 0.9]], (100, 1))
    rec = cf.rows(
        time=np.repeat(np.arange(100), 2),
        source=["weak", "strong"] * 100,
        probs=probs,
        classes=["a", "b"],
    )
    f = cf.RawFilter(["a", "b"])
    beta = {"weak": 1.0, "strong": 1.0}
    tuned = cf.Pipeline(f, beta=beta)
    html = streams_section([("one", rec)], tuned, False)
    assert cells(html)[-1] == ["one", "200", "0.0", "0.0", "0.0"]
    cf.report(rec, tmp_path / "r.html", tuned)


def test_tuned_settings_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recs = streams(True, ABCD, ["strong", "weak"])
    monkeypatch.setattr(report, "compare", lambda *args, **options: cf.compare)
    monkeypatch.setattr(report, "comparison_section", lambda comparison: "")
    cf.report(recs, tmp_path / "r.html", settings(0.97))
    text = (tmp_path / "r.html").read_text("utf-8")
    assert "As it is." in text
    assert Page(text).data["configs"][0]["options"]["gamma"] == 0.97


def test_the_command(run: Run) -> None:
    cf.write_table(cf.simulate("plain", hours=1.5, seed=0).rows().to_table(), "day.csv")
    code, out, err = run("report", "day.csv", "-o", "r.html", "--reference", "strong", "--quiet")
    assert (code, out, err) == (0, "r.html: open it in a browser\n", "")
    assert Path("r.html").read_text("utf-8").startswith("<!doctype html>")
    code, _, err = run("report", "day.csv", "-o", "r.pdf")
    assert code == 1
    assert "r.pdf" in err
    assert ".html" in err


def test_a_source_that_goes_wrong_is_in_it() -> None:
    days = [cf.simulate("plain", hours=6.0, seed=seed).rows() for seed in range(3)]
    tuned = cf.tune(days[:2], reference="strong")
    probs = days[2].probs.copy()
    probs[days[2].of_source("weak") & (days[2].time > 7200.0)] = [0.1, 0.7, 0.1, 0.1]
    broken = cf.rows(
        time=days[2].time, source=days[2].source_names, probs=probs, classes=days[2].classes
    )
    text = sources_section([("day <0>", days[0]), ("day <2>", broken)], tuned)
    assert "stuck on &#x27;class 1&#x27;" in text
    assert "day &lt;2&gt;" in text
    assert "Nothing was reported." in sources_section([("day 0", days[0])], tuned)
