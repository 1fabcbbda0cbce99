"""The report on several labels at once: its tables, and what it rejects."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from sklearn.metrics import precision_recall_fscore_support

import classfilter as cf
from classfilter.report.page import labels_section
from label_report import LABELS, label_recordings, label_settings


def rows_of(html: str) -> list[list[str]]:
    lines = re.findall(r"<tr>(.*?)</tr>", html)
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line) for line in lines]


def test_the_table_of_labels_has_the_scores_of_scikit_learn() -> None:
    recs, tuned = list(label_recordings().values()), label_settings()
    _, *lines, average = rows_of(labels_section(recs, tuned, labelled=True))
    assert [line[0] for line in lines] == ["&lt;u&gt;robin&lt;/u&gt;", *LABELS[1:]]
    scores = []
    for k, line in enumerate(lines):
        truth = np.concatenate([rec.label[:, k] for rec in recs])  # type: ignore[index]
        on = np.concatenate([tuned.run(rec)[:, k] > 0.5 for rec in recs])
        judged = truth >= 0  # where a label was not observed, its last prediction holds
        assert line[2] == f"{100 * on.mean():.1f}\u00a0%"
        p, r, f1, _ = precision_recall_fscore_support(truth[judged], on[judged], average="binary")
        assert line[6:] == [f"{100 * x:.1f}\u00a0%" for x in (p, r, f1)]
        scores.append(f1)
    assert average[0] == "average"
    assert average[-1] == f"{100 * np.mean(scores):.1f}\u00a0%"


def test_a_report_is_written(tmp_path: Path) -> None:
    cf.report(label_recordings(), tmp_path / "labels.html", label_settings())
    text = (tmp_path / "labels.html").read_text()
    for title in ("The labels", "Each label by itself", "The settings"):
        assert f"<h2>{title}</h2>" in text
    assert "400 rows of 2 streams, with 3 labels, of which several may be true at once." in text
    assert "<u>robin" not in text.replace("\\u003c", "")
    assert text.count("<details><summary>") == 3


def test_settings_without_named_weights(tmp_path: Path) -> None:
    pipe = cf.Pipeline(cf.MultiLabelFilter(LABELS, cf.StickyFilter(2)), beta=0.5)
    cf.report(label_recordings(), tmp_path / "labels.html", pipe)
    assert "<td>mic</td>" in re.sub(" class=.[a-z]*.", "", (tmp_path / "labels.html").read_text())


def test_a_recording_and_a_pipe_in_a_notebook() -> None:
    rec = label_recordings()["wood"]
    html = rec._repr_html_()
    header, *lines = rows_of(html)
    assert header == ["class", "truth", "eye", "mic"]
    assert lines[0][:2] == ["&lt;u&gt;robin&lt;/u&gt;", "90"]
    assert int(lines[2][3]) == ((rec.probs[:, 2] > 0.5) & (rec.of_source("mic"))).sum()
    weights = rows_of(label_settings()._repr_html_())
    assert weights == [
        ["source", "weight", "channel"],
        ["mic", "0.2 to 1", "yes"],
        ["eye", "1", "no"],
    ]
