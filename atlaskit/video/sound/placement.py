"""`Placement`: where decoded sound lies on the one clock of the video.

The clock of a recording may restart or jump in the middle; the picture decides where, and by how
much (`PyAVReader.joints`). Small errors of the sound's times are evened out. Nothing is read here.
"""

from __future__ import annotations

from collections.abc import Sequence

TOLERANCE_S = 0.1
"""Times that are wrong by less are taken for rounded ones: the sound goes on without a break."""
OVERLAP_S = 0.5
"""Sound that comes earlier than it should by less is there twice, or its samples run fast: what
overlaps is left out. A clock that goes back by more has restarted."""
NEAR_BYTES = 8_000_000
"""A joint of the sound lies within so many bytes of the file of that of the picture."""


class Placement:
    """Places the frames of one track of sound, in the order of the file.

    Attributes:
        end_s: When the last frame ends.
    """

    def __init__(self, joints: Sequence[tuple[int, float]], limit_s: float) -> None:
        """Begin a track.

        Args:
            joints: Byte of the file from which on so many seconds are added to its times.
            limit_s: When the video ends. A clock that jumps past it has not really gone on.
        """
        self.end_s: float | None = None
        self._joints, self._limit_s = list(joints), limit_s
        self._shift_s = self._lag_s = 0.0

    def place(self, at_s: float | None, length_s: float, byte: int | None) -> float | None:
        """Return when a frame starts on the video's clock; None if it repeats what was heard.

        Args:
            at_s: When it starts in the container's time; None if that is not known.
            length_s: How long it lasts.
            byte: Where its packet lies in the file; None if that is not known.
        """
        start_s = self._start(at_s, byte)
        if start_s is not None:
            self.end_s = start_s + length_s
        return start_s

    def _start(self, at_s: float | None, byte: int | None) -> float | None:
        expected_s = self.end_s
        if at_s is None:
            return expected_s or 0.0
        if expected_s is None:
            return at_s
        if self._passes_joint(at_s, expected_s, byte):
            # What the part before has too much delays this part, so that nothing is lost.
            self._lag_s = max(0.0, expected_s - at_s - self._shift_s)
        start_s = at_s + self._shift_s + self._lag_s
        off_s = start_s - expected_s
        if abs(off_s) <= TOLERANCE_S:
            return expected_s
        if off_s < -OVERLAP_S or (off_s > 0 and start_s > self._limit_s):
            self._lag_s -= off_s
            return expected_s
        return start_s if off_s > 0 else None

    def _passes_joint(self, at_s: float, expected_s: float, byte: int | None) -> bool:
        """Move on to the next part of the file if the time of a frame fits that part better."""
        passed = False
        while self._joints and byte is not None and byte >= self._joints[0][0] - NEAR_BYTES:
            now_s = abs(at_s + self._shift_s + self._lag_s - expected_s)
            then_s = abs(at_s + self._joints[0][1] - expected_s)
            if now_s <= TOLERANCE_S or then_s >= now_s:
                break
            self._shift_s, self._lag_s, passed = self._joints.pop(0)[1], 0.0, True
        return passed
