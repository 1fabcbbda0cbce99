"""Invalid rows, weights and times, with the error that every filter raises for them."""

NAN, INF = float("nan"), float("inf")
VALID_ROW = [0.2, 0.3, 0.5]

INVALID_ROWS = [  # row, message of one update, message where it is row 2 of a run
    ([0.5, 0.5], r"probs has 2 entries, but the filter has 3 classes", None),
    ([0.7, -0.2, 0.5], r"probs\[1\] is -0\.2; .* not be negative", r"probs\[2, 1\] is -0\.2"),
    ([0.5, 0.5, INF], r"probs\[2\] is inf; .* finite", r"probs\[2, 2\] is inf"),
    ([NAN, 0.5, 0.5], r"probs\[0\] is nan .* row of NaN only", r"probs\[2, 0\] is nan"),
    ([0.5, 0.5, 0.5], r"probs sums to 1\.5; .* normalise", r"probs in row 2 sums to 1\.5"),
    ([0.2, 0.2, 0.5], r"probs sums to 0\.9", r"probs in row 2 sums to 0\.9"),
]
INVALID_NUMBERS = [  # argument and value, message of one update or of row 2 of a run
    ({"beta": 1.5}, r"beta( in row 2)? is 1\.5; it must lie in \[0, 1\]"),
    ({"beta": -0.1}, r"beta( in row 2)? is -0\.1"),
    ({"beta": NAN}, r"beta( in row 2)? is nan"),
    ({"dt": -1.0}, r"dt( in row 2)? is -1\.0; .* order of time"),
    ({"dt": INF}, r"dt( in row 2)? is inf; it must lie in"),
    ({"dt": NAN}, r"dt( in row 2)? is nan"),
]
