"""VideoAtlas as a Gymnasium environment: the MDP of the paper's §3.1, for libraries that train policies.

An episode is one question about one video. The rules are `environment.Atlas`'s own; here they get numbers for
actions, pixels for observations, the question's score for a reward, and an end. Importing this module registers
`Atlas-v0`, whose action is a dictionary, and `AtlasDiscrete-v0`, whose action is one number. Knows no models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import ImageOps

from atlaskit.benchmarks.atlasworld import atlasworld
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.actions import (
    Action,
    AddToScratchpad,
    Backtrack,
    Claim,
    Expand,
    Finished,
    Investigate,
    MarkPromising,
    Zoom,
)
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Grid, resolution_s, sub_second_depth
from atlaskit.environment.mdp import State, Traversal
from atlaskit.environment.observation import Observation
from atlaskit.environment.question import Answered, Question, Span
from atlaskit.errors import IllegalAction, InputError
from atlaskit.video.opening import open_video
from atlaskit.video.readers import Pixels
from atlaskit.video.subtitles import SubtitleSource
from atlaskit.video.video import LETTERBOX, Video

try:
    import gymnasium
    from gymnasium import spaces
except ModuleNotFoundError as error:
    raise ImportError("atlaskit.gym needs Gymnasium, which is not installed: pip install 'atlaskit[rl]'.") from error

Source: TypeAlias = str | Path | Video | Sequence[str | Path | Video]
Env: TypeAlias = gymnasium.Env[Any, Any]
Policy: TypeAlias = Callable[[Env], Any]
"""From an environment, as it stands, to the next action in that environment's own form."""

ACTIONS: dict[str, Callable[[int], Action]] = {
    "expand": Expand,
    "backtrack": lambda cell: Backtrack(),
    "mark_promising": lambda cell: MarkPromising((cell,)),
    "zoom": Zoom,
    "investigate_before": lambda cell: Investigate(cell, "before"),
    "investigate_after": lambda cell: Investigate(cell, "after"),
    "add_to_scratchpad": lambda cell: AddToScratchpad((Claim(cell, ""),)),
    "finished": lambda cell: Finished(),
}
KINDS = tuple(ACTIONS)
"""The kinds of action, in the order of their numbers."""
CELL_KINDS = tuple(kind for kind in KINDS if kind not in ("backtrack", "finished"))
"""The kinds that name a cell."""

ANSWERABLE = ("choice", "when", "count")
DRAWN = ("choice", "when")
"""The kinds of question that are drawn from AtlasWorld."""
WORLD_SIZE = (128, 72)
"""(width, height) of a drawn world's frames in pixels."""
TRIES = 100
"""How many worlds are looked through for a question before that counts as impossible."""


