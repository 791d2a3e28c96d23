"""`evaluate`: asks many questions with one method and returns a table with one row each (paper §4).

It takes `Case`s, or a table that `cases_of` turns into some, and knows no published dataset. A
reply that is cached is not asked for again: an evaluation that was killed continues where it
stopped, and repeating a finished one makes no model calls.
Cases and settings are checked before the first question, so that a mistake in them costs no call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit.agents.budget import Budget
from atlaskit.agents.settings import Search, named_search
from atlaskit.benchmarks.case import Case, MakesModel, model_for
from atlaskit.benchmarks.datasets.table import Rows, cases_of
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.errors import AtlasError, InputError, check_flags, check_whole, printable, reason
from atlaskit.evaluation.baselines import METHODS, settings_of, signature_of
from atlaskit.evaluation.card import OF_THE_RUN, common_settings, questions_card, run_card
from atlaskit.evaluation.costs import Spending
from atlaskit.evaluation.executors import ENGINES, Engine, Row, on_ray, on_threads
from atlaskit.evaluation.rows import ASIDE, OF_RESULTS, Aside, case_row, failure_row
from atlaskit.evaluation.tables import prediction_column
from atlaskit.models.client import VLM
from atlaskit.models.prices import Prices
from atlaskit.models.protocol import Model, computes, now_s
from atlaskit.models.serving.server import as_model, copies_for
from atlaskit.progress import bar as progress_bar
from atlaskit.runs.result import Result
from atlaskit.video.video import Video

if TYPE_CHECKING:
    import pandas as pd
    from tqdm import tqdm

MOST_REFUSED = 3
"""Questions in a row that the model refuses for the same reason before the evaluation stops."""
MOST_COMPUTED = 2
"""Most questions at once if no call waits for a server. Python computes in one thread at a time, so
more threads gain nothing, and switching among sixteen takes a third more processor time."""
NEWS_S = 2.0
"""Least seconds between two calls of `on_rows`."""
RESERVED = frozenset({"vlm", "cache"})
"""Settings of every method that `evaluate` passes itself."""
JSON_SCALARS = (str, int, float, bool, type(None))


class EvaluationStopped(AtlasError):
    """The model refuses all questions, as with a wrong key, or the total is reached.

    Attributes:
        table: The rows of the finished questions, those that failed included. The replies are
            cached, so the same evaluation continues where it stopped.
    """

    def __init__(self, message: str, table: pd.DataFrame) -> None:
        super().__init__(message)
        self.table = table


def evaluate(
    cases: Iterable[Case] | Rows,
    method: str | Callable[..., Result] = "video-rlm",
    *,
    vlm: Model | str | MakesModel,
    video: str | Path | Video | None = None,
    parallel: int = 4,
    cache: Cache | None = None,
    progress: bool = True,
    engine: Engine = "local",
    address: str | None = None,
    traces: str | Path | None = None,
    prices: Prices | None = None,
    total: Budget | Spending | None = None,
    on_rows: Callable[[pd.DataFrame], None] | None = None,
    scored: bool = True,
    **settings: Any,
) -> pd.DataFrame:
    """Ask every question with one method and return a table with one row each, in order.

    A question that fails has a row with its `failure` and counts as wrong; no question is left out.
    If the model refuses three questions in a row for the same reason (a wrong key, no such model or
    path, a server that does not start), all others would fail too, and the evaluation stops.
    `score` is `Question.score`: 1 or 0 for choices and counts, F1 for words, temporal IoU for
    intervals; `right` is a score of at least 0.5.

    Args:
        cases: The questions with their videos; the true answers must be known. Cases of a
            benchmark; or a table of your own, as a file, a DataFrame or dictionaries (see
            `ak.benchmarks.table`); or `ak.Question`s about the video `video`.
        method: One of `baselines.METHODS` by name, or a function with the signature of `ask`.
        vlm: A model, an address or a name as for `ask`; or, for worlds, a function that makes one
            for each world, such as a class of oracles.
        video: The video of questions that name none.
        parallel: How many questions run at once; at most 2 of a named method on this machine in a
            replay, or if oracles answer. Only the seconds in the rows depend on it.
        cache: The cache for frames and replies.
        engine: "local" runs threads of this process. "ray" runs Ray tasks: the nodes must find the
            videos at the same paths and reach the model's address, each node has its own cache, and
            replies return to `cache`. The rows are the same.
        address: The Ray cluster to join; "auto" is the one that runs here. Without it, tasks run on
            the cluster that this process has joined, or on a local one.
        traces: A folder to save each result in; all nodes must share it. The column `trace` names
            the file, or is "" for a question that failed; `ak.widgets.RunTable(rows)` opens it.
        prices: What the model's tokens cost. They add the columns `usd`, of everything that a
            question needs, and `video_usd`, of the part that is paid once a video.
        total: What all questions together may take; `budget=` of the settings is for each. A total
            counts what replies cost when they were generated, from the cache or not, and is
            exceeded by at most the calls in flight. Several evaluations can share a `Spending`. On
            a cluster it is checked after each question, not after each call.
        on_rows: Called with the rows so far after the first question, and then at most every two
            seconds, in this thread.
        scored: Whether all true answers must be known. If not, a question whose answer is unknown
            is asked too; its score is NaN, and it is not right.
        **settings: Keyword arguments of the method, such as `search` of Video-RLM.

    Returns:
        The table. Its `attrs` are the settings card: all that a score depends on, and facts of the
        run, such as its date. `rows.save("x.csv")` writes both, and `ak.read_rows`, `atlaskit
        compare` and `atlaskit browse` read them.

    Raises:
        InputError: If there are no questions, or a true answer is unknown; if the method, a setting
            or the engine does not exist; or if a folder or file cannot be written.
        EvaluationStopped: If the model refuses all questions, or the total is reached. The error
            has the table so far.

    Examples:
        >>> rows = ak.evaluate(cases[:3], vlm=vlm, progress=False)
        >>> rows["score"].tolist()
        [1.0, 1.0, 1.0]
    """
    import pandas  # noqa: F401  # before the first call: a missing pandas then costs nothing

    check_whole("parallel", parallel)
    check_flags(progress=progress, scored=scored)
    in_order = cases_of(cases, video, scored=scored)
    check_cases(in_order, scored=scored)
    _check_run(engine, prices, total)
    answer, name = _method(method)
    check_settings(name, answer, settings, RESERVED)
    if answer is METHODS["video-rlm"]:
        settings = {"search": "best", **settings}  # the table names the default too
    cache = cache or default_cache()
    is_replay = settings.get("replay") is True
    if isinstance(vlm, str):
        vlm = as_model(vlm, cache, is_replay=is_replay, data_parallel=copies_for(parallel))
    # One model for each world; videos that are no worlds share one.
    case_of_world = {id(case.world): case for case in in_order}
    models = [model_for(vlm, case) for case in case_of_world.values()]
    folder = None
    if traces is not None:
        folder = _trace_folder(Path(traces))
    card: dict[str, Any] = {
        "method": name,
        "models": sorted({model.name for model in models}),
        "parameters": dict(models[0].parameters),
        "settings": json_settings(settings),
    }
    if prices is not None:
        card["prices"] = prices.recorded()
    asked = questions_card(in_order)
    spending = _spending(total, engine, cache, repr([card, asked]))
    job = partial(
        case_row, name=name, answer=answer, vlm=vlm, settings=settings, traces=folder, prices=prices
    )
    waits_for_no_server = is_replay or all(map(computes, models))
    # A function may wait for something else.
    if engine == "local" and isinstance(method, str) and waits_for_no_server:
        parallel = min(parallel, MOST_COMPUTED)
    if engine == "ray":
        lost = partial(failure_row, name, prices=prices)
        finished = on_ray(in_order, job, parallel, cache, lost=lost, address=address)
    else:
        cancel = threading.Event()
        watched = partial(job, cancel=cancel, spending=spending)
        finished = on_threads(in_order, watched, parallel, cache, cancel)
    collected = _Collected(in_order, spending, has_traces=folder is not None)
    with closing(finished), _bar(len(in_order), name, card["models"], progress) as bar:
        collected.collect(finished, bar, on_rows)
    table = collected.table()
    failures = list(table.get("failure", ()))
    servers = _servers(models) if collected.is_live else []
    table.attrs = {
        **card,
        "settings in full": common_settings(collected.settings),
        "asked": asked,
        OF_THE_RUN: run_card(failures, servers, spending.paid),
    }
    if len(table) < len(in_order):
        raise _stopped(table, failures, len(in_order), spending)
    return table


def _spending(
    total: Budget | Spending | None, engine: Engine, cache: Cache, evaluation: str
) -> Spending:
    """Return the counter of an evaluation's calls against its total.

    `evaluation` is a text that is the same in all runs of the evaluation.
    """
    if isinstance(total, Spending):
        return total
    if engine == "local":
        return Spending(total or Budget(), cache, evaluation)
    return Spending(total or Budget())  # this process does not see the payments of the nodes


def _check_run(engine: Engine, prices: Prices | None, total: Budget | Spending | None) -> None:
    """Raise InputError for an unknown engine, and for prices or a total of another type."""
    if engine not in ENGINES:
        raise InputError(f"engine must be {' or '.join(ENGINES)}; got {engine!r:.80}.")
    if prices is not None and not isinstance(prices, Prices):
        raise InputError(f"prices must be ak.Prices(prompt=…, completion=…); got {prices!r:.80}.")
    if total is not None and not isinstance(total, Budget | Spending):
        raise InputError(f"total must be ak.Budget(tokens=…), or another limit; got {total!r:.80}.")


def _servers(models: Iterable[Model]) -> list[dict[str, str]]:
    """Return the server behind each endpoint, once."""
    found = dict[int, dict[str, str]]()
    for model in models:
        client = getattr(model, "vlm", model)  # a served model holds its client as `vlm`
        if isinstance(client, VLM) and id(client) not in found:
            found[id(client)] = client.server()
    return list(found.values())


def _stopped(
    table: pd.DataFrame, failures: Sequence[str], count: int, spending: Spending
) -> EvaluationStopped:
    """Return the error of an evaluation that ended before its last question."""
    tried = f"{len(table)} of {count} questions"
    limit = spending.reached
    if limit:
        return EvaluationStopped(
            f"The total of {limit} is reached; {tried} are finished. Replies are cached: the same "
            "command with a larger total continues.",
            table,
        )
    why = ""
    if failures:
        last = failures[-1].rstrip(".")
        why = f" after {MOST_REFUSED} questions in a row that failed alike ({last})"
    return EvaluationStopped(
        f"The evaluation stopped{why}; {tried} were tried. Replies are cached: the same command "
        "continues.",
        table,
    )


def _method(method: str | Callable[..., Result]) -> tuple[Callable[..., Result], str]:
    """Return a method as a function, and its name; raise InputError if there is no such method."""
    if callable(method):
        return method, str(getattr(method, "__name__", type(method).__name__))
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(
            f"method must be {', '.join(METHODS)}, or a function like ask; got {method!r:.80}."
        )
    return METHODS[method], method


def _trace_folder(path: Path) -> Path:
    """Create the folder for results; return its absolute path, raise InputError if that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be a folder for traces: {reason(error)}.") from error
    return path.absolute()


