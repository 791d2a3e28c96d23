"""The memory of a run knows how finely each second was seen, and forgets nothing."""

from hypothesis import given
from hypothesis import strategies as st

from atlaskit.environment.memory import DeadZones, Seen

SIGHTS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 20), st.sampled_from([0.5, 1.0, 2.0, 4.0])), min_size=1, max_size=12
)


@given(SIGHTS, st.sampled_from([0.5, 1.0, 2.0, 4.0]))
def test_each_moment_has_the_finest_step_at_which_it_was_shown(
    sights: list[tuple[int, int, float]], step_s: float
) -> None:
    seen = Seen()
    for start_s, length_s, step in sights:
        seen = seen.add(float(start_s), float(start_s + length_s), step)
    ends_s = [end_s for _, end_s, _ in seen.parts]
    assert all(end_s <= start_s for end_s, (start_s, _, _) in zip(ends_s, seen.parts[1:], strict=False))
    unseen = DeadZones(seen.unseen(0.0, 60.0, step_s))
    for moment_s in (second + 0.5 for second in range(60)):
        steps = [step for start_s, length_s, step in sights if start_s <= moment_s < start_s + length_s]
        found = [step for start_s, end_s, step in seen.parts if start_s <= moment_s < end_s]
        assert found == ([min(steps)] if steps else [])
        assert unseen.contain(moment_s) == (not steps or min(steps) > step_s)
