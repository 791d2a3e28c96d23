"""Exports the teacher's trajectories as chats with images, to fine-tune other models with TRL.

`python -m nano.data.export FOLDER --worlds 50` writes FOLDER/train.jsonl with one chat per line,
and the images to FOLDER/images; see docs/models.md.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from tqdm import tqdm

import atlasworld as aw
from atlaskit.agents.settings import Search
from atlaskit.environment.tiles import Fit
from atlaskit.errors import check_whole
from atlaskit.models.names import Preset
from atlaskit.models.protocol import Image, Reply, Request
from nano.data.trajectories import TrajectoryRecorder, record_searches
from nano.teacher.labels import TRAINING_SEED
from nano.teacher.teacher import SETTINGS, Expert

VIDEO_SIZE = (640, 360)
"""Width and height of the searched videos in pixels."""


@dataclass
class ChatRecorder(TrajectoryRecorder):
    """A recorder of whole chats that saves each image to a file once.

    Attributes:
        folder: Folder that holds the folder `images`.
        name: Name of this model in traces.
        preset: The default preset, so that the chats have the prompts that other models get.
    """

    name: str = "recorder"
    preset: Preset = field(default_factory=Preset)
    folder: Path = field(default=Path(), kw_only=True)

    def example(self, request: Request, reply: Reply) -> dict[str, Any]:
        """Return a chat: the messages, the files of their images, and the kind of call."""
        messages = [
            {"role": message.speaker, "content": [self._part(part) for part in message.parts]}
            for message in request.messages
        ]
        answer = {"role": "assistant", "content": [{"type": "text", "text": reply.text}]}
        files = [self._save(image) for image in request.images]
        return {"messages": [*messages, answer], "images": files, "step": request.step}

    def _part(self, part: str | Image) -> dict[str, str]:
        return {"type": "text", "text": part} if isinstance(part, str) else {"type": "image"}

    def _save(self, image: Image) -> str:
        path = self.folder / "images" / f"{image.key}.jpg"
        if not path.exists():
            path.write_bytes(image.jpeg())
        return str(path.relative_to(self.folder))


def export(
    folder: Path, worlds: int, *, first: int = 0, duration_s: float = 600.0, **settings: Any
) -> int:
    """Write the trajectories of some training worlds as chats; return the number of chats.

    Equal arguments write equal files.

    Args:
        folder: Folder to write `train.jsonl` and the folder `images` to.
        worlds: Number of worlds.
        first: Number of training worlds to skip.
        duration_s: Length of each world in seconds.
        settings: Settings of the search, such as `k`, `cell` and `fit`, that replace the teacher's.

    Raises:
        InputError: `worlds` is less than one.
    """
    check_whole("worlds", worlds)
    (folder / "images").mkdir(parents=True, exist_ok=True)
    chats = 0
    first_seed = TRAINING_SEED + first
    seeds = range(first_seed, first_seed + worlds)
    with (folder / "train.jsonl").open("w", encoding="utf-8") as file:
        for seed in tqdm(seeds, desc="worlds", unit="world"):
            world = aw.world(seed, duration_s, size=VIDEO_SIZE)
            rng = random.Random(seed)
            slip = rng.choice((0.0, 0.15, 0.3))
            recorder = ChatRecorder(Expert(world.script), slip, rng, folder=folder)
            record_searches(recorder, world, search=Search(**{**SETTINGS, **settings}))
            for chat in recorder.examples:
                file.write(json.dumps(chat, ensure_ascii=False) + "\n")
            chats += len(recorder.examples)
    return chats


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description="Export the teacher's searches as chats with images."
    )
    parser.add_argument("folder", type=Path, help="folder to write train.jsonl and images to")
    parser.add_argument("--worlds", type=int, default=50, help="number of worlds (50)")
    parser.add_argument("--minutes", type=float, default=10.0, help="length of each world (10)")
    parser.add_argument("--k", type=int, default=4, help="a grid has K×K cells (4)")
    parser.add_argument("--cell", type=int, default=128, help="side of a cell in pixels (128)")
    parser.add_argument(
        "--fit",
        choices=get_args(Fit),
        default="contain",
        help="how a frame fills its cell (contain)",
    )
    args = parser.parse_args()
    chats = export(
        args.folder,
        args.worlds,
        duration_s=args.minutes * 60,
        k=args.k,
        cell=args.cell,
        fit=args.fit,
    )
    print(f"Wrote {chats} chats to {args.folder / 'train.jsonl'}.")


if __name__ == "__main__":
    main()
