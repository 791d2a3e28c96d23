"""Guests: what other packages bring is found by entry points, and the kit names none of it."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.model_doubles import Babbler
from support.paths import ROOT
from support.stand_ins import CHOICE, Flat

import atlaskit as ak
import atlasworld as aw
from atlaskit import guests
from atlaskit.__main__ import main
from atlaskit.errors import InputError, ModelWarning
from atlaskit.evaluation import tables
from atlaskit.gym.tasks import maker_of_worlds
from atlaskit.models.names import preset_for, resolve_model

PAGE = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8").partition("## A package of your own")[2]
(MODULE,) = re.findall(r"^```python\n(.*?)^```$", PAGE.partition("\n## ")[0], re.MULTILINE | re.DOTALL)
(REGISTERED,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EVALUATE = ["evaluate", "lamps", "--method", "uniform", "--out", "rows.csv"]


def forget() -> None:
    """Look for entry points anew."""
    guests.registered.cache_clear()
    guests.load.cache_clear()


@pytest.fixture
def lamps(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package of the page, as pip installs it."""
    folder = in_tmp / "site"
    about = folder / "lamps-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / "lamps.py").write_text(MODULE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lamps\nVersion: 1.0\n")
    groups = tomllib.loads(REGISTERED)["project"]["entry-points"]
    lines = []
    for group, names in groups.items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in names.items())]
    (about / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(folder)
    forget()
    yield
    sys.modules.pop("lamps", None)
    monkeypatch.undo()
    forget()


def test_the_kit_names_no_guest() -> None:
    named = re.compile(r"atlasworld|\bnano\b|\baw\.", re.IGNORECASE)
    texts = {path: path.read_text("utf-8") for path in (ROOT / "atlaskit").rglob("*.py")}
    assert {str(path): found[0] for path, text in texts.items() if (found := named.search(text))} == {}


@pytest.mark.usefixtures("lamps")
def test_somebodys_benchmark_and_oracle_are_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*EVALUATE, "--oracle", "0"]) == 0
    rows = tables.load("rows.csv")
    assert rows["right"].tolist() == [True, True] and set(rows["video"]) == {"red", "green"}
    assert main([*EVALUATE, "--oracle", "0", "--load", "colours", '["green"]']) == 0
    assert tables.load("rows.csv")["video"].tolist() == ["green"]
    assert main([*EVALUATE, "--oracle", "0", "--load", "size", "3"]) == 2
    assert "lamps has no option 'size' for --load; it has colours." in capsys.readouterr().err


@pytest.mark.usefixtures("lamps")
def test_somebodys_model_has_its_preset_wherever_it_is_named() -> None:
    preset = preset_for("dim")
    vlm = ak.VLM("http://127.0.0.1:9/v1", "dim@0123")
    assert (preset.k, preset.cell) == (2, 64)
    assert preset_for(vlm) is vlm.preset is preset
    assert ak.Search().suited_to(vlm).k == 2
    with pytest.raises(InputError, match="The weights of dim are not in dim, where its package has them"):
        resolve_model("dim")
    with pytest.raises(InputError, match="'dimmer' is no model: pass dim, nano, a folder that exists"):
        resolve_model("dimmer")
    model = Babbler()
    model.preset = preset
    with pytest.warns(ModelWarning, match="babbler knows only lamps: its answers mean nothing"):
        result = ak.baselines.blind(Flat(), CHOICE, vlm=model, cache=ak.Cache(None))
    assert "knows only lamps" in str(result)


def test_worlds_come_from_whoever_registered_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert maker_of_worlds() is maker_of_worlds("atlasworld") is aw.world
    monkeypatch.setattr("atlaskit.gym.tasks.registered", lambda group: {})
    with pytest.raises(InputError, match="No installed package has worlds to draw"):
        maker_of_worlds()
