"""A filter as a folder of C files, for firmware: the same bits as here, in float32."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from .._support.atomic import atomic_write
from .._version import __version__
from ..chain._chain import DEFAULT_SOURCE, Chain
from ..chain._settings import options
from ..filters._base import Filter
from ..filters._dirichlet import DirichletFilter
from ..filters._sticky import StickyFilter
from ..policy import Adaptive, Periodic
from ._golden import golden_header

MANIFEST = "classfilter.sha256"
"""The checksums of the files, which sha256sum reads too: it says which of them were exported."""
FIRMWARE = Path(__file__).parent / "firmware"
CORE = Path(__file__).parents[1] / "csrc"
HEADERS = (
    "cf.h",
    "cf_port.h",
    "cf_real.h",
    "coefficients.h",
    "polygamma.h",
    "status.c",
    "table.h",
    "validate.h",
)


def in_float32(chain: Chain) -> Chain:
    """Return the same settings, in float32, the firmware's precision."""
    f = chain.filter()
    kind = type(f)
    if kind not in (DirichletFilter, StickyFilter):
        raise ValueError(
            f"filter is {kind.__name__}; only a DirichletFilter and a StickyFilter have a C core"
        )
    policy = chain.policy
    if isinstance(policy, Adaptive):
        policy = Adaptive(**policy._options | {"dtype": np.float32})
    single = kind(f.classes, **options(f) | {"dtype": "float32"})
    return Chain(single, beta=chain.beta, channel=chain.channel, policy=policy)


def export(
    filter: Filter | Chain,  # noqa: A002
    folder: str | Path,
    name: str = "a filter",
) -> list[Path]:
    """Write the C files of a filter; they compile anywhere, and their self-test compares bits.

    Parameters
    ----------
    filter : DirichletFilter, StickyFilter or Chain
        The filter; a chain brings the weights of its sources, their channels and a policy. Without
        named weights there is one source, ``default``.
    folder : str or Path
        The folder to write to; it is created if needed. Files that an earlier export wrote there
        are replaced; if others have the same names, it is an error, and nothing is written.
    name : str
        The origin of the settings, for a comment.

    Returns
    -------
    list of Path
        The files written.

    Examples
    --------
    >>> import tempfile
    >>> f = StickyFilter(["walk", "sit"], stay=0.99)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.name for path in export(f, folder) if path.parent.name != "core")
    ... # doctest: +NORMALIZE_WHITESPACE
    ['CMakeLists.txt', 'LICENSE', 'Makefile', 'cf_config.h', 'classfilter.c', 'classfilter.h',
     'classfilter.sha256', 'example.c', 'golden.h', 'library.json', 'selftest.c', 'selftest.h']
    """
    chain = Chain.of(filter)
    if chain.rule is not None:
        warnings.warn(
            "the rule for events is not exported: the firmware has the filter only. Pass its "
            "results to cf_events_update, or decide events from a log.",
            stacklevel=2,
        )
    config = in_float32(chain)
    if not isinstance(config.beta, dict):
        config = Chain.of(config, beta={DEFAULT_SOURCE: config.beta})
    for source in channels_of(config):
        if source not in config.beta:  # type: ignore[operator]
            raise ValueError(
                f"channel.{source} has no weight; add {source} to [beta], or leave its channel out"
            )
    if not isinstance(config.policy, (Adaptive, Periodic, type(None))):
        raise ValueError(
            f"policy is {config.policy!r}; only Adaptive and Periodic have a C version: leave it "
            "out"
        )
    texts = {f"core/{file}": (CORE / file).read_text() for file in core_files(config)}
    for path in FIRMWARE.iterdir():
        texts[path.name] = path.read_text()
    texts["library.json"] = texts["library.json"].replace("VERSION", __version__)
    texts["cf_config.h"] = config_header(config, name)
    texts["golden.h"] = golden_header(config)
    _check_folder(Path(folder), texts)
    texts[MANIFEST] = "".join(f"{_sha256(text)}  {file}\n" for file, text in texts.items())
    written = []
    for file, text in texts.items():
        path = Path(folder) / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as out:
            out.write(text.encode())
        written.append(path)
    return written


