"""Metrics over time in plain loops, row by row."""


def slow_delays(
    truth: list[int], pred: list[int], time: list[float], gap: float, step: float
) -> tuple[list[float], int]:
    """Return the delay from each true change to the first correct row, and how many are missed."""
    delays, missed, T = [], 0, len(truth)

    def continues(t: int) -> bool:  # from row t to row t + 1
        return t + 1 < T and truth[t] >= 0 and truth[t + 1] >= 0 and time[t + 1] - time[t] <= gap

    for t in range(1, T):
        if not (continues(t - 1) and truth[t] != truth[t - 1]):
            continue
        u = t
        while pred[u] != truth[t]:
            if not continues(u):
                delays.append(time[u] + step - time[t])
                missed += 1
                break
            u += 1
            if truth[u] != truth[t]:
                delays.append(time[u] - time[t])
                missed += 1
                break
        else:
            delays.append(time[u] - time[t])
    return delays, missed


def slow_switches(
    truth: list[int], pred: list[int], time: list[float], gap: float
) -> tuple[int, float]:
    """Count changes and seconds over the pairs of labelled neighbours."""
    changes, seconds = 0, 0.0
    for a in range(len(pred) - 1):
        b = a + 1
        if truth[a] >= 0 and truth[b] >= 0 and time[b] - time[a] <= gap:
            changes += pred[a] != pred[b]
            seconds += time[b] - time[a]
    return changes, seconds


def slow_reliability(
    truth: list[int], probs: list[list[float]], bins: int = 15
) -> list[tuple[int, float, float]]:
    """Return the rows of each bin of the largest probability, and its and their accuracy's sums."""
    table = []
    for b in range(bins):
        rows = [(y, p) for y, p in zip(truth, probs, strict=True) if y >= 0]
        rows = [(y, p) for y, p in rows if b / bins < max(p) <= (b + 1) / bins]
        right = sum(p.index(max(p)) == y for y, p in rows)
        table.append((len(rows), sum(max(p) for _, p in rows), float(right)))
    return table


def slow_calibration_error(truth: list[int], probs: list[list[float]], bins: int = 15) -> float:
    """Return the expected calibration error."""
    table = slow_reliability(truth, probs, bins)
    return sum(abs(right - sure) for _, sure, right in table) / sum(rows for rows, *_ in table)
