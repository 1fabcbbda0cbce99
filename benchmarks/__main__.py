"""Run all cases: ``python -m benchmarks``."""

from . import cases, events, harness, sticky, tracker

print(harness.machine())
cases.step()
# hmmlearn's time grows with K squared: fewer rows keep it short.
for classes, rows in ((6, 100_000), (2, 100_000), (20, 20_000), (100, 1_000)):
    cases.stream(rows, classes)
# So few rows that the competitors do not push each other's out of the cache.
for classes, rows in ((6, 2_000), (2, 5_000), (20, 1_000)):
    sticky.stream(rows, classes)
for streams, classes in ((10_000, 6), (10_000, 2), (2_000, 20), (500, 100)):
    cases.bank(streams, classes)
cases.scaling(6, [10**power for power in range(7)])
cases.few(6)
cases.threads(100_000, 6)
tracker.main()
events.main()
cases.algorithm_1()
cases.imports()