def _check_folder(folder: Path, texts: dict[str, str]) -> None:
    """Raise if the folder has files of these names that are neither the same nor exported."""
    exported: set[str] = set()
    with suppress(FileNotFoundError):
        exported.update((folder / MANIFEST).read_text(errors="replace").splitlines())
    others = []
    for file, text in texts.items():
        with suppress(FileNotFoundError):
            there = _sha256((folder / file).read_bytes())
            if there != _sha256(text) and f"{there}  {file}" not in exported:
                others.append(file)
    if others:
        names = ", ".join(others)
        raise ValueError(
            f"{folder} has other files, or changed ones, with the names of the export: {names}; "
            "move them away, or write to another folder"
        )


def _sha256(text: str | bytes) -> str:
    return sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def channels_of(chain: Chain) -> list[str]:
    """Return the sources that have a channel."""
    return [name for name, channel in chain.channel.items() if channel is not None]


def core_files(config: Chain) -> list[str]:
    """Return the files of the core that the settings need."""
    dirichlet = isinstance(config.filter(), DirichletFilter)
    parts = ["dirichlet" if dirichlet else "sticky"]
    parts += ["channel"] if channels_of(config) else []
    parts += ["policy_adaptive"] if isinstance(config.policy, Adaptive) else []
    files = [*HEADERS, *(f"{part}{end}" for part in parts for end in ("_impl.h", "_f32.c"))]
    own = ("dirichlet_bound.h", "dirichlet_mode.h", "dirichlet_rows.h")
    return [*files, *(own if dirichlet else ("sticky_time.h",))]


def config_header(config: Chain, name: str) -> str:
    """Return the header with all settings as constants."""
    f = config.filter()
    assert isinstance(config.beta, dict)
    K, sources = len(f.classes), list(config.beta)
    lines = [
        f"/* Written by classfilter {__version__} from {_comment(name)}; do not edit. */",
        "#ifndef CF_CONFIG_H",
        "#define CF_CONFIG_H",
        "",
        "#undef CF_SMALL",
        "#define CF_SMALL",
        f"#define CF_CLASSES {K}",
        f"#define CF_CLASS_NAMES {{{', '.join(_text(str(c)) for c in f.classes)}}}",
        f"enum {{ {', '.join(_names('CF_CLASS', f.classes))} }};",
        f"#define CF_SOURCES {len(sources)}",
        f"enum {{ {', '.join(_names('CF_SOURCE', sources))} }};",
    ]
    if set(config.beta.values()) <= {0.0, 1.0}:
        lines += ["#define CF_UNIT_WEIGHTS"]
    lines += _dirichlet(f) if isinstance(f, DirichletFilter) else _sticky(f)
    lines += [_table("beta", list(config.beta.values()))]
    macros = []
    if channels_of(config):
        lines += _channels(config, sources)
        macros += ["#define CF_CHANNELS"]
    if config.policy is not None:
        macros += _policy_macros(config.policy, sources)
        lines += _policy_table(config.policy)
    lines += ["#endif", ""]
    # The macros come before the core's header, which the tables need.
    at = lines.index("TABLES")
    lines[at : at + 1] = [*macros, "", "#ifdef CF_TABLES", '#include "core/cf.h"', ""]
    return "\n".join([*lines, "#endif", ""])


def _dirichlet(f: DirichletFilter) -> list[str]:
    settings = options(f)
    anchored = settings["anchor"] > 0
    state = [settings["prior_weight"], *settings["prior"]]
    lines = ["#define CF_DIRICHLET", "#define CF_NO_RATES", "TABLES"]
    if anchored:
        of_weight_one = DirichletFilter(f.classes, **settings | {"prior_weight": 1.0})
        lines += [_table("prior_nu", of_weight_one.nu)]
    log_gamma = _core.log(np.array([f.gamma], np.float32))[0] if np.float32(f.gamma) > 0 else 0.0
    numbers = [f.gamma, settings["floor"], settings["anchor"], settings["max_concentration"]]
    fields = [
        "CF_CLASSES",
        *map(_number, numbers),
        str(int(settings["estimate"] == "mean")),
        _number(settings["tolerance"]),
        str(int(settings["bounded"])),
        _number(log_gamma),
        _number(f._bound),
        "cf_config_prior_nu" if anchored else "NULL",
    ]
    return [
        *lines,
        _table("start", state),
        f"static const cf_dirichlet_f32 cf_config_filter = {{{', '.join(fields)}}};",
    ]


