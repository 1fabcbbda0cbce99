"""A filter as a folder of C files, for firmware: the same bits as here, in float32."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import numpy as np

from .._version import __version__
from ..filters import DirichletFilter, Filter, MultiLabelFilter, StickyFilter, default_concentration
from ..pipeline import DEFAULT_SOURCE, Pipeline, options
from ..policy import Adaptive, Periodic
from ..support.atomic import atomic_write
from ..support.types import Duration
from .golden import golden_header
from .header import channels_of, config_header, filters_of, is_tempered
from .rule import TICK, firmware_rules

MANIFEST = "classfilter.sha256"
"""The checksums of the files, which sha256sum reads too: it says which of them were exported."""
FIRMWARE = Path(__file__).parent / "firmware"
"""A folder laid out as the export."""
CORE = Path(__file__).parents[1] / "csrc"
HEADERS = (
    "cf.h",
    "cf_port.h",
    "cf_real.h",
    "cf_vec.h",
    "coefficients.h",
    "special.h",
    "special_of.h",
    "status.c",
    "table.h",
    "validate.h",
)
DIRICHLET = tuple(f"dirichlet_{part}.h" for part in ("memory", "numbers", "search", "update"))
EVENTS = ("confirm.h", "f32.c", "impl.h", "path.h", "report.h", "state.h", "ticks.h", "time.h")
"""The files of the rule for events."""


def in_float32(pipe: Pipeline) -> Pipeline:
    """Return the same settings, in float32, the firmware's precision."""
    policy = pipe.policy
    if isinstance(policy, Adaptive):
        policy = Adaptive(**policy._options | {"dtype": np.float32})
    return Pipeline(_filter_in_float32(pipe), beta=pipe.beta, channel=pipe.channel, policy=policy)


def _single(f: Filter) -> Filter:
    kind = type(f)
    if kind not in (DirichletFilter, StickyFilter):
        raise ValueError(
            f"filter is {kind.__name__}; only a DirichletFilter and a StickyFilter have a C core: "
            'give one, such as tune(..., filter="sticky") finds with enough data'
        )
    settings = options(f) | {"dtype": "float32"}
    if isinstance(f, DirichletFilter):
        given = settings["max_concentration"]
        if given == default_concentration(settings["floor"], len(f.classes), single=False):
            settings["max_concentration"] = None
    single: Filter = kind(f.classes, **settings)
    return single


def _filter_in_float32(pipe: Pipeline) -> Filter:
    heads = pipe.heads
    if heads.is_exclusive:
        return _single(pipe.filter)
    by_itself = "export each label by itself, pipeline.head(label)"
    if isinstance(pipe.policy, Adaptive):
        raise ValueError(
            "policy is Adaptive, which is for classes that exclude each other; give Periodic, or "
            + by_itself
        )
    filters = dict(zip(heads.names, map(_single, filters_of(pipe)), strict=True))
    kinds = sorted({type(f).__name__ for f in filters.values()})
    if len(kinds) > 1:
        raise ValueError(
            f"the labels have filters of {kinds}; give all the same kind, or {by_itself}"
        )
    return MultiLabelFilter(heads.layout, filters)


