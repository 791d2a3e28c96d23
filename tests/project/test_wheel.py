"""The wheel in an empty environment of each Python, with the newest packages that an index has."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from PIL import Image
from support.answering import answering
from support.paths import ROOT

from atlasworld import World

PYTHONS = [f"3.{minor}" for minor in range(11, 15)]


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
    subprocess.run([sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--out-dir", folder, ROOT], check=True)
    return next(folder.glob("*.whl"))


@pytest.mark.registry  # the build needs hatchling
def test_the_wheel_has_both_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    packages = (ROOT / "atlaskit", ROOT / "atlasworld")
    every = (path for package in packages for path in package.rglob("*") if path.is_file())
    files = (path for path in every if "__pycache__" not in path.parts)
    assert {name for name in names if ".dist-info/" not in name} == {str(each.relative_to(ROOT)) for each in files}
    assert {"atlaskit/requirements.lock", "atlaskit/py.typed", "atlasworld/py.typed"} <= set(names)


@pytest.mark.registry
@pytest.mark.parametrize("version", PYTHONS)
def test_it_explores_asks_and_evaluates_with_the_newest_packages(
    version: str, installed: dict[str, Path], wheel: Path, film: World, tmp_path: Path
) -> None:
    """In an environment that has nothing but what the wheel asks for."""
    if version not in installed:
        pytest.skip(f"this machine has no Python {version}")
    subprocess.run(
        [sys.executable, "-m", "uv", "venv", "--quiet", "--python", installed[version], tmp_path / "venv"], check=True
    )
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, wheel], check=True)
    command = [python.with_name("atlaskit"), "view", film.video.path, "sheet.png", "--k", "4", "--cache", "cache"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.size == (4 * 320, 736) and len(sheet.getcolors(2**24) or ()) > 100
    kit = str(python.with_name("atlaskit"))
    done = subprocess.run([kit, "demo", "--cache", "cache"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "which is right" in done.stdout, done.stderr
    with answering() as address:
        asked = [kit, "evaluate", "atlaskit-demo/questions.csv", "--model", address, "any-vlm", "--cache", "cache"]
        done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and (tmp_path / "questions.rows.csv").exists(), done.stderr
    looking = [kit, "explore", "atlaskit-demo/film.mp4", "--no-browser", "--cache", "cache"]
    with subprocess.Popen(looking, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as explorer:
        assert explorer.stdout is not None and "The page is at http://127.0.0.1:" in explorer.stdout.readline()
        explorer.terminate()
