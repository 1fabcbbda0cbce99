"""The bill of materials of a wheel, as CycloneDX 1.6: the package, and what it brings of others.

Files of others begin with a banner, ``/*! uPlot 1.6.32 (MIT licence)...``, which js/build.mjs
writes. It is read here, so that nothing that is shipped is forgotten. There is no time and no
random number in it: the same files give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BANNER = re.compile(r"/\*! (\S+) (\S+) \((\S+) licence\)")


def document(version: str, root: Path = ROOT) -> str:
    """Return the bill of materials of this version, as JSON."""
    package = _component("classfilter", version, "MIT", "pypi")
    others = _vendored(root)
    refs = [other["bom-ref"] for other in others]
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": package},
        "components": others,
        "dependencies": [
            {"ref": package["bom-ref"], "dependsOn": refs},
            *({"ref": ref} for ref in refs),
        ],
    }
    return json.dumps(bill, indent=2) + "\n"


def write(dist_info: Path, version: str, root: Path = ROOT) -> None:
    """Write it where PEP 770 has it, into the folder ``.dist-info`` of a wheel."""
    path = dist_info / "sboms/classfilter.cdx.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(document(version, root).encode())


def _vendored(root: Path) -> list[dict[str, Any]]:
    """Return a component for each package of npm of which there are files in the wheel."""
    asked = json.loads((root / "js/package.json").read_text())["devDependencies"]
    web = root / "src/classfilter/web"
    found: dict[str, dict[str, Any]] = {}
    for path in sorted([*web.glob("*.js"), *web.glob("*.css"), *web.glob("*.html")]):
        for title, version, licence in BANNER.findall(path.read_text(encoding="utf-8")):
            name = title.lower()  # names of npm are in lower case
            if asked.get(name) != version:
                message = f"{path.name} has {name} {version}, js/package.json {asked.get(name)}"
                raise ValueError(f"{message}: run make js")
            part = found.setdefault(name, _component(name, version, licence, "npm"))
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            part.setdefault("components", []).append(
                {
                    "type": "file",
                    "name": path.relative_to(root / "src").as_posix(),
                    "hashes": [{"alg": "SHA-256", "content": digest}],
                }
            )
    return [found[name] for name in sorted(found)]


def _component(name: str, version: str, licence: str, kind: str) -> dict[str, Any]:
    url = f"pkg:{kind}/{name}@{version}"
    return {
        "type": "library",
        "bom-ref": url,
        "name": name,
        "version": version,
        "licenses": [{"license": {"id": licence}}],
        "purl": url,
    }