def export(
    filter: Filter | Pipeline,  # noqa: A002
    folder: str | Path,
    name: str = "a filter",
    *,
    tick: Duration = TICK,
    step: Duration | None = None,
) -> list[Path]:
    """Write the C files of a filter; they compile anywhere, and their self-test compares bits.

    Parameters
    ----------
    filter : DirichletFilter, StickyFilter, MultiLabelFilter of one of them, or Pipeline
        The filter; a pipeline brings the weights of its sources, their channels, a policy and a
        rule for events. Without named weights there is one source, ``default``.
    folder : str or Path
        The folder to write to; it is created if needed. Files that an earlier export wrote there
        are replaced, or removed where this one has none of their name; if others have the same
        names, it is an error, and nothing is written.
    name : str
        The origin of the settings, for a comment.
    tick : duration
        The unit of the clock that the device has for events, a millisecond by default. Durations of
        the rule that are no whole number of ticks are rounded, with a warning.
    step : duration, optional
        The shortest time between two rows. It saves memory where the longest minimum duration of
        the rule spans fewer than 64 of them.

    Returns
    -------
    list of Path
        The files written.

    Examples
    --------
    >>> import tempfile
    >>> f = StickyFilter(["walk", "sit"], stay=0.99)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted({path.relative_to(folder).parts[0] for path in export(f, folder)})
    ... # doctest: +NORMALIZE_WHITESPACE
    ['CMakeLists.txt', 'LICENSE', 'Makefile', 'classfilter.sha256', 'example.c', 'examples',
     'idf_component.yml', 'library.json', 'library.properties', 'src', 'zephyr']
    """
    pipe = Pipeline.of(filter)
    rules = firmware_rules(pipe, tick, step)
    config = in_float32(pipe)
    if not isinstance(config.beta, dict):
        config = Pipeline.of(config, beta={DEFAULT_SOURCE: config.beta})
    for source in channels_of(config):
        if source not in config.beta:
            raise ValueError(
                f"channel.{source} has no weight; add {source} to beta, or leave its channel out"
            )
    if not isinstance(config.policy, (Adaptive, Periodic, type(None))):
        raise ValueError(
            f"policy is {config.policy!r}; only Adaptive and Periodic have a C version: leave it "
            "out"
        )
    texts = _firmware() | {
        f"src/core/{_name(file)}": (CORE / file).read_text()
        for file in core_files(config, any(rules))
    }
    texts["src/cf_config.h"] = config_header(config, name, rules)
    texts["src/cf_golden.h"] = golden_header(config, rules)
    earlier = _check_folder(Path(folder), texts)
    texts[MANIFEST] = "".join(f"{_sha256(text)}  {file}\n" for file, text in texts.items())
    written = []
    for file, text in texts.items():
        path = Path(folder) / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as out:
            out.write(text.encode())
        written.append(path)
    for path in earlier:
        path.unlink()
    return written


def _firmware() -> dict[str, str]:
    """Return the files of FIRMWARE, by their path in the export."""
    files = sorted(path for path in FIRMWARE.rglob("*") if path.is_file())
    return {
        path.relative_to(FIRMWARE).as_posix(): path.read_text().replace("@VERSION@", __version__)
        for path in files
    }


def _name(file: str) -> str:
    """Return the name of a file of the core in the export.

    classfilter.c includes the files of a precision. As headers, no builder compiles them again.
    """
    return file.replace("_f32.c", "_f32.h")


def _check_folder(folder: Path, texts: dict[str, str]) -> list[Path]:
    """Raise if the folder has files of these names that are neither the same nor exported.

    Return the other files of an earlier export, as they were written: a build that still compiles
    one of them would have the earlier settings.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; give a folder, or the name of a new one")
    exported: dict[str, str] = {}
    with suppress(FileNotFoundError):
        lines = (folder / MANIFEST).read_text(errors="replace").splitlines()
        exported = {file: digest for digest, _, file in (line.partition("  ") for line in lines)}
    others: list[str] = []
    earlier: list[Path] = []
    for file in {**texts, **exported}:
        path = folder / file
        if not path.is_file():
            others += _in_the_way(folder, file) if file in texts else []
            continue
        there = _sha256(path.read_bytes())
        if file in texts:
            others += [file] if there not in (_sha256(texts[file]), exported.get(file)) else []
        elif there == exported[file] and path.resolve().is_relative_to(folder.resolve()):
            earlier.append(path)
    if others:
        names = ", ".join(dict.fromkeys(others))
        raise ValueError(
            f"{folder} has other files, or changed ones, with the names of the export: {names}; "
            "move them away, or write to another folder"
        )
    return earlier


def _in_the_way(folder: Path, file: str) -> list[str]:
    """Return what is in the place of a file, or of a folder above it."""
    above = [str(part) for part in Path(file).parents[:-1] if (folder / part).is_file()]
    return [file, *above] if (folder / file).exists() else above


def _sha256(text: str | bytes) -> str:
    return sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def core_files(config: Pipeline, events: bool = False) -> list[str]:
    """Return the files of the core that the settings need, and perhaps a rule for events."""
    dirichlet = isinstance(filters_of(config)[0], DirichletFilter)
    parts = ["dirichlet" if dirichlet else "sticky"]
    parts += ["channel"] if channels_of(config) else []
    parts += ["temper"] if is_tempered(config) else []
    parts += ["policy_adaptive"] if isinstance(config.policy, Adaptive) else []
    files = [*HEADERS, *(f"{part}{end}" for part in parts for end in ("_impl.h", "_f32.c"))]
    files += DIRICHLET if dirichlet else ("sticky_time.h",)
    return [*files, *(f"events_{part}" for part in EVENTS if events)]
