"""A filter as a folder of C files, for firmware: the same bits as here, in float32."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._atomic import atomic_write
from .._channel import correct_source
from .._settings import options
from .._version import __version__
from ..config import Config
from ..filters._dirichlet import DirichletFilter
from ..filters._sticky import StickyFilter
from ..policy import Adaptive, Periodic, Policy

Singles = NDArray[np.float32]
FIRMWARE = Path(__file__).parent / "firmware"
CORE = Path(__file__).parents[1] / "csrc"
HEADERS = (
    "cf.h",
    "cf_port.h",
    "cf_real.h",
    "coefficients.h",
    "polygamma.h",
    "status.c",
    "validate.h",
)
ROWS, FULL, SEED = 3000, 8, 2024
_STEPS = (1.0, 1.0, 1.0, 1.0, 5.0, 0.0, 0.0, 600.0)


def single(config: Config) -> Config:
    """Return the same settings, fresh and in float32, the precision of the firmware."""
    made = type(config.filter)
    if made not in (DirichletFilter, StickyFilter):
        raise ValueError(
            f"filter is {made.__name__}; only a DirichletFilter and a StickyFilter have a C core"
        )
    given = options(config.filter) | {"dtype": "float32"}
    policy = config.policy
    if isinstance(policy, Adaptive):
        policy = Adaptive(**policy._options | {"dtype": np.float32})
    return config._replace(filter=made(config.filter.classes, **given), policy=policy)


def export(config: Config, folder: str | Path, name: str = "a filter") -> list[Path]:
    """Write the C files of a filter; they compile anywhere, and their self-test compares bits.

    Parameters
    ----------
    config : Config
        The filter, the weights of its sources, their channels and a policy, as `read` gives them.
        Without weights there is one source, ``default``, of the weight 1.
    folder : str or Path
        Where to; it is made if it is not there, and files of the same names are replaced.
    name : str
        Where the settings come from, for a comment.

    Returns
    -------
    list of Path
        The files written.

    Examples
    --------
    >>> import tempfile
    >>> from classfilter.config import Config
    >>> made = Config(StickyFilter(["walk", "sit"], stay=0.99), {"weak": 0.1, "strong": 1.0}, {})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.name for path in export(made, folder) if path.parent.name != "core")
    ... # doctest: +NORMALIZE_WHITESPACE
    ['CMakeLists.txt', 'Makefile', 'cf_config.h', 'classfilter.c', 'classfilter.h', 'example.c',
     'golden.h', 'library.json', 'selftest.c', 'selftest.h']
    """
    config = single(config)
    if not config.beta:
        config = config._replace(beta={"default": 1.0})
    for source in config.channel:
        if source not in config.beta:
            raise ValueError(
                f"channel.{source} has no weight; add {source} to [beta], or leave its channel out"
            )
    if config.policy is not None:
        _check_policy(config.policy, list(config.beta))
    texts = {f"core/{f}": (CORE / f).read_text() for f in core_files(config)}
    for path in FIRMWARE.iterdir():
        texts[path.name] = path.read_text()
    texts["cf_config.h"] = config_header(config, name)
    texts["golden.h"] = golden_header(config)
    written = []
    for file, text in texts.items():
        path = Path(folder) / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as out:
            out.write(text.encode())
        written.append(path)
    return written


def _check_policy(policy: Policy, sources: list[str]) -> None:
    if not isinstance(policy, (Adaptive, Periodic)):
        raise ValueError(
            f"policy is {policy!r}; only Adaptive and Periodic have a C version: leave it out"
        )
    for source in (policy.strong, policy.weak):
        if source not in sources:
            raise ValueError(f"policy calls {source!r}, but [beta] names {sources}: add it")


def core_files(config: Config) -> list[str]:
    """Return the files of the core that the settings need."""
    dirichlet = isinstance(config.filter, DirichletFilter)
    parts = ["dirichlet" if dirichlet else "sticky"]
    parts += ["channel"] if config.channel else []
    parts += ["policy_adaptive"] if isinstance(config.policy, Adaptive) else []
    files = [*HEADERS, *(f"{part}{end}" for part in parts for end in ("_impl.h", "_f32.c"))]
    return [*files, "dirichlet_mode.h"] if dirichlet else files


def config_header(config: Config, name: str) -> str:
    """Return the header with all settings as constants."""
    f = config.filter
    K, sources = len(f.classes), list(config.beta)
    lines = [
        f"/* Made by classfilter {__version__} from {_comment(name)}; do not edit. */",
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
    lines += _dirichlet(f) if isinstance(f, DirichletFilter) else _sticky(f)  # type: ignore[arg-type]
    lines += [_table("beta", list(config.beta.values()))]
    macros = []
    if config.channel:
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
    given = options(f)
    anchored = given["anchor"] > 0
    state = [given["prior_weight"], *given["prior"]]
    lines = ["#define CF_DIRICHLET", "#define CF_NO_RATES", "TABLES"]
    if anchored:
        weighed = DirichletFilter(f.classes, **given | {"prior_weight": 1.0})
        lines += [_table("prior_nu", weighed.nu)]
    log_gamma = _core.log(np.array([f.gamma], np.float32))[0] if np.float32(f.gamma) > 0 else 0.0
    numbers = [f.gamma, given["floor"], given["anchor"], given["max_concentration"]]
    filled = [
        "CF_CLASSES",
        *map(_number, numbers),
        str(int(given["estimate"] == "mean")),
        _number(given["tolerance"]),
        _number(log_gamma),
        "cf_config_prior_nu" if anchored else "NULL",
    ]
    return [
        *lines,
        _table("start", state),
        f"static const cf_dirichlet_f32 cf_config_filter = {{{', '.join(filled)}}};",
    ]


def _sticky(f: StickyFilter) -> list[str]:
    log_stay, fastest, table, rates = f._prepared
    lines = ["#define CF_RATES" if rates is not None else "#define CF_NO_RATES", "TABLES"]
    if rates is not None:
        lines += [_table("rates", rates)]
    filled = [
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
        f"static const cf_sticky_f32 cf_config_filter = {{{', '.join(filled)}}};",
    ]


def _channels(config: Config, sources: Sequence[str]) -> list[str]:
    lines, filled = [], []
    for i, source in enumerate(sources):
        if source not in config.channel:
            filled.append("{0, NULL, NULL}")
            continue
        matrix, prior = config.channel[source].logarithms
        lines += [_table(f"log_matrix_{i}", matrix), _table(f"log_prior_{i}", prior)]
        filled.append(f"{{CF_CLASSES, cf_config_log_prior_{i}, cf_config_log_matrix_{i}}}")
    whole = ",\n    ".join(filled)
    return [*lines, f"static const cf_channel_f32 cf_config_channel[] = {{\n    {whole}}};"]


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
    filled = [str(x) if isinstance(x, int) else _number(x) for x in policy._prepared]
    return [f"static const cf_adaptive_f32 cf_config_policy = {{{', '.join(filled)}}};"]


class Golden(NamedTuple):
    """Made-up answers, as the firmware's self-test makes them, and what the filter does.

    Attributes
    ----------
    source : list of str
        Of each row.
    dt : ndarray (T,)
        Time since the row before.
    probs : ndarray (T, K)
        The answers.
    filtered : ndarray (T, K)
        The readings.
    state : ndarray (T, K or K + 1)
        What is remembered after each row.
    wanted : ndarray (T, 1), or (T, 0) without a policy
        The number of the source that the policy wanted called.
    policy : ndarray (T, N), or (T, 0)
        The time since the last strong call, and what the policy remembers.
    """

    source: list[str]
    dt: Singles
    probs: Singles
    filtered: Singles
    state: Singles
    wanted: Singles
    policy: Singles


def golden(config: Config, rows: int = ROWS) -> Golden:
    """Return made-up answers and what the filter, in float32, makes of them."""
    f, K, names = config.filter.copy(), len(config.filter.classes), list(config.beta)
    rule: Any = None if config.policy is None else config.policy.copy()
    random = _numbers()
    source, dt = [], np.zeros(rows, np.float32)
    probs = np.zeros((rows, K), np.float32)
    filtered, state, wanted, policy = np.zeros_like(probs), [], [], []
    since, asked = np.float32(0), False
    for i in range(rows):
        who, dt[i], probs[i] = _made_up(random, K, len(names))
        held = f.probs
        if rule is not None:
            wish = rule.choose(held, {rule.strong: float(since + dt[i])} if asked else {})
            wanted.append([names.index(wish)])
            who = who if next(random) % 4 == 0 else names.index(wish)
        source.append(names[who])
        w = probs[i]
        if names[who] in config.channel:
            w = correct_source(config.channel, names[who], w)
        filtered[i] = f.update(w, config.beta[names[who]], float(dt[i]))
        state.append(np.hstack(list(f.state)).astype(np.float32))
        if rule is not None:
            rule.called(names[who], w, held, float(dt[i]))
            asked |= names[who] == rule.strong
            since = np.float32(0) if names[who] == rule.strong else since + dt[i]
            policy.append([since, *rule.state])
    more = [np.array(part, np.float32).reshape(rows, -1) for part in (wanted, policy)]
    return Golden(source, dt, probs, filtered, np.array(state), *more)


def _numbers() -> Iterator[int]:
    seed = SEED
    while True:
        seed = (seed * 1664525 + 1013904223) % 2**32
        yield seed >> 16


def _made_up(random: Iterator[int], K: int, sources: int) -> tuple[int, float, Singles]:
    """Return source, dt and answer: `make_row` of selftest.c."""
    kind, sure, step = next(random) % 16, next(random) % K, next(random) % 8
    who = next(random) % sources
    dt = next(random) % 1000 / 16 if step == 6 else _STEPS[step]
    parts = np.zeros(K, np.int64)
    for k in range(K):
        part = next(random) % 256
        part = 0 if kind == 1 else part * part // 1024 if kind > 3 else part
        parts[k] = part + 64 * (k == sure)
    answer = parts.astype(np.float32) / np.float32(parts.sum())
    return who, dt, np.full(K, np.nan, np.float32) if kind == 0 else answer


def golden_header(config: Config) -> str:
    """Return the header with the results that the self-test compares with."""
    made = golden(config)
    first = np.where(np.isnan(made.probs[:, 0]), np.float32(-1), made.probs[:, 0])
    inputs = zlib.crc32(np.stack([made.dt, first], axis=1).astype("<f4").tobytes())
    all_told = np.hstack([made.wanted, made.filtered, made.state, made.policy])
    outputs = zlib.crc32(all_told.astype("<f4").tobytes())
    full = made.filtered[:FULL].view(np.uint32).tolist()
    rows = ",\n".join(f"    {{{', '.join(f'0x{word:08x}u' for word in row)}}}" for row in full)
    return f"""\
