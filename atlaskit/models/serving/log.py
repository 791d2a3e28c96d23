"""Reads vLLM's log: progress of the start, and the reason of a failure."""

from __future__ import annotations

import re
from pathlib import Path

STAGES = {
    r"Resolved architecture": "reading the model's configuration",
    r"Downloading|Fetching \d+ files": "downloading the model",
    r"Initializing a V1 LLM engine": "starting the engine",
    r"Starting to load model": "loading the weights",
    r"Loading weights took": "weights loaded, reserving memory",
    r"Warming up model for the compilation|Dynamo bytecode transform|Compiling a graph": "compiling the model",
    r"Warming up done": "reserving memory",
    r"Capturing CUDA graph": "capturing CUDA graphs",
    r"Route: /health": "opening the port",
}
"""What each pattern in the log means."""
FIRST_STAGE = "importing vLLM"
GENERIC = (
    "Engine core initialization failed",
    "failed to be inspected",
    "Error raised in subprocess",
    "non-zero exit",
    "EngineCore encountered an issue",
    "please check the stack trace",
)
"""Phrases of errors that only repeat that an earlier error occurred."""
TAIL_BYTES = 64 * 1024


def startup_stage(log: Path) -> str:
    """Return how far a server's start has come, by the end of its log file."""
    if not log.is_file():  # someone has cleaned the folder of temporary files
        return FIRST_STAGE
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL_BYTES))
        text = file.read().decode(errors="replace")
    last_seen = {stage: found.start() for pattern, stage in STAGES.items() for found in re.finditer(pattern, text)}
    return max(last_seen, key=lambda stage: last_seen[stage], default=FIRST_STAGE)


def failure_reason(log: str) -> str:
    """Return why a server did not start, by the text of its log; "" if the log does not say."""
    prefix = re.compile(r"^(\(.*?pid=\d+\) )?((ERROR|CRITICAL) [\d-]+ [\d:]+ \[.*?\] ?)?")
    lines = [prefix.sub("", line) for line in log.splitlines()]
    reasons = []
    for number, line in enumerate(lines):
        found = re.match(r"(?:[\w.]+\.)?(\w+(?:Error|Exception)): (.+)|\S+: error: (.+)", line)
        if not found:
            continue
        message = found[3] or found[2]
        if found[1] == "ValidationError":  # pydantic's: the reason is in the lines that follow
            rest = "\n".join(lines[number + 1 : number + 12]).partition("For further information")[0]
            message = re.sub(r"\[type=.*|Value error, ", "", rest, flags=re.DOTALL)
        reasons.append(" ".join(message.split())[:400].rstrip(". "))
    specific = [reason for reason in reasons if reason and not any(phrase in reason for phrase in GENERIC)]
    return (specific or reasons or [""])[-1]
