"""The sound of a video file: its tracks, decoded to 16 kHz mono, and cut at pauses into chunks."""

from atlaskit.video.sound.chunks import RATE, Block, Chunk, cut_at_pauses
from atlaskit.video.sound.decoding import Sound

__all__ = ["RATE", "Block", "Chunk", "Sound", "cut_at_pauses"]
