"""The teacher's lessons as chats with pictures, in the form that TRL fine-tunes any open vision-language model with.

`python -m atlaskit.nano.data.export FOLDER --worlds 50` writes FOLDER/train.jsonl, a chat a line, and its pictures beside
it; see docs/finetune.md.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from atlaskit.benchmarks.atlasworld import atlasworld
from atlaskit.errors import check_whole
from atlaskit.models.protocol import Image, Reply, Request
from atlaskit.nano.data.trajectories import TrajectoryRecorder, write_down
from atlaskit.nano.teacher.labels import TRAINING_SEED
from atlaskit.nano.teacher.teacher import Expert

SIZE = (640, 360)
"""Of the films that are looked at."""


@dataclass
class ChatRecorder(TrajectoryRecorder):
    """A recorder that writes down whole chats, and puts each picture into a file, once."""

    folder: Path = field(default=Path(), kw_only=True)

    def lesson(self, request: Request, reply: Reply) -> dict[str, Any]:
        """Return a chat: its messages, with the places of its images, and the files of these."""
        messages = [
            {"role": message.speaker, "content": [self._part(part) for part in message.parts]}
            for message in request.messages
        ]
        said = {"role": "assistant", "content": [{"type": "text", "text": reply.text}]}
        files = [self._file(image) for image in request.images]
        return {"messages": [*messages, said], "images": files, "step": request.step}

    def _part(self, part: str | Image) -> dict[str, str]:
        return {"type": "text", "text": part} if isinstance(part, str) else {"type": "image"}

    def _file(self, image: Image) -> str:
        path = self.folder / "images" / f"{image.key}.jpg"
        if not path.exists():
            path.write_bytes(image.jpeg())
        return str(path.relative_to(self.folder))


def export(folder: Path, worlds: int, *, first: int = 0, duration_s: float = 600.0, **settings: Any) -> int:
    """Write the lessons of so many worlds, the same for the same numbers; return how many chats there are.

    `settings` are `ask`'s, such as `k` and `cell`. Raises InputError for fewer than one world.
    """
    check_whole("worlds", worlds)
    (folder / "images").mkdir(parents=True, exist_ok=True)
    chats = 0
    with (folder / "train.jsonl").open("w", encoding="utf-8") as file:
        for seed in tqdm(range(TRAINING_SEED + first, TRAINING_SEED + first + worlds), desc="lessons", unit="world"):
            world, rng = atlasworld(seed, duration_s, size=SIZE), random.Random(seed)
            scribe = ChatRecorder(Expert(world.script), rng.choice((0.0, 0.15, 0.3)), rng, folder=folder)
            write_down(scribe, world, **settings)
            for chat in scribe.lessons:
                file.write(json.dumps(chat, ensure_ascii=False) + "\n")
            chats += len(scribe.lessons)
    return chats


def main() -> None:
    """Write them into the folder that is named."""
    asked = argparse.ArgumentParser(description="Write the teacher's lessons as chats with pictures.")
    asked.add_argument("folder", type=Path)
    asked.add_argument("--worlds", type=int, default=50)
    asked.add_argument("--minutes", type=float, default=10.0, help="of each world (10)")
    asked.add_argument("--k", type=int, default=4, help="a grid has K×K cells (4)")
    asked.add_argument("--cell", type=int, default=128, help="pixels of a cell's side (128)")
    options = asked.parse_args()
    duration_s = options.minutes * 60
    chats = export(options.folder, options.worlds, duration_s=duration_s, k=options.k, cell=options.cell)
    print(f"{chats} chats in {options.folder / 'train.jsonl'}")


if __name__ == "__main__":
    main()
