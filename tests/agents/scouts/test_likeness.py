"""The scout of likeness, by a server whose vectors are of colours, and images as embeddings."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from support.embedding import Embedding, embedding_server, vector_of
from support.faults import failing

from atlaskit.agents.scouts import Sight, likeness
from atlaskit.agents.scouts.by_likeness import spread
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question
from atlaskit.environment.render import Frame
from atlaskit.errors import FrameError, InputError, Unrecorded, VideoError
from atlaskit.models.cached_embedding import IMAGES_AT_ONCE, embed_images
from atlaskit.models.embedding import Embedder
from atlaskit.models.errors import ModelError, Refused, Unreachable
from atlaskit.video.readers import Pixels
from atlaskit.video.subtitles import Subtitles
from atlaskit.video.video import Video

ROOT = Grid(0.0, 64.0, 4)
"""16 cells of 4 seconds."""
ASKED = Question("Where is it red?", kind="open")


class Coloured(Video):
    """A video that is blue, and red for a while; without its file if `is_missing`."""

    def __init__(self, red_s: tuple[float, float] = (40.0, 44.0), is_missing: bool = False) -> None:
        self.name, self.duration_s, self.fps, self.size = "coloured", 64.0, 25.0, (64, 36)
        self.fingerprint, self.subtitles = f"coloured-{red_s}", Subtitles()
        self.red_s, self.is_missing, self.decoded = red_s, is_missing, 0

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        self.check_file()
        self.decoded += len(times_s)
        width, height = size or self.size
        colours = [(250, 0, 0) if self.red_s[0] <= at < self.red_s[1] else (0, 0, 250) for at in times_s]
        return [np.full((height, width, 3), colour, np.uint8) for colour in colours]

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        self.check_file()
        return float(int(time_s)), float(int(time_s) + 1)

    def check_file(self) -> None:
        if self.is_missing:
            raise VideoError("The file is missing.")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Embedding]:
    monkeypatch.setattr("atlaskit.models.attempts.FIRST_PAUSE_S", 0.01)
    with embedding_server() as running:
        yield running


def sight(video: Video | None = None, cache: Cache | None = None, **options: bool) -> Sight:
    return Sight(video or Coloured(), ASKED, "Find red.", cache or Cache(None), **options)


def test_the_cells_that_resemble_the_question_are_named(server: Embedding) -> None:
    video = Coloured()
    scout = likeness(Embedder(server.url, "colours"))
    found = scout(sight(video), ROOT).by_cell
    assert {cell: hint.score for cell, hint in found.items() if hint.score} == {10: 1.0}
    assert found[10].reason == "a frame resembles what is asked"
    assert scout.__name__ == "likeness(colours, 64)" and video.decoded == 64
    assert pickle.loads(pickle.dumps(scout)).__name__ == scout.__name__, "Ray sends it to other machines"
    assert scout(sight(video), ROOT.expand(10)).by_cell == {}, "it looks at the root grid only"
    sent = [body["messages"] for body in server.bodies if "messages" in body]
    assert len(sent) == 64 and sent[0][0]["role"] == "user" and len(sent[0][0]["content"]) == 1


@pytest.mark.parametrize("most", [1, 16, 31, 100])
def test_frames_are_bounded_and_spread(server: Embedding, most: int) -> None:
    video = Coloured()
    likeness(Embedder(server.url, "colours"), most)(sight(video), ROOT)
    frames = most if most <= 16 else 16 * (most // 16)
    assert video.decoded == frames == sum("messages" in body for body in server.bodies)
    assert [spread(16, 1), spread(16, 4), spread(3, 9)] == [[8], [2, 6, 10, 14], [0, 1, 2]]


def test_everything_is_paid_once_and_a_replay_needs_neither_file_nor_server(server: Embedding, cache: Cache) -> None:
    scout, watched = likeness(Embedder(server.url, "colours"), 16), cache.watched()
    first, count = scout(sight(cache=watched), ROOT), len(server.bodies)
    assert {key.partition(":")[0] for key in watched.touched or ()} == {"hints"}, "a recording holds the hints alone"
    missing = Coloured(is_missing=True)
    assert scout(sight(missing, cache, is_replay=True), ROOT) == first and len(server.bodies) == count
    other = Sight(Coloured(), Question("Where is it blue?", kind="open"), "Find blue.", cache)
    assert 10 not in {cell for cell, hint in scout(other, ROOT).by_cell.items() if hint.score}
    assert len(server.bodies) == count + 1, "another question costs one vector more"
    with pytest.raises(Unrecorded, match="lacks vectors of colours"):
        scout(sight(Coloured((0.0, 4.0)), cache, is_replay=True), ROOT)


def test_a_failure_that_passes_leaves_no_hints_and_says_so(server: Embedding, cache: Cache) -> None:
    server.faults = [failing(500)] * 4
    scout = likeness(Embedder(server.url, "colours"), 16)
    failed = scout(sight(cache=cache), ROOT)
    assert not failed.by_cell and "HTTP 500" in failed.note
    replayed = scout(sight(cache=cache, is_replay=True), ROOT)
    assert replayed == failed, "a replay repeats it"
    assert scout(sight(cache=cache), ROOT).by_cell, "another run asks again"


def test_a_wrong_address_or_model_is_an_error(server: Embedding) -> None:
    server.faults = [failing(404)]
    with pytest.raises(Refused, match="HTTP 404"):
        likeness(Embedder(server.url, "text-only"))(sight(), ROOT)
    with pytest.raises(Unreachable):
        likeness(Embedder("http://127.0.0.1:9/v1", "m", timeout_s=0.2))(sight(), ROOT)
    for wrong in ("colours", None, likeness):
        with pytest.raises(InputError, match=r"likeness needs an ak\.Embedder"):
            likeness(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="most_frames is a whole number"):
        likeness(Embedder(server.url, "m"), 0)


def test_the_vector_of_an_image_is_that_of_its_colour(server: Embedding, cache: Cache) -> None:
    embedder = Embedder(server.url, "colours", image_prompt="Represent the given image.")
    frames = [Frame(Coloured(), at, 32, "native", cache) for at in (41.0, 1.0)]
    assert np.allclose(embedder.embed_image(frames[0]).vectors, [vector_of("red")])
    content = server.bodies[0]["messages"][0]["content"]
    assert content[1] == {"type": "text", "text": "Represent the given image."}
    made = embed_images(embedder, frames, cache)
    assert np.allclose(made, [vector_of("red"), vector_of("blue")])
    count = len(server.bodies)
    assert np.array_equal(embed_images(embedder, frames[::-1], cache, replay=True), made[::-1])
    assert len(server.bodies) == count
    embed_images(Embedder(server.url, "colours"), frames, cache)
    assert len(server.bodies) == count + 2, "another prompt gives other vectors"
    with pytest.raises(InputError, match="image_prompt must be a text"):
        Embedder(server.url, "m", image_prompt=None)  # type: ignore[arg-type]


def test_what_was_paid_before_a_failure_is_kept(server: Embedding, cache: Cache) -> None:
    frames = [Frame(Coloured(), float(at), 32, "native", cache) for at in range(3 * IMAGES_AT_ONCE)]
    embed_images(Embedder(server.url, "colours"), frames[:IMAGES_AT_ONCE], cache)
    server.faults = [failing(500)] * 99
    with pytest.raises(ModelError, match="HTTP 500"):
        embed_images(Embedder(server.url, "colours"), frames, cache)
    server.faults, count = [], len(server.bodies)
    assert len(embed_images(Embedder(server.url, "colours"), frames, cache)) == len(frames)
    assert len(server.bodies) == count + 2 * IMAGES_AT_ONCE
