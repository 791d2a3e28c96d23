"""Videos that speak in tones, a tone for each word, and a server's answer that hears them."""

import io
import time
import wave
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from support.faults import Fault, failing, sending
from support.media import numbered_frame

RATE, WORD_S = 16_000, 0.4
LOWEST_HZ, STEP_HZ = 400, 100
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]


def tones(spoken: Sequence[tuple[float, str]], seconds: float) -> np.ndarray:
    """Return sound in which each word starts at its second, (n,), int16."""
    sound = np.zeros(round(seconds * RATE), np.int16)
    for start_s, word in spoken:
        at = np.arange(round(WORD_S * RATE)) / RATE
        tone = 12_000 * np.sin(2 * np.pi * (LOWEST_HZ + STEP_HZ * WORDS.index(word)) * at)
        first = round(start_s * RATE)
        sound[first : first + len(tone)] = tone[: len(sound) - first]
    return sound


def heard(samples: np.ndarray) -> list[tuple[float, float, str]]:
    """Return the start, end and word of each tone in some sound."""
    step = RATE // 50
    names = []
    for first in range(0, len(samples) - step + 1, step):
        frame = samples[first : first + step].astype(float)
        if np.abs(frame).mean() < 1000:
            names.append("")
            continue
        hertz = np.argmax(np.abs(np.fft.rfft(frame, RATE // 10))) * 10
        names.append(WORDS[min(len(WORDS) - 1, max(0, round((hertz - LOWEST_HZ) / STEP_HZ)))])
    words: list[tuple[float, float, str]] = []
    for index, name in enumerate(names):
        if name and words and words[-1][2] == name and index * 0.02 - words[-1][1] < 0.03:
            words[-1] = (words[-1][0], index * 0.02 + 0.02, name)
        elif name:
            words.append((index * 0.02, index * 0.02 + 0.02, name))
    return [word for word in words if word[1] - word[0] > 0.1]


def transcription(body: dict[str, Any]) -> Fault:
    """Answer a request for a transcription with the tones that are heard."""
    time.sleep(0.01)  # so that the requests of several threads overlap
    with wave.open(io.BytesIO(body["file"])) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (RATE, 1, 2)
        found = heard(np.frombuffer(file.readframes(file.getnframes()), "<i2"))
    text = " ".join(word for _, _, word in found)
    if body["response_format"] == b"json":
        return sending({"text": text})
    segments = [{"id": n, "start": s, "end": e, "text": f" {word}"} for n, (s, e, word) in enumerate(found)]
    return sending({"text": text, "language": "en", "segments": segments})


def without_times(body: dict[str, Any]) -> Fault:
    """Answer as a model that gives no times."""
    return failing(400) if body["response_format"] == b"verbose_json" else transcription(body)


@dataclass(frozen=True)
class SpokenTrack:
    """A sound track of a file to make."""

    spoken: Sequence[tuple[float, str]]
    language: str = ""
    disposition: str = ""
    """FFmpeg's name of how the track is marked, such as "default" or "comment"."""
    starts_at_s: float = 0.0
    gaps: Sequence[tuple[float, float]] = ()
    """Intervals of seconds whose packets are missing."""


def many_voiced_video(
    path: Path,
    tracks: Sequence[SpokenTrack],
    seconds: float,
    *,
    codec: str = "aac",
    rate: int = 44_100,
    layout: str = "stereo",
    fps: int = 5,
    picture_from_s: float = 0.0,
    starts_at_s: float = 0.0,
) -> Path:
    """Make a video with several sound tracks, of any codec, rate and layout."""
    with av.open(str(path), "w") as container:
        # In AVI, FFmpeg adds the delay of an H.264 encoder to the times of the picture alone.
        video = container.add_stream("mpeg4" if path.suffix == ".avi" else "libx264", rate=fps)
        video.width, video.height, video.pix_fmt = 160, 90, "yuv420p"
        video.options = {} if path.suffix == ".avi" else {"preset": "ultrafast"}
        streams = [container.add_stream(codec, rate=rate, layout=layout) for _ in tracks]
        packets = []
        for stream, track in zip(streams, tracks, strict=True):
            stream.disposition = av.stream.Disposition[track.disposition] if track.disposition else 0
            if track.language:
                stream.metadata["language"] = track.language
        container.start_encoding()
        for index in range(round((seconds - picture_from_s) * fps)):
            picture = numbered_frame(index % 1000, (160, 90))
            picture.pts, picture.time_base = index + round((picture_from_s + starts_at_s) * fps), Fraction(1, fps)
            packets += video.encode(picture)
        packets += video.encode()
        for stream, track in zip(streams, tracks, strict=True):
            packets += _sound_packets(stream, track, seconds, rate, layout)
        for packet in sorted(packets, key=lambda packet: packet.dts * packet.time_base):
            container.mux(packet)
    return path


def speaking_video(
    path: Path, spoken: Sequence[tuple[float, str]], seconds: float, *, starts_at_s: float = 0.0, **more: Any
) -> Path:
    """Make a video with sound in which words are spoken; its picture may start later."""
    track = SpokenTrack(spoken, starts_at_s=starts_at_s)
    plain: dict[str, Any] = {"codec": "pcm_s16le", "rate": RATE, "layout": "mono"}
    return many_voiced_video(path, [track], seconds, starts_at_s=starts_at_s, **{**plain, **more})


def _sound_packets(
    stream: av.AudioStream, track: SpokenTrack, seconds: float, rate: int, layout: str
) -> Iterator[av.Packet]:
    sound = tones(track.spoken, seconds)
    sound = np.interp(np.arange(round(seconds * rate)) / rate, np.arange(len(sound)) / RATE, sound).astype(np.int16)
    form, size = stream.codec_context.format.name, stream.codec_context.frame_size or 1024
    for first in range(0, len(sound), size):
        if any(start_s <= first / rate < end_s for start_s, end_s in track.gaps):
            continue
        samples = np.repeat(sound[None, first : first + size], stream.codec_context.layout.nb_channels, axis=0)
        if form.startswith("flt"):
            samples = samples.astype(np.float32) / 32768
        elif form.startswith("s32"):
            samples = samples.astype(np.int32) << 16
        if not form.endswith("p"):
            samples = samples.T.reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), format=form, layout=layout)
        frame.rate, frame.pts, frame.time_base = rate, first + round(track.starts_at_s * rate), Fraction(1, rate)
        yield from stream.encode(frame)
    yield from stream.encode()