def _bar(count: int, name: str, models: Sequence[str], progress: bool) -> tqdm[None]:
    """Return the progress bar of an evaluation; it names the method, and the model if it is one."""
    label = name
    if len(models) == 1:
        label = f"{name}, {printable(models[0], 40)}"
    return progress_bar(total=count, desc=label, unit="question", disable=not progress)


@dataclass
class _Collected:
    """The rows of an evaluation and the settings of its runs, collected as questions finish."""

    cases: Sequence[Case]
    spending: Spending
    has_traces: bool
    rows: dict[int, Row] = field(default_factory=dict)
    settings: list[Mapping[str, Any]] = field(default_factory=list)

    def collect(
        self,
        finished: Iterable[tuple[int, Row]],
        bar: tqdm[None],
        on_rows: Callable[[pd.DataFrame], None] | None,
    ) -> None:
        """Collect the rows while the bar shows the progress.

        It ends early if the total is reached, or if MOST_REFUSED questions that finish one after
        another are refused for the same reason and others are left. The last of these becomes the
        last row, so that the last failure of the table says why.
        """
        right = 0
        tokens = 0
        refused = list[str]()
        next_s = 0.0
        for index, row in finished:
            aside: Aside = row.pop(ASIDE, Aside())
            if aside.is_stopped and self.spending.was_reached:
                # Earlier runs reached the total; the cache may still answer other questions.
                continue
            if aside.is_stopped:
                return
            self.rows[index] = row
            if aside.settings:
                self.settings.append(aside.settings)
            if aside.refusal not in refused:  # not refused, or for another reason: count anew
                refused = []
            if aside.refusal:
                refused.append(aside.refusal)
            right += row["right"]
            tokens += row["tokens"]
            bar.set_postfix_str(
                f"{right / len(self.rows):.0%} right, {tokens:,} tokens", refresh=False
            )
            bar.update()
            if on_rows is not None and now_s() >= next_s:
                on_rows(self.table())
                next_s = now_s() + NEWS_S
            if len(refused) == MOST_REFUSED and len(self.rows) < len(self.cases):
                self.rows[len(self.cases)] = self.rows.pop(index)  # after all other rows
                return
            question = id(self.cases[index])  # under which `case_row` has added the calls
            self.spending.settle(question, aside.total, aside.per_video, aside.video)
            if self.spending.reached_now:
                return

    @property
    def is_live(self) -> bool:
        """Whether a call was paid for in this run."""
        return any(row.get("calls_paid", 0) > 0 for row in self.rows.values())

    def table(self) -> pd.DataFrame:
        """Return the rows in the order of their cases."""
        from atlaskit.evaluation.frame import EvaluationRows

        rows = [self.rows[index] for index in sorted(self.rows)]
        table = EvaluationRows(rows)
        if rows:
            table["prediction"] = prediction_column([row["prediction"] for row in rows])
        if rows and self.has_traces:
            table["trace"] = [row.get("trace", "") for row in rows]
        return table


