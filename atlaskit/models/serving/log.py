"""Reads vLLM's log: the reason of a failure."""

from __future__ import annotations

import re

GENERIC = (
    "Engine core initialization failed", "failed to be inspected", "Error raised in subprocess", "non-zero exit",
    "EngineCore encountered an issue", "please check the stack trace",
)  # fmt: skip
"""Phrases of errors that only repeat that an earlier error occurred."""
PREFIX = re.compile(r"\A(\(.*?pid=\d+\) )?((ERROR|CRITICAL) [\d-]+ [\d:]+ \[.*?\] ?)?")
"""What vLLM writes before a line: the process, the level, the time."""
FAULT = re.compile(r"\A(?:(?:[\w.]+\.)?(\w+(?:Error|Exception)): (.+)|\S+: error: (.+))")
"""The last line of a Python traceback, or an error of argparse."""


def failure_reason(log: str) -> str:
    """Return why a server did not start, by the text of its log; "" if the log does not say."""
    lines = [PREFIX.sub("", line) for line in log.splitlines()]
    reasons = []
    for number, line in enumerate(lines):
        found = FAULT.match(line)
        if not found:
            continue
        message = found[3] or found[2]
        if found[1] == "ValidationError":  # pydantic's: the reason is in the lines that follow
            rest = "\n".join(lines[number + 1 : number + 12]).partition("For further information")[0]
            message = rest.partition("[type=")[0].replace("Value error, ", "")
        reasons.append(" ".join(message.split())[:400].rstrip(". "))
    specific = [reason for reason in reasons if reason and not any(phrase in reason for phrase in GENERIC)]
    return (specific or reasons or [""])[-1]