class AtlasEnv(gymnasium.Env[Pixels, Any]):
    """One question about one video, explored by actions that name cells and answered by the last of them.

    The video is an open `Video` or what `open_video` takes (a path goes to other processes, an open video does not);
    its question is of kind choice, when or count, and its answer is known. With neither, each `reset` draws an
    AtlasWorld of `duration_s` seconds and one of its questions from `np_random`, so from the seed alone.

    **Observation**, uint8 (k·cell, k·cell, 3): the current grid, dead cells black; after a zoom or an investigation,
    the frame or the context scan asked for, on mid-grey. What is said in words is in `info`.

    **Action** `{"kind", "cell", "answer"}`, whole numbers: one of `KINDS`, the cell it names, and, with finished, the
    index of the choice or the number counted. The other numbers are not looked at. A when-question is answered by
    the time from the start of the first cell in the evidence to the end of the last, whatever the number.

    **End.** With depth-first traversal, finished ends the episode (*terminated*). With breadth-first, it leads to the
    region that was marked first among those still to see, and ends the episode when there is none; a region without
    evidence, and without marked regions in it, becomes a dead zone. An episode that takes `max_steps` is *truncated*.

    **Reward**: minus `step_cost` a step, plus `Question.score` of the answer at the end (paper §3.1).

    **An illegal action** costs a step, changes nothing and raises nothing: `info["illegal"]` says why. `info` also
    has the masks of what is legal: `kind_mask` (8,), `cell_mask` (8, k²) and `answer_mask` (n_answers,), int8.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 2}  # noqa: RUF012  # Gymnasium's own form
    question: Question
    atlas: Atlas
    state: State
    seen: Observation
    """What the state shows."""
    steps: int
    """Steps taken in this episode, illegal ones included."""

    def __init__(
        self,
        video: Source | None = None,
        question: Question | None = None,
        *,
        duration_s: float = 600.0,
        k: int = 4,
        cell: int = 64,
        max_depth: int | Literal["auto"] = "auto",
        traversal: Traversal = "dfs",
        max_steps: int = 32,
        n_answers: int = 8,
        step_cost: float = 0.0,
        subtitles: SubtitleSource | bool = True,
        cache: Cache | str | Path | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Set up the task, or the distribution of tasks; raise InputError for one that cannot be.

        `n_answers` is raised to the number of choices of a given question. `subtitles` is a file to read with the
        video, or whether what the video has is told of. `cache` is a Cache or its folder: the usual one if not given,
        but drawn worlds, which hardly come again, are then kept in memory, for one episode.
        """
        for name, number in (("max_steps", max_steps), ("n_answers", n_answers)):
            if number < 1:
                raise InputError(f"{name} is at least 1, got {number}.")
        if (video is None) != (question is None):
            raise InputError("Give a video and a question about it, or neither: then AtlasWorlds are drawn.")
        if video is None and not isinstance(subtitles, bool):
            raise InputError(f"An AtlasWorld has its own lines: subtitles is True or False, not {subtitles!r}.")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InputError(f'render_mode is "rgb_array" or None, got {render_mode!r}.')
        self.max_steps, self.step_cost, self.render_mode = max_steps, step_cost, render_mode
        self.duration_s, self.n_answers = duration_s, max(n_answers, len(question.choices) if question else 0)
        self._cache = Cache(cache) if isinstance(cache, (str, Path)) else cache
        self._look: dict[str, Any] = {"k": k, "cell": cell, "max_depth": max_depth, "traversal": traversal}
        self._look |= {"subtitles": subtitles not in (False, None), "labels": "none"}  # a cell's place is its number
        self._task: tuple[Video, Question] | None = None
        if video is not None and question is not None:
            _check_question(question, self.n_answers)
            self._task = open_video(video, None if isinstance(subtitles, bool) else subtitles), question
        self._begin(np.random.default_rng(0))  # so that settings which cannot be are told of now
        self._is_over = True
        side, size = k * cell, self.atlas.root.size
        self.observation_space = spaces.Box(0, 255, (side, side, 3), np.uint8)
        self.action_space: spaces.Space[Any] = spaces.Dict(
            {
                "kind": spaces.Discrete(len(KINDS)),
                "cell": spaces.Discrete(size),
                "answer": spaces.Discrete(self.n_answers),
            }
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Pixels, dict[str, Any]]:
        """Begin an episode at the root: of the given task, or of one drawn from the seed. There are no options."""
        super().reset(seed=seed)
        self._begin(self.np_random)
        return self._picture(), self._info()

    def step(self, action: Any) -> tuple[Pixels, float, bool, bool, dict[str, Any]]:
        """Act; return (observation, reward, terminated, truncated, info). Raises ResetNeeded after the end."""
        if self._is_over:
            raise gymnasium.error.ResetNeeded("The episode is over, or was not begun: call reset first.")
        self.steps += 1
        illegal = ""
        try:
            self._act(action)
        except IllegalAction as error:
            illegal = str(error)
        self.seen = self.atlas.observe(self.state)
        terminated = self.state.finished
        truncated = not terminated and self.steps >= self.max_steps
        self._is_over = terminated or truncated
        reward = (self.question.score(self.prediction) if terminated else 0.0) - self.step_cost
        return self._picture(), reward, terminated, truncated, self._info(illegal)

    def render(self) -> Any:
        """Return the picture that was observed last, uint8 (k·cell, k·cell, 3), or None without a render mode."""
        return None if self.render_mode is None else self._picture()

    @property
    def prediction(self) -> Answered | None:
        """The answer as it stands: the number that came with finished, or the time that the evidence spans."""
        items = self.state.scratchpad.items
        if self.question.kind != "when":
            return self._answered
        return (min(i.start_s for i in items), max(i.end_s for i in items)) if items else None

    def legal_actions(self) -> list[dict[str, int]]:
        """Return every action that is legal now: the legal set, without the cells whose frame cannot be decoded."""
        if self._is_over:
            return []
        legal, unreadable = self.seen.legal, self.seen.view.unreadable
        cells = {
            "expand": legal.expand,
            "mark_promising": legal.mark,
            "zoom": [cell for cell in legal.zoom if cell not in unreadable],
            "investigate_before": legal.investigate_before,
            "investigate_after": legal.investigate_after,
            "add_to_scratchpad": [cell for cell in legal.add if cell not in unreadable],
        }
        found = [as_action(kind, cell) for kind in CELL_KINDS for cell in cells[kind]]
        found += [as_action("backtrack")] if legal.backtrack else []
        return found + [as_action("finished", answer=answer) for answer in range(self._possible_answers)]

    def encode(self, action: dict[str, int]) -> Any:
        """Return a dictionary action in this environment's own form."""
        return action

    def decode(self, action: Any) -> dict[str, int]:
        """Return an action of this environment as a dictionary."""
        return {name: int(number) for name, number in action.items()}

    @property
    def _possible_answers(self) -> int:
        return len(self.question.choices) or self.n_answers

    def _draw(self, rng: np.random.Generator) -> tuple[Video, Question]:
        for _ in range(TRIES):
            world = atlasworld(int(rng.integers(2**31)), self.duration_s, size=WORLD_SIZE)
            questions = [question for question in world.questions if question.kind in DRAWN]
            for question in questions:
                _check_question(question, self.n_answers)
            if questions:
                return world.drawn, questions[int(rng.integers(len(questions)))]
        raise InputError(f"{TRIES} worlds of {self.duration_s:g} s had no question to ask: take longer ones.")

    def _begin(self, rng: np.random.Generator) -> None:
        """Stand at the root of the given task's video, or of a drawn one's."""
        video, self.question = self._task or self._draw(rng)
        cache = self._cache or (default_cache() if self._task else Cache(None))
        self.atlas = Atlas(video, cache=cache, **self._look)
        self.state = self.atlas.start()
        self.seen = self.atlas.observe(self.state)
        self.steps, self._is_over = 0, False
        self._answered: int | None = None

    def _act(self, action: Any) -> None:
        if not _holds(self.action_space, action):
            raise IllegalAction(f"{action!r:.80} is not in the action space, {self.action_space}.")
        chosen = self.decode(action)
        kind, answer = KINDS[chosen["kind"]], chosen["answer"]
        if kind == "finished" and answer >= self._possible_answers:
            raise IllegalAction(f"There is no choice {answer}: choices are 0 to {self._possible_answers - 1}.")
        state = self.atlas.act(self.state, ACTIONS[kind](chosen["cell"]))
        if state.finished and state.marked:
            state = _next_region(self.atlas, state)
        self.state, self._answered = state, answer if state.finished else None

    def _picture(self) -> Pixels:
        side = self.atlas.root.k * self.atlas.cell
        shown = (self.seen.looking_at or self.seen.view).image
        return np.array(ImageOps.pad(shown, (side, side), color=LETTERBOX))

    def _info(self, illegal: str = "") -> dict[str, Any]:
        """Return what is told beside the picture: new arrays, numbers and tuples, which vector environments stack."""
        kinds, cells = np.zeros(len(KINDS), np.int8), np.zeros((len(KINDS), self.atlas.root.size), np.int8)
        for action in self.legal_actions():
            kinds[action["kind"]] = 1
            if KINDS[action["kind"]] in CELL_KINDS:
                cells[action["kind"], action["cell"]] = 1
        grid = self.state.grid
        return {
            "kind_mask": kinds,
            "cell_mask": cells,
            "answer_mask": (np.arange(self.n_answers) < self._possible_answers).astype(np.int8),
            "question": self.question.text,
            "question_kind": self.question.kind,
            "choices": self.question.choices,
            "subtitles": tuple((line.start_s, line.end_s, line.text) for line in self.seen.subtitles),
            "depth": self.state.depth,
            "interval_s": np.array([grid.start_s, grid.end_s]),
            "evidence": tuple(item.timestamp_s for item in self.state.scratchpad),
            "queued": len(self.state.marked),
            "illegal": illegal,
        }