def check_cases(cases: Sequence[Case], *, scored: bool = True) -> None:
    """Raise InputError if there are no cases, an answer is unknown, or a fact has a wrong name.

    Facts become columns of the table of results, so none may have the name of another column.
    """
    if not cases:
        raise InputError("There are no questions to ask: the list of cases is empty.")
    for case in cases:
        if scored and case.question.answer is None:
            raise InputError(
                f"The true answer to {case.question.id!r} is not known, so it cannot be scored; "
                "leave it out."
            )
        for name in case.facts:
            if name in OF_RESULTS:
                raise InputError(
                    f"The questions have a column {name!r}, and so has the table of results: "
                    "rename it."
                )


def check_settings(
    name: str, answer: Callable[..., Result], settings: Mapping[str, Any], reserved: Collection[str]
) -> None:
    """Raise InputError for a setting that a method lacks, or for a flag that is not a bool.

    Args:
        name: The name of the method in the error.
        answer: The method, a function with the signature of `ask`.
        settings: The settings to check.
        reserved: Settings that the caller passes to the method itself; they count as unknown.
    """
    accepted = settings_of(answer)
    if accepted is None:
        return
    offered = [setting for setting in accepted if setting not in reserved]
    parameters = signature_of(answer).parameters
    for setting, value in settings.items():
        if setting not in offered:
            raise InputError(f"{name} has no setting {setting!r:.80}; it has {', '.join(offered)}.")
        if isinstance(parameters[setting].default, bool):
            check_flags(**{setting: value})


def json_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as JSON scalars; a value of another type becomes its repr.

    A search is recorded as the settings in which it differs from the paper's. The search "best",
    which adapts to the model, is recorded by its name.
    """
    flat = dict(settings)
    if flat.get("search") == "paper" or isinstance(flat.get("search"), Search):
        flat |= named_search(flat.pop("search")).changed()
    for name, value in flat.items():
        if not isinstance(value, JSON_SCALARS):
            flat[name] = repr(value)
    return flat
