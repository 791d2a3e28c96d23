"""`AtlasEnv`, whose actions are dictionaries, and `DiscreteAtlasEnv`, whose actions are numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from PIL import ImageOps

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.atlas import Atlas, Observation
from atlaskit.environment.mdp import State, Traversal
from atlaskit.environment.question import Answered, Question
from atlaskit.environment.tiles import PATCH_PX, Fit
from atlaskit.errors import InputError
from atlaskit.gym.actions import (
    CELL_KINDS,
    KINDS,
    action_at,
    action_space,
    as_action,
    is_in,
    legal_actions,
    masks,
)
from atlaskit.gym.episode import AtlasEpisode
from atlaskit.gym.tasks import Reward, Source, draw_task, given_task, named_task
from atlaskit.video.readers import LETTERBOX, Pixels
from atlaskit.video.subtitles.files import SubtitleSource


class AtlasEnv(gymnasium.Env[Pixels, Any]):
    """One question about one video: the agent explores by actions that name cells, then answers.

    The question is of kind choice, when or count, and its true answer is known. If neither a video
    nor a question is given, each `reset` draws a world of `duration_s` seconds and one of the
    questions of `task` about it, from the environment's seed alone.

    **Observation**, uint8 (height, width, 3): the current grid, with dead cells black. After zoom
    or investigate, the frame or the context scan replaces it, on mid-grey. With square cells,
    height and width are k·cell. Subtitles are in `info`.

    **Action** `{"kind", "cell", "answer"}`, integers: the index of one of `KINDS`; the cell it
    names; and, for finished, the index of the choice or the count. Numbers that a kind does not use
    are ignored. A when-question is answered by the evidence: the answer is the interval from the
    start of its first cell to the end of its last. If the question asks for several intervals, each
    cell is an interval, and cells that touch are joined.

    **End of an episode.** With depth-first traversal, finished ends the episode (*terminated*).
    With breadth-first traversal, finished moves on to the region that was marked first, and ends
    the episode if there is none. A region that is left without evidence and without marked cells
    becomes a dead zone. After `max_steps` steps, the episode is *truncated*.

    **Reward**: minus `step_cost` for each step and, at the end, plus `Question.score` of the answer
    (paper §3.1) or the score of another `reward`. If the reward limits how many frames are kept,
    further frames cannot be added.

    **Illegal actions** cost a step, change nothing and raise nothing; `info["illegal"]` says why.
    `info` also has the masks of the legal actions: `kind_mask` (8,), `cell_mask` (8, k²) and
    `answer_mask` (n_answers,), all int8.
    """

    # Gymnasium requires a plain dictionary.
    metadata = {"render_modes": ["rgb_array"], "render_fps": 2}  # noqa: RUF012
    episode: AtlasEpisode
    """The current episode, which holds the rules. Each step replaces it by a changed copy, so that
    copies of the environment do not affect each other."""

    def __init__(
        self,
        video: Source | None = None,
        question: Question | None = None,
        *,
        task: str = "answer",
        reward: Reward | None = None,
        worlds: str = "",
        duration_s: float = 600.0,
        k: int = 4,
        cell: int = 64,
        fit: Fit = "contain",
        patch: int = PATCH_PX,
        max_depth: int | Literal["auto"] = "auto",
        traversal: Traversal = "dfs",
        max_steps: int = 32,
        n_answers: int = 8,
        step_cost: float = 0.0,
        subtitles: SubtitleSource | bool = True,
        cache: Cache | str | Path | None = None,
        render_mode: str | None = None,
        pixels: bool = True,
    ) -> None:
        """Set up the task, or the distribution of tasks.

        Args:
            video: A file or a list of files, as for `open_video`, or an open `Video`, which cannot
                be sent to other processes. If both `video` and `question` are None, they are drawn.
            question: A question about the video.
            task: One of `TASKS`, which say what is asked and what is rewarded. With a question of
                your own, only the reward of the task counts.
            reward: Replaces the reward of the task.
            worlds: The name under which a package has registered its worlds, from which tasks are
                drawn; "" for the first name in alphabetical order.
            duration_s: Duration of a drawn world in seconds.
            k: A grid has k×k cells.
            cell: Width and height of a cell in pixels; of a native cell, the longer of the two.
            fit: How a frame fills its cell; "native" gives cells the video's shape.
            patch: Pixels along each side of an image token, to which native cells are rounded.
            max_depth: The deepest grid that can be opened; see `Atlas`.
            traversal: Whether the agent opens cells ("dfs") or marks them ("bfs").
            max_steps: Steps after which an episode is truncated.
            n_answers: Answers in the action space; at least the choices of the given question.
            step_cost: The amount by which each step lowers the reward.
            subtitles: A subtitle file for the video, or whether `info` has the video's own lines.
            cache: A Cache, or its folder. None: the default cache for a given video, and for drawn
                worlds a cache in memory that lasts one episode.
            render_mode: "rgb_array", or None.
            pixels: Whether observations are drawn. If not, they are black, which saves time for a
                policy that reads `env.observation` or no image at all.

        Raises:
            InputError: An argument breaks a rule.
        """
        _check_settings(max_steps, n_answers, render_mode, self.metadata["render_modes"])
        self.max_steps = max_steps
        self.step_cost = step_cost
        self.render_mode = render_mode
        self._are_drawn = pixels
        self.duration_s = duration_s
        self.n_answers = n_answers
        if question is not None:
            self.n_answers = max(n_answers, len(question.choices))
        self._cache = Cache(cache) if isinstance(cache, (str, Path)) else cache
        self._atlas_settings: dict[str, Any] = {
            "k": k,
            "cell": cell,
            "fit": fit,
            "patch": patch,
            "max_depth": max_depth,
            "traversal": traversal,
            "subtitles": subtitles not in (False, None),
            "labels": "none",  # the position of a cell tells its number
        }
        self._drawn_task = named_task(task)
        self._worlds = worlds
        self.rewarded = reward or self._drawn_task.reward
        self._task = given_task(video, question, subtitles, self.n_answers, self.rewarded)
        # Invalid settings raise here, and not at the first reset.
        self._begin(np.random.default_rng(0))
        self._has_begun = False
        width, height = self.observation.view.size
        self.observation_space = spaces.Box(0, 255, (height, width, 3), np.uint8)
        self.action_space: spaces.Space[Any] = action_space(self.atlas.root.size, self.n_answers)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Pixels, dict[str, Any]]:
        """Begin an episode at the root grid; return (observation, info).

        Args:
            seed: Seeds the drawing of tasks; None continues the random stream.
            options: Ignored; there are none.
        """
        super().reset(seed=seed)
        self._begin(self.np_random)
        self._has_begun = True
        return self._seen(), self._info()

    def step(self, action: Any) -> tuple[Pixels, float, bool, bool, dict[str, Any]]:
        """Take an action; return (observation, reward, terminated, truncated, info).

        Raises:
            gymnasium.error.ResetNeeded: The episode is over or has not begun.
        """
        if self._is_over:
            raise gymnasium.error.ResetNeeded(
                "The episode is over or has not begun; call reset first."
            )
        self.episode = self.episode.copy()
        illegal = self._act(action)
        terminated = self.state.finished
        truncated = self._is_over and not terminated
        reward = self.episode.score - self.step_cost
        return self._seen(), reward, terminated, truncated, self._info(illegal)

    def render(self) -> Any:
        """Return the last observation, uint8 (height, width, 3); None without a render mode."""
        if self.render_mode is None:
            return None
        return self._pixels()

    @property
    def question(self) -> Question:
        """The question of this episode."""
        return self.episode.question

    @property
    def atlas(self) -> Atlas:
        """The video of this episode as an environment."""
        return self.episode.atlas

    @property
    def state(self) -> State:
        """Position and memory of the agent."""
        return self.episode.state

    @property
    def observation(self) -> Observation:
        """The observation of `state`."""
        return self.episode.observation

    @property
    def steps(self) -> int:
        """Steps taken in this episode, including those with an illegal action."""
        return self.episode.steps

    @property
    def prediction(self) -> Answered | None:
        """The number given with finished or, for a when-question, what the evidence covers so far;
        None without either."""
        return self.episode.prediction

    def legal_actions(self) -> list[dict[str, int]]:
        """Return every action that is legal now, without cells whose frame cannot be decoded."""
        if self._is_over:
            return []
        return legal_actions(self.episode.moves(), self._n_possible_answers)

    def encode(self, action: dict[str, int]) -> Any:
        """Return a dictionary action in the form of this environment's action space."""
        return action

    def decode(self, action: Any) -> dict[str, int]:
        """Return an action of this environment as a dictionary action."""
        return {name: int(number) for name, number in action.items()}

    @property
    def _n_possible_answers(self) -> int:
        return len(self.question.choices) or self.n_answers

    @property
    def _is_over(self) -> bool:
        return not self._has_begun or self.episode.is_over

    def _begin(self, rng: np.random.Generator) -> None:
        """Start at the root grid of the given task's video, or of a drawn one."""
        if self._task is not None:
            video, question = self._task
            cache = self._cache or default_cache()
        else:
            video, question = draw_task(
                rng, self.duration_s, self.n_answers, self._drawn_task, self._worlds
            )
            cache = self._cache or Cache(None)
        atlas = Atlas(video, cache=cache, **self._atlas_settings)
        self.episode = AtlasEpisode(atlas, question, self.max_steps, self.step_cost, self.rewarded)

    def _act(self, action: Any) -> str:
        """Take an action; return why it was illegal, or ""."""
        if not is_in(self.action_space, action):
            return self.episode.refuse(
                f"{action!r:.80} is not in the action space, {self.action_space}."
            )
        chosen = self.decode(action)
        kind = KINDS[chosen["kind"]]
        answer = chosen["answer"]
        if kind == "finished" and answer >= self._n_possible_answers:
            return self.episode.refuse(
                f"answer must be from 0 to {self._n_possible_answers - 1}; got {answer}."
            )
        return self.episode.take(action_at(kind, chosen["cell"]), answer)

    def _seen(self) -> Pixels:
        """Return the observation in pixels, which are black if observations are not drawn."""
        if self._are_drawn:
            return self._pixels()
        width, height = self.observation.view.size
        return np.zeros((height, width, 3), np.uint8)

    def _pixels(self) -> Pixels:
        view = self.observation.view
        shown = self.observation.looking_at or view
        return np.array(ImageOps.pad(shown.image, view.size, color=LETTERBOX))

    def _info(self, illegal: str = "") -> dict[str, Any]:
        """Return the `info` of an observation, in types that vector environments can stack."""
        grid = self.state.grid
        kinds, cells = masks(self.legal_actions(), self.atlas.root.size)
        subtitles = list[tuple[float, float, str]]()
        for line in self.observation.subtitles:
            subtitles.append((line.start_s, line.end_s, line.text))
        return {
            "kind_mask": kinds,
            "cell_mask": cells,
            "answer_mask": (np.arange(self.n_answers) < self._n_possible_answers).astype(np.int8),
            "question": self.question.text,
            "question_kind": self.question.kind,
            "several": self.question.several,
            "choices": self.question.choices,
            "subtitles": tuple(subtitles),
            "depth": self.state.depth,
            "interval_s": np.array([grid.start_s, grid.end_s]),
            "evidence": self.state.scratchpad.times_s,
            "queued": len(self.state.marked),
            "illegal": illegal,
        }


