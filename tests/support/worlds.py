"""Scripts of AtlasWorld for property-based tests, and a check of their frames."""

import numpy as np
from hypothesis import strategies as st
from PIL import Image

from atlasworld.generator import write_script
from atlasworld.renderer import SceneRenderer
from atlasworld.timeline import COLOURS, Script, WorldEvent

scripts = st.builds(
    write_script,
    st.integers(-(2**40), 2**40),
    st.one_of(st.floats(10, 130), st.floats(10, 1200), st.sampled_from([10, 11, 24, 40, 41, 120, 600, 1200])),
    fps=st.sampled_from([12, 12, 2, 5, 25, 30]),
    size=st.sampled_from([(640, 360), (320, 180), (480, 480), (1280, 544)]),
)


def shows_object(frame: Image.Image, script: Script, event: WorldEvent, index: int, tolerance: float = 60) -> bool:
    """Return whether the frame at an index has the event's colour where its object should be."""
    pose = SceneRenderer(script).pose(event, index)
    reach = pose.diameter / 12
    box = (pose.x - reach, pose.y - reach, pose.x + reach, pose.y + reach)
    patch = np.asarray(frame.crop(tuple(round(side) for side in box)), float)
    inside = patch[:, : max(1, round(min(patch.shape[1], script.size[0] - box[0])))]
    return bool(np.linalg.norm(np.median(inside, axis=(0, 1)) - COLOURS[event.colour]) < tolerance)
