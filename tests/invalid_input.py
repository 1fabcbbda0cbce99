"""Invalid rows, weights and times, which every filter rejects."""

NAN, INF = float("nan"), float("inf")
VALID_ROW = [0.2, 0.3, 0.5]

INVALID_ROWS = [
    [0.5, 0.5],
    [0.7, -0.2, 0.5],
    [0.5, 0.5, INF],
    [NAN, 0.5, 0.5],
    [0.5, 0.5, 0.5],
    [0.2, 0.2, 0.5],
]
INVALID_NUMBERS = [
    ("beta", 1.5),
    ("beta", -0.1),
    ("beta", NAN),
    ("dt", -1.0),
    ("dt", INF),
    ("dt", NAN),
]