class DiscreteAtlasEnv(AtlasEnv):
    """`AtlasEnv` with one number for an action: 6·k² of the kinds that name a cell, backtrack, and the answers.

    The number of kind c of `CELL_KINDS` at a cell is c·k² + cell; 6·k² is backtrack; 6·k² + 1 + answer is finished.
    """

    def __init__(self, video: Source | None = None, question: Question | None = None, **settings: Any) -> None:
        """Take what `AtlasEnv` takes."""
        super().__init__(video, question, **settings)
        self.action_space = spaces.Discrete(self._backtrack + 1 + self.n_answers)

    @property
    def _backtrack(self) -> int:
        return len(CELL_KINDS) * self.atlas.root.size

    def encode(self, action: dict[str, int]) -> int:
        """Return the number of a dictionary action."""
        kind = KINDS[action["kind"]]
        if kind in CELL_KINDS:
            return CELL_KINDS.index(kind) * self.atlas.root.size + int(action["cell"])
        return self._backtrack + (1 + int(action["answer"]) if kind == "finished" else 0)

    def decode(self, action: Any) -> dict[str, int]:
        """Return the dictionary action of a number; what that kind does not look at is 0."""
        number = int(action)
        if number < self._backtrack:
            kind, cell = divmod(number, self.atlas.root.size)
            return as_action(CELL_KINDS[kind], cell)
        answer = number - self._backtrack - 1
        return as_action("finished", answer=answer) if answer >= 0 else as_action("backtrack")

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which numbers are legal now, bool (n,): the convention of sb3-contrib's MaskablePPO."""
        mask = np.zeros(self.action_space.n, np.bool_)  # type: ignore[attr-defined]  # a Discrete, by the constructor
        mask[[self.encode(action) for action in self.legal_actions()]] = True
        return mask