def _check_settings(
    max_steps: int, n_answers: int, render_mode: str | None, render_modes: list[str]
) -> None:
    """Raise InputError for settings that do not depend on the task."""
    for name, number in (("max_steps", max_steps), ("n_answers", n_answers)):
        if number < 1:
            raise InputError(f"{name} must be at least 1; got {number}.")
    if render_mode not in (None, *render_modes):
        raise InputError(f'render_mode must be "rgb_array" or None; got {render_mode!r}.')


class DiscreteAtlasEnv(AtlasEnv):
    """`AtlasEnv` with numbers for actions: 6·k² that name a cell, backtrack, and the answers.

    The kind with index c in `CELL_KINDS`, at a cell, has the number c·k² + cell; backtrack has
    6·k², and finished has 6·k² + 1 + answer.
    """

    def __init__(
        self, video: Source | None = None, question: Question | None = None, **settings: Any
    ) -> None:
        """Take the same arguments as `AtlasEnv`."""
        super().__init__(video, question, **settings)
        self.action_space = spaces.Discrete(self._backtrack + 1 + self.n_answers)

    @property
    def _backtrack(self) -> int:
        """The number of backtrack."""
        return len(CELL_KINDS) * self.atlas.root.size

    def encode(self, action: dict[str, int]) -> int:
        """Return the number of a dictionary action."""
        kind = KINDS[action["kind"]]
        if kind in CELL_KINDS:
            return CELL_KINDS.index(kind) * self.atlas.root.size + int(action["cell"])
        if kind == "finished":
            return self._backtrack + 1 + int(action["answer"])
        return self._backtrack

    def decode(self, action: Any) -> dict[str, int]:
        """Return the dictionary action of a number; entries that its kind does not use are 0."""
        number = int(action)
        if number < self._backtrack:
            kind, cell = divmod(number, self.atlas.root.size)
            return as_action(CELL_KINDS[kind], cell)
        answer = number - self._backtrack - 1
        if answer >= 0:
            return as_action("finished", answer=answer)
        return as_action("backtrack")

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which numbers are legal, bool (n,), as sb3-contrib's MaskablePPO expects."""
        # The constructor made the space a Discrete.
        mask = np.zeros(self.action_space.n, np.bool_)  # type: ignore[attr-defined]
        for action in self.legal_actions():
            mask[self.encode(action)] = True
        return mask
