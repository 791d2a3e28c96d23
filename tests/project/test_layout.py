"""The layout of the repository: public names, light imports, who imports whom, and what is read."""

import ast
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from importlib import import_module
from pathlib import Path
from types import FrameType

import pytest
from support.paths import ROOT

import atlaskit as ak
import atlasworld as aw
from atlasworld import World
from atlasworld.nano.model import WEIGHTS

PACKAGE, GUEST, RECIPE = ROOT / "atlaskit", ROOT / "atlasworld", ROOT / "nano"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = {contract["id"]: contract["name"] for contract in PROJECT["tool"]["importlinter"]["contracts"]}
VIOLATIONS = {
    "rooms": ("caching", "atlaskit.video.video"),
    "no-circles": ("caching", "atlaskit.video.video"),
    "environment": ("environment", "atlaskit.models.protocol"),
    "benchmarks": ("benchmarks", "atlaskit.runs.trace"),
    "experiments": ("experiments", "atlaskit.caching.cache"),
    "gym": ("gym", "atlaskit.models.protocol"),
    "viz": ("viz", "atlaskit.agents.budget"),
    "guests": ("models", "atlasworld.worlds"),
    "recipe": ("cli", "nano.train"),
}
"""For each contract, a package and a module that it must not import."""


def test_a_violation_of_each_contract_is_found(tmp_path: Path) -> None:
    assert VIOLATIONS.keys() == CONTRACTS.keys()
    for path in (path for folder in (PACKAGE, GUEST, RECIPE) for path in folder.rglob("*.py")):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package, module in VIOLATIONS.values():
        (tmp_path / "atlaskit" / package / "planted.py").write_text(f"import {module}\n")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr[-1000:]
    broken = set(re.findall(r"^(.+) BROKEN(?: \(.+\))?$", done.stdout, re.MULTILINE))
    assert broken == set(CONTRACTS.values())
    assert f"atlaskit.{VIOLATIONS['recipe'][0]}.planted -> {VIOLATIONS['recipe'][1]}" in done.stdout


def project_files() -> list[Path]:
    """Return every file of the project; it may come from git or from an archive."""
    folders = ("atlaskit", "atlasworld", "docs", "notebooks", "recordings", "tests", "tools", ".ci")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    files += [path for path in ROOT.iterdir() if path.is_file()]
    return [path for path in files if path.suffix != ".pyc"]


def test_only_nano_has_large_files() -> None:
    large = {path: path.stat().st_size for path in project_files() if path.stat().st_size > 1_000_000}
    assert {path.parent for path in large} <= {WEIGHTS} and sum(large.values()) <= 25_000_000


def test_no_file_names_a_package_registry() -> None:
    """It is a setting of the machine. PyTorch's own index is the same on every machine."""
    pattern = re.compile(rb"pypi\.org|pythonhosted|registry\.npmjs|deb\.debian")
    violations = [path for path in project_files() if path != Path(__file__) and pattern.search(path.read_bytes())]
    assert violations == []


HEAVY = {"av", "chardet", "httpcore", "httpx", "iso639", "papermill", "matplotlib", "pandas", "IPython"}
HEAVY |= {"ray", "torch", "transformers", "vllm", "decord", "gymnasium", "anywidget", "ipywidgets", "scipy", "seaborn"}
HEAVY |= {"trl", "verifiers", "datasets", "numpy", "PIL", "pydantic", "atlasworld"}


def test_importing_atlaskit_is_light_and_writes_nothing(tmp_path: Path) -> None:
    """It loads neither a guest nor a large package."""
    code = "import sys, atlaskit; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())
    assert list(tmp_path.iterdir()) == []


NAMES = """
    ASR VLM AddToScratchpad Atlas AtlasError Backtrack Budget Cache Claim Dialect Embedder Expand
    Finished Investigate MarkPromising Passage PictureScout Prices Question Result Search TextScout Trace Zoom
    ask ask_each
    baselines benchmarks cache diagnosis evaluate export metrics open_video open_videos plots question_of
    parameters read_passages read_rows replay scaling scouts serve
    statistics strategies transcribe view walk widgets
"""


def test_the_public_names_are_there_and_documented() -> None:
    assert set(ak.__all__) == set(NAMES.split())
    assert dir(ak) == sorted([*ak.__all__, "__version__"])
    assert [name for name in ak.__all__ if not (getattr(ak, name).__doc__ or "").strip()] == []


def test_the_names_of_the_package_are_those_that_type_checkers_see() -> None:
    """The stub imports each name from where `PLACES` finds it."""
    stub = ast.parse(Path(ak.__file__).with_suffix(".pyi").read_text())
    imported = dict[str, object]()
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            module = import_module(str(node.module))
            for alias in node.names:
                name = alias.asname or alias.name
                imported[name] = getattr(module, alias.name, None) or import_module(f"{node.module}.{alias.name}")
    assert imported.keys() == set(ak.__all__)
    assert all(getattr(ak, name) is value for name, value in imported.items())


MODULES_ENTERED = {"paper": 36, "best": 39}
"""In how many modules of atlaskit a function runs while an oracle is asked one
question, in a new process. Whoever brings a number down lowers it here."""


@pytest.mark.parametrize("search", MODULES_ENTERED)
def test_one_question_enters_few_modules(search: str, world: World) -> None:
    """A reader of one question needs all of them."""
    package = str(Path(ak.__file__).parent)
    entered = set[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(package):
            entered.add(frame.f_code.co_filename.removeprefix(package))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        ak.ask(world.drawn, world.questions[0], vlm=aw.Oracle(world), search=search, cache=ak.Cache(None))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert len(entered) <= MODULES_ENTERED[search], sorted(entered)
