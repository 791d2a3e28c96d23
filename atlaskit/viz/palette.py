"""Colours that figures, pages and widgets share, so that one thing has one colour everywhere."""

TRUTH, FOUND, DEAD = "#009E73", "#0072B2", "#30343b"
"""The known truth; a visit that brought evidence; dead zones."""
WAS_DEAD, SCORED = "#d9dce1", "#9aa0a8"
"""What was a dead zone before; what a probe scored."""