def _sticky(f: StickyFilter) -> list[str]:
    log_stay, fastest, table, rates = f._prepared
    lines = ["#define CF_RATES" if rates is not None else "#define CF_NO_RATES", "TABLES"]
    if rates is not None:
        lines += [_table("rates", rates)]
    fields = [
        "CF_CLASSES",
        _number(1.0 if f.stay is None else f.stay),
        _number(f.floor),
        "NULL" if rates is None else "cf_config_rates",
        _number(log_stay),
        _number(fastest),
        "cf_config_table",
    ]
    return [
        *lines,
        _table("table", table),
        "#define cf_config_start cf_config_table",
        f"static const cf_sticky_f32 cf_config_filter = {{{', '.join(fields)}}};",
    ]


def _channels(config: Chain, sources: Sequence[str]) -> list[str]:
    lines, fields = [], []
    for i, source in enumerate(sources):
        channel = config.channel[source]
        if channel is None:
            fields.append("{0, NULL, NULL}")
            continue
        matrix, prior = channel.logarithms
        lines += [_table(f"log_matrix_{i}", matrix), _table(f"log_prior_{i}", prior)]
        fields.append(f"{{CF_CLASSES, cf_config_log_prior_{i}, cf_config_log_matrix_{i}}}")
    listed = ",\n    ".join(fields)
    return [*lines, f"static const cf_channel_f32 cf_config_channel[] = {{\n    {listed}}};"]


def _policy_macros(policy: Any, sources: Sequence[str]) -> list[str]:
    names = dict(zip(sources, _names("CF_SOURCE", sources), strict=True))
    lines = ["#define CF_POLICY"]
    for role in ("strong", "weak"):
        lines += [f"#define CF_{role.upper()} {names[getattr(policy, role)]}"]
    if isinstance(policy, Adaptive):
        return [*lines, "#define CF_ADAPTIVE"]
    if policy.every is not None:
        return [*lines, f"#define CF_EVERY {policy.every}u"]
    return [*lines, f"#define CF_SECONDS {_number(policy.seconds)}"]


def _policy_table(policy: Any) -> list[str]:
    if not isinstance(policy, Adaptive):
        return []
    fields = [str(x) if isinstance(x, int) else _number(x) for x in policy._prepared]
    return [f"static const cf_adaptive_f32 cf_config_policy = {{{', '.join(fields)}}};"]


def _table(name: str, numbers: Any) -> str:
    listed = ", ".join(_number(x) for x in np.asarray(numbers).ravel().tolist())
    return f"static const float cf_config_{name}[] = {{{listed}}};"


def _number(x: float) -> str:
    """Write a number so that a C compiler reads the same float, to the bit."""
    text = f"{np.float32(x):.9g}"
    return f"{text if re.search('[.e]', text) else text + '.0'}f"


def _text(text: str) -> str:
    r"""Write text as a C string: bytes beyond ASCII by number, quotes and backslashes escaped."""
    plain = range(32, 127)
    return (
        '"'
        + "".join(
            chr(b) if b in plain and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode()
        )
        + '"'
    )


def _names(prefix: str, names: Sequence[Any]) -> list[str]:
    """Return the names of an enumeration, no two alike; some get a number."""
    words = [f"{prefix}_{re.sub('[^A-Za-z0-9]', '_', str(name)).upper()}" for name in names]
    unique = ["CF_CLASS_NAMES"]  # a macro of the same header
    for i, word in enumerate(words):
        new, number = word, i
        while new in unique or (new != word and new in words):
            new, number = f"{word}_{number}", number + 1
        unique.append(new)
    return unique[1:]


def _comment(text: str) -> str:
    return re.sub(r"[^\x20-\x7e]|\*/", "?", text)