/* What Python made of the answers of selftest.c, in float32. Made by classfilter; do not edit. */
#ifndef CF_GOLDEN_H
#define CF_GOLDEN_H

#include <stdint.h>

#define CF_GOLDEN_SEED {SEED}u
#define CF_GOLDEN_ROWS {ROWS}
#define CF_GOLDEN_FULL {FULL}
#define CF_GOLDEN_INPUTS 0x{inputs:08x}u
#define CF_GOLDEN_OUTPUTS 0x{outputs:08x}u

/* The bits of the first readings. */
static const uint32_t cf_golden[CF_GOLDEN_FULL][CF_CLASSES] = {{
{rows}}};

#endif
"""


def _table(name: str, numbers: Any) -> str:
    listed = ", ".join(_number(x) for x in np.asarray(numbers).ravel().tolist())
    return f"static const float cf_config_{name}[] = {{{listed}}};"


def _number(x: float) -> str:
    """Write a number so that it comes back to the bit as a float."""
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
    """Return the names of an enumeration, no two alike."""
    found: list[str] = []
    for i, name in enumerate(names):
        word = f"{prefix}_{re.sub('[^A-Za-z0-9]', '_', str(name)).upper()}"
        found.append(word if word not in found else f"{word}_{i}")
    return found


def _comment(text: str) -> str:
    return re.sub(r"[^\x20-\x7e]|\*/", "?", text)
