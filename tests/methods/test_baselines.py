"""Baselines: what each sends to the model, what it costs, and the result it returns."""

from support.model_doubles import Counting
from support.searches import text_of

from atlaskit.agents.verbalize import quote_line
from atlaskit.caching.cache import Cache
from atlaskit.evaluation import baselines
from atlasworld import Oracle, World


def test_uniform_gives_each_frame_the_lines_of_its_stretch(world: World, cache: Cache) -> None:
    oracle = Counting(Oracle(world))
    for subtitles in (True, False):
        baselines.uniform(
            world.drawn, world.questions[0], vlm=oracle, frames=64, size=16, subtitles=subtitles, cache=cache
        )
    with_lines, without = (request.facts for request in oracle.requests)
    spoken = [line for lines in with_lines.subtitles for line in lines]
    assert spoken == list(world.drawn.subtitles.lines), "each line once"
    words = text_of(oracle.requests[0])
    assert all(line.text in words for line in spoken)
    first = with_lines.views[0].grid
    for line in with_lines.subtitles[0]:
        assert f"\n{first.cell_at(line.start_s).index}: {quote_line(line)}" in words
    assert not any(without.subtitles)


def test_blind_and_subtitles_get_no_images(world: World, cache: Cache) -> None:
    oracle = Counting(Oracle(world))
    baselines.blind(world.drawn, world.questions[0], vlm=oracle, cache=cache)
    baselines.subtitles_only(world.drawn, world.questions[0], vlm=oracle, cache=cache)
    nothing, spoken = oracle.requests
    assert not nothing.images and not spoken.images
    words = [str(request.messages) for request in oracle.requests]
    lines = [line.text for line in world.drawn.subtitles.lines]
    assert not any(line in words[0] for line in lines) and all(line in words[1] for line in lines)
