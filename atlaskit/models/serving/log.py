"""What vLLM's log says: how far it has come, and why it gave up."""

from __future__ import annotations

import re
from pathlib import Path

STAGES = {
    r"Resolved architecture": "reading the model's configuration",
    r"Downloading|Fetching \d+ files": "downloading the model",
    r"Initializing a V1 LLM engine": "starting the engine",
    r"Starting to load model": "loading the weights",
    r"Loading weights took": "weights loaded, reserving memory",
    r"Dynamo bytecode transform|Compiling a graph": "compiling",
    r"Capturing CUDA graph": "capturing CUDA graphs",
    r"Route: /health": "opening the port",
}
FIRST_STAGE = "importing vLLM"
GENERIC = ("Engine core initialization failed", "failed to be inspected", "Error raised in subprocess", "non-zero exit")
"""What vLLM says of an error that it has told of before."""
TAIL = 64 * 1024


def stage(log: Path) -> str:
    """Return how far a server has come with starting."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL))
        said = file.read().decode(errors="replace")
    reached = {words: found.start() for pattern, words in STAGES.items() for found in re.finditer(pattern, said)}
    return max(reached, key=lambda words: reached[words], default=FIRST_STAGE)


def reason_in(log: str) -> str:
    """Return the reason for which a server did not start; "" where its log gives none."""
    prefix = re.compile(r"^(\(.*?pid=\d+\) )?((ERROR|CRITICAL) [\d-]+ [\d:]+ \[.*?\] ?)?")
    lines = [prefix.sub("", line) for line in log.splitlines()]
    reasons = []
    for number, line in enumerate(lines):
        found = re.match(r"(?:[\w.]+\.)?(\w+(?:Error|Exception)): (.+)|\S+: error: (.+)", line)
        if not found:
            continue
        said = found[3] or found[2]
        if found[1] == "ValidationError":  # pydantic's: the reason is in the lines that follow
            rest = "\n".join(lines[number + 1 : number + 12]).partition("For further information")[0]
            said = re.sub(r"\[type=.*|Value error, ", "", rest, flags=re.DOTALL)
        reasons.append(" ".join(said.split())[:400].rstrip(". "))
    telling = [said for said in reasons if said and not any(phrase in said for phrase in GENERIC)]
    return (telling or reasons or [""])[-1]
