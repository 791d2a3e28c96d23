"""Reading vLLM's log. The lines are vLLM 0.32's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlaskit.models.serving.log import FIRST_STAGE, failure_reason, startup_stage

REASONS = {
    "api_server.py: error: unrecognized arguments: --bogus-flag": "unrecognized arguments: --bogus-flag",
    "OSError: [Errno 98] Address already in use": "[Errno 98] Address already in use",
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
    "  Value error, max_model_len (99999999) is too large. [type=value_error, input_value=1]\n"
    "    For further information visit https://errors.pydantic.dev": "max_model_len (99999999) is too large",
    "(APIServer pid=1) ERROR 11-21 16:25:44 [registry.py:1120] ModuleNotFoundError: No module named 'torchvision'\n"
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
    "  Value error, Model architectures ['X'] failed to be inspected. Please check the logs. [type=value_error]\n"
    "": "No module named 'torchvision'",
    "(EngineCore pid=3) ERROR 11-21 16:28:02 [core.py:1510] ValueError: the cache is too small.\n"
    "RuntimeError: Engine core initialization failed. See root cause above.": "the cache is too small",
    "(Worker pid=6) ERROR 11-26 19:44:49 [multiproc_executor.py:9] AssertionError: CPU GDN attention requires BF16.\n"
    "(EngineCore pid=5) ERROR 11-26 19:44:49 [core.py:1512] RuntimeError: Worker failed with error 'CPU GDN attention "
    "requires BF16.', please check the stack trace above for the root cause\n"
    "(APIServer pid=4) ERROR 11-26 19:44:49 [async_llm.py:906] vllm.v1.engine.exceptions.EngineDeadError: EngineCore "
    "encountered an issue. See stack trace (above) for the root cause.": "CPU GDN attention requires BF16",
    "INFO: all is well": "",
}


@pytest.mark.parametrize("log", REASONS)
def test_the_reason_of_a_failure_is_the_most_specific_error(log: str) -> None:
    assert failure_reason(log) == REASONS[log]


def test_the_stage_is_the_last_one_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    stages = []
    for line in (
        "",
        "INFO Resolved architecture: X\n",
        "Starting to load model\n",
        "INFO [cpu_model_runner.py:87] Warming up model for the compilation...\n",
        "INFO [cpu_model_runner.py:91] Warming up done.\n",
        "Route: /health, Methods: GET\n",
    ):
        with log.open("a") as file:
            file.write(line)
        stages.append(startup_stage(log))
    assert stages == [
        "importing vLLM",
        "reading the model's configuration",
        "loading the weights",
        "compiling the model",
        "reserving memory",
        "opening the port",
    ]


def test_a_log_that_was_deleted_is_the_first_stage(tmp_path: Path) -> None:
    assert startup_stage(tmp_path / "gone.log") == FIRST_STAGE
