"""What is installed is declared, used and tested: pyproject.toml, the lock, imports, the wheel."""

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from PIL import Image
from support.answering import answering
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
APART = ("nano/learn", "tests/server/families", "tests/server/nano_worker", "tools/finetune")
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
    folders = ("tests", "tests/support", "tests/server", "tools", "examples", ".")
    own = {path.stem for folder in folders for path in (ROOT / folder).iterdir()}
    names = {module: [name] for name, module in IMPORT_NAMES.items()} | importlib.metadata.packages_distributions()
    return {canonicalize_name(name) for top in tops - own for name in names.get(top, [top])}


def names_of(*extras: str) -> set[str]:
    """Return the packages that extras declare, and those that extras of them do."""
    found = set[str]()
    for requirement in (one for extra in ("", *extras) for one in DECLARED[extra]):
        is_own = requirement.name == "atlaskit"
        found |= names_of(*requirement.extras) if is_own else {canonicalize_name(requirement.name)}
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


@pytest.mark.parametrize("extra", ["notebook", "test", "docs", "serve-cpu", "serve-gpu"])
def test_the_lock_has_what_is_declared(extra: str) -> None:
    pinned = pins(extra)
    declared = [*DECLARED[extra], *([] if extra.startswith("serve") else DECLARED[""])]
    wanted = [one for one in declared if one.name != "atlaskit" and (one.marker is None or one.marker.evaluate())]
    for one in wanted:
        assert one.specifier.contains(pinned[canonicalize_name(one.name)], prereleases=True), one


def test_each_hash_is_checked() -> None:
    """Only PyTorch's CPU builds have none: their index differs between machines."""
    entries = re.findall(r"^[A-Za-z0-9].*\n(?!    --hash)", LOCK.read_text(), re.MULTILINE)
    assert [re.split("[= ]", entry)[0] for entry in entries] == ["torch"]


MOST_S = 300  # no command takes longer, even beside other tests


def fetch(*command: str | Path) -> None:
    """Run a command that downloads packages; skip the test if the registry does not answer."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MOST_S)
    except subprocess.TimeoutExpired:
        pytest.skip(f"the registry did not answer {command[-3:]} within {MOST_S} s")
    if "Failed to fetch" in done.stderr:
        pytest.skip(f"the registry cannot be reached: {done.stderr[-500:]}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.registry
def test_the_lock_is_what_uv_makes_of_the_declared() -> None:
    """For every Python and platform, with the versions kept."""
    fetch(sys.executable, ROOT / "tools" / "lock.py", "--check")


PYTHONS = [f"3.{minor}" for minor in range(11, 15)]
"""What the kit may run on; the oldest and the newest of them that this machine has are tried."""


@pytest.fixture(scope="module")
def installed() -> dict[str, Path]:
    """An interpreter of this machine for each Python that it has."""
    found = [Path(sys.base_prefix, "bin", "python3"), *Path.home().glob(".pyenv/versions/*/bin/python")]
    found += [Path("/usr/bin", f"python{each}") for each in PYTHONS]
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    versions = {}
    for each in filter(Path.is_file, found):
        done = subprocess.run([each, "-c", ask], capture_output=True, text=True, check=False)
        versions[done.stdout.strip()] = each
    return versions


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    fetch(sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--out-dir", folder, ROOT)
    return next(folder.glob("*.whl"))


@pytest.mark.registry  # the build needs hatchling
def test_the_wheel_has_both_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    every = (path for name in ("atlaskit", "atlasworld") for path in (ROOT / name).rglob("*") if path.is_file())
    files = (path for path in every if "__pycache__" not in path.parts)
    assert {name for name in names if ".dist-info/" not in name} == {str(each.relative_to(ROOT)) for each in files}
    assert {"atlaskit/requirements.lock", "atlaskit/py.typed", "atlasworld/py.typed"} <= set(names)


@pytest.mark.registry
@pytest.mark.parametrize("which", [min, max])
def test_it_explores_asks_and_evaluates_with_the_newest_packages(
    which: Callable[..., str], installed: dict[str, Path], wheel: Path, film_file: Path, tmp_path: Path
) -> None:
    """In an environment that has nothing but what the wheel asks for."""
    python = tmp_path / "venv" / "bin" / "python"
    version = which(set(PYTHONS) & installed.keys())
    fetch(sys.executable, "-m", "uv", "venv", "--quiet", "--python", installed[version], tmp_path / "venv")
    fetch(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, wheel)
    kit = str(python.with_name("atlaskit"))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [kit, *words, "--cache", "cache"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=MOST_S)
        assert done.returncode == 0, done.stderr
        return done

    assert run("view", str(film_file), "sheet.png", "--k", "4").stderr == ""
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.size == (4 * 320, 736) and len(sheet.getcolors(2**24) or ()) > 100
    assert "which is right" in run("demo").stdout
    with answering() as address:
        run("evaluate", "atlaskit-demo/questions.csv", "--model", address, "any-vlm")
    assert (tmp_path / "questions.rows.csv").exists()
    looking = [kit, "explore", "atlaskit-demo/film.mp4", "--no-browser", "--cache", "cache"]
    with subprocess.Popen(looking, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as explorer:
        assert explorer.stdout is not None and "The page is at http://127.0.0.1:" in explorer.stdout.readline()
        explorer.terminate()
