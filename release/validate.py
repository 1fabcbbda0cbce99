"""Hold the recipe and the bill of materials against the tools that read them.

It needs release/requirements.txt: rattler-build's parser and the schema of CycloneDX.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

from release import conda, files, sbom

PLATFORMS = ("linux-64", "linux-aarch64", "osx-64", "osx-arm64", "win-64")


def variants(platform: str, abi3: bool) -> VariantConfig:
    """Return what conda-forge sets for a recipe with the limited API, or without it."""
    compiler = "vs2022" if platform.startswith("win") else "gcc"
    return VariantConfig(
        {
            "python": ["3.10.* *_cpython"] if abi3 else ["3.14.* *_cp314t"],
            "python_min": ["3.10"],
            "is_abi3": [abi3],
            "is_python_min": [abi3],
            "c_compiler": [compiler],
            "c_stdlib": ["vs" if platform.startswith("win") else "sysroot"],
        }
    )


def main() -> int:
    """Render the recipe for every platform, and validate the bill; raise where one is wrong."""
    (sdist,) = Path(sys.argv[1]).glob("*.tar.gz")
    recipe = Stage0Recipe.from_yaml(conda.recipe(f"https://example.org/{sdist.name}", sdist))
    for platform in PLATFORMS:
        for abi3 in (True, False):
            config = RenderConfig(PlatformConfig(target_platform=platform))
            (rendered,) = recipe.render(variants(platform, abi3), config)
            package = rendered.recipe.package
            assert (package.name, package.version) == ("classfilter", files.version())
    print(f"recipe.yaml: rendered for {', '.join(PLATFORMS)}")
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sbom.document(files.version()))
    print(f"classfilter.cdx.json: {problem or 'valid CycloneDX 1.6'}")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