def as_action(kind: str, cell: int = 0, answer: int = 0) -> dict[str, int]:
    """Return the dictionary action of one of `KINDS`."""
    return {"kind": KINDS.index(kind), "cell": cell, "answer": answer}


def random_policy(env: Env, rng: np.random.Generator) -> Any:
    """Return one of the legal actions, each as likely as any other."""
    base = _base(env)
    legal = base.legal_actions()
    return base.encode(legal[int(rng.integers(len(legal)))])


def greedy_policy(env: Env) -> Any:
    """Return what an oracle would do: it knows the right answer and when its evidence is shown, and goes there.

    It keeps a frame of each wanted interval, opening (or marking) the cell that holds the middle of the next one
    until it sees it, and then finishes with the truth. For a when-question, it keeps the finest cells at both ends.
    """
    base = _base(env)
    state, grid, truth = base.state, base.state.grid, base.question.answer
    finish = base.encode(as_action("finished", answer=truth if isinstance(truth, int) else 0))
    missing = [goal for goal in _goals(base) if not state.scratchpad.within(*goal)]
    for goal in missing:
        middle_s = sum(goal) / 2
        if grid.start_s <= middle_s < grid.end_s:
            action = _towards(base, goal, middle_s)
            if action is not None:
                return base.encode(action)
            if state.rules.traversal == "dfs":  # it falls between two frames: looking elsewhere would not help
                return finish
    return base.encode(as_action("backtrack")) if missing and base.seen.legal.backtrack else finish


