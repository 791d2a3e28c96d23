"""What is installed is declared, used and tested: pyproject.toml, the lock, the imports."""

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.paths import ROOT

from atlaskit.models.serving.lock import LOCK, locked

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {name: list(map(Requirement, lines)) for name, lines in PROJECT["optional-dependencies"].items()}
DECLARED = {"": list(map(Requirement, PROJECT["dependencies"])), **EXTRAS}
IMPORT_NAMES = {"opencv-python-headless": "cv2", "sb3-contrib": "sb3_contrib"}
"""Names of modules of packages that need not be installed where the tests run."""
COMES_WITH = {
    "ipython": "ipykernel", "nbclient": "papermill", "nbconvert": "jupyterlab", "nbformat": "papermill",
    "threadpoolctl": "scikit-learn", "cycler": "matplotlib", "pydantic-core": "pydantic", "anyio": "mcp",
    "mcp-types": "mcp", "packaging": "pytest", "datasets": "trl", "stable-baselines3": "sb3-contrib",
    "traitlets": "ipywidgets", "jupyter-client": "ipykernel",
}  # fmt: skip
"""Packages that are imported and not declared, since a declared one cannot work without them."""
APART = ("nano/learn", "tests/server/families", "tests/server/tiny_", "tests/server/nano_worker", "tools/finetune")
"""What runs in the server's environment, and imports what is there."""


def sources(*folders: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the code of each module and notebook below folders."""
    for path in (path for folder in folders for path in sorted((ROOT / folder).rglob("*"))):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(APART):
            continue
        if path.suffix == ".py":
            yield name, path.read_text()
        elif path.suffix == ".ipynb":
            cells = json.loads(path.read_text())["cells"]
            yield name, "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


@cache
def imported(folder: str) -> set[str]:
    """Return the packages from which a folder imports, by the names of what is installed."""
    nodes = [node for _, text in sources(folder) for node in ast.walk(ast.parse(text))]
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    tops = {module.partition(".")[0] for module in modules} - set(sys.stdlib_module_names)
    own = {
        path.stem
        for folder in ("tests", "tests/support", "tests/server", "tools", "examples", ".")
        for path in (ROOT / folder).iterdir()
    }
    names = {module: [name] for name, module in IMPORT_NAMES.items()} | importlib.metadata.packages_distributions()
    return {canonicalize_name(name) for top in tops - own for name in names.get(top, [top])}


def names_of(*extras: str) -> set[str]:
    """Return the packages that extras declare, and those that extras of them do."""
    found: set[str] = set()
    for requirement in (one for extra in ("", *extras) for one in DECLARED[extra]):
        found |= (
            names_of(*requirement.extras) if requirement.name == "atlaskit" else {canonicalize_name(requirement.name)}
        )
    return found


@pytest.mark.parametrize(
    ("folder", "extras"),
    [
        ("atlaskit", ("notebook", "ocr", "ray", "mcp", "decord")),
        ("atlasworld", ()),
        ("nano", ("notebook", "test-rl")),
        ("notebooks", ("notebook",)),
        ("tests", ("notebook", "test", "test-rl")),
        ("tools", ("notebook", "test", "bench")),
    ],
)
def test_each_import_is_declared(folder: str, extras: tuple[str, ...]) -> None:
    declared = names_of(*extras)
    declared |= {name for name, with_name in COMES_WITH.items() if with_name in declared}
    assert imported(folder) - declared == set()


def pins(*extras: str) -> dict[str, str]:
    """Return the versions that the lock has for this Python and platform."""
    hashed, others = locked(*extras)
    lines = [line.rstrip(" \\") for line in hashed.splitlines() if not line.startswith(" ")]
    here = [one for one in map(Requirement, [*lines, *others]) if one.marker is None or one.marker.evaluate()]
    assert len({one.name for one in here}) == len(here), "one version of each"
    return {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in here}


def lacking(requirements: Iterable[Requirement], pinned: dict[str, str], extras: Iterable[str] = ("",)) -> list[str]:
    """Return the requirements that a part of the lock does not meet."""
    return [
        str(one)
        for one in requirements
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras)
        if not one.specifier.contains(pinned.get(canonicalize_name(one.name), "0"), prereleases=True)
        or canonicalize_name(one.name) not in pinned
    ]


@pytest.mark.parametrize("extra", ["notebook", "test", "docs", "serve-cpu", "serve-gpu"])
def test_the_lock_has_what_is_declared(extra: str) -> None:
    wanted = [
        one for one in [*DECLARED[""] * (not extra.startswith("serve")), *DECLARED[extra]] if one.name != "atlaskit"
    ]
    assert lacking(wanted, pins(extra)) == []


def test_each_hash_is_checked() -> None:
    """Only PyTorch's CPU builds have none: their index differs between machines."""
    entries = re.findall(r"^[A-Za-z0-9].*\n(?!    --hash)", LOCK.read_text(), re.MULTILINE)
    assert [re.split("[= ]", entry)[0] for entry in entries] == ["torch"]


@pytest.mark.registry
def test_the_lock_is_what_uv_makes_of_the_declared() -> None:
    """For every Python and platform, with the versions kept."""
    done = subprocess.run([sys.executable, ROOT / "tools" / "lock.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def advised() -> Iterator[tuple[str, str]]:
    """Yield the module and the requirements of each sentence about a missing package."""
    for name, code in (*sources("atlaskit"), *sources("atlasworld")):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "missing":
                yield name, " ".join(ast.literal_eval(one) for one in node.args[1:])
    yield "atlaskit/models/serving/install.py", "vllm"


@pytest.mark.parametrize(("module", "requirements"), sorted(advised()))
def test_advice_names_what_is_declared(module: str, requirements: str) -> None:
    declared = [(one.name, one.specifier) for lines in DECLARED.values() for one in lines]
    for one in map(Requirement, requirements.split()):
        assert (one.name, one.specifier) in declared or (one.name in ("torch", "vllm") and not one.specifier), module