def rollout(env: Env, policy: Policy, seed: int | None = None) -> tuple[float, int]:
    """Play one episode; return (the sum of its rewards, its steps)."""
    env.reset(seed=seed)
    total, steps, is_over = 0.0, 0, False
    while not is_over:
        _, reward, terminated, truncated, _ = env.step(policy(env))
        total, steps, is_over = total + float(reward), steps + 1, terminated or truncated
    return total, steps


def _holds(space: spaces.Space[Any], action: Any) -> bool:
    try:
        return action in space
    except OverflowError:  # Gymnasium 1.0, asked about a number of more than 64 bits
        return False


def _base(env: Env) -> AtlasEnv:
    base = env.unwrapped
    if not isinstance(base, AtlasEnv):
        raise InputError(f"This policy plays an AtlasEnv, not a {type(base).__name__}.")
    return base


def _goals(env: AtlasEnv) -> tuple[Span, ...]:
    """Return the intervals that evidence is wanted of; for a when-question, one finest cell's length at each end."""
    question, rules, k = env.question, env.atlas.rules, env.atlas.k
    if not isinstance(question.answer, tuple):
        return question.positions_s
    start_s, end_s = question.answer
    finest_s = resolution_s(rules.duration_s, k, min(rules.max_depth, sub_second_depth(rules.duration_s, k)))
    return (start_s, min(end_s, start_s + finest_s)), (max(start_s, end_s - finest_s), end_s)


def _towards(env: AtlasEnv, goal: Span, middle_s: float) -> dict[str, int] | None:
    """Return the action that brings evidence of a goal, or brings it nearer; None where this grid has neither."""
    grid, legal = env.state.grid, env.legal_actions()
    deeper = "expand" if env.state.rules.traversal == "dfs" else "mark_promising"
    in_goal = [cell.index for cell in grid.cells if goal[0] <= cell.midpoint_s < goal[1]]
    nearer = as_action(deeper, grid.cell_at(middle_s).index)
    if env.question.kind != "when" or nearer not in legal:  # a coarse cell would say when too coarsely
        for index in in_goal:
            if (keep := as_action("add_to_scratchpad", index)) in legal:
                return keep
    return nearer if nearer in legal else None


def _next_region(atlas: Atlas, state: State) -> State:
    """Leave a finished region for the one marked first, with all evidence kept.

    The region is dead from then on if it gave no evidence and nothing in it is still to be seen (paper §3.1, M−).
    """
    region, zones = state.region, state.dead_zones
    following, *rest = state.marked
    is_promising = any(_is_within(grid, region) for grid in state.marked)
    if not is_promising and not state.scratchpad.within(region.start_s, region.end_s).items:
        zones = zones.add(region.start_s, region.end_s)
    return replace(atlas.start(following, zones, state.scratchpad), marked=tuple(rest))


def _is_within(grid: Grid, region: Grid) -> bool:
    return grid.path[: region.depth] == region.path


def _check_question(question: Question, n_answers: int) -> None:
    """Raise InputError for a question that numbers cannot answer, or whose score cannot be known."""
    if question.kind not in ANSWERABLE:
        raise InputError(
            f"A question of kind {question.kind!r} is answered in words, which are no numbered action: "
            f"ask one of kind {', '.join(ANSWERABLE)}."
        )
    if question.answer is None:
        raise InputError(f"The true answer of {question.text!r} is not known, so there is no reward.")
    needed = question.answer + 1 if question.kind == "count" else len(question.choices)  # type: ignore[operator]
    if needed > n_answers:
        raise InputError(f"{question.text!r} needs {needed} answers and there are {n_answers}: raise n_answers.")


gymnasium.register("Atlas-v0", entry_point="atlaskit.gym:AtlasEnv")
gymnasium.register("AtlasDiscrete-v0", entry_point="atlaskit.gym:DiscreteAtlasEnv")
