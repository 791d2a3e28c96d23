"""Videos that speak in tones, and a server that hears them: each word is a tone of its own."""

from __future__ import annotations

import email.parser
import email.policy
import io
import json
import threading
import time
import wave
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import av
import numpy as np

from support.loopback import Server, running
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


@dataclass
class Hearing:
    """A running server, and what it saw."""

    url: str = ""
    requests: list[dict[str, str]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Length of each sound that it got."""
    faults: list[Any] = field(default_factory=list)
    """What to answer instead, first come first served: a status, bytes, or a body as JSON."""
    refuses_times: bool = False
    most_in_flight: int = 0
    in_flight: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def form(content_type: str, body: bytes) -> dict[str, bytes]:
    """Parse a form with the standard library."""
    page = f"Content-Type: {content_type}\r\n\r\n".encode() + body
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(page)
    return {
        str(part.get_param("name", header="content-disposition")): bytes(part.get_payload(decode=True))
        for part in message.iter_parts()
    }


@contextmanager
def hearing_server() -> Iterator[Hearing]:
    """Run a server with `/v1/audio/transcriptions` that hears tones."""
    hearing = Hearing()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with hearing.lock:
                hearing.in_flight += 1
                hearing.most_in_flight = max(hearing.most_in_flight, hearing.in_flight)
            time.sleep(0.01)
            status, answer = self.answer(body)
            with hearing.lock:
                hearing.in_flight -= 1
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def answer(self, body: bytes) -> tuple[int, Any]:
            parts = form(self.headers["Content-Type"], body)
            sound = parts.pop("file")
            fields = {name: content.decode() for name, content in parts.items()}
            with wave.open(io.BytesIO(sound)) as file:
                assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (RATE, 1, 2)
                samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
            with hearing.lock:
                hearing.requests.append(fields)
                hearing.seconds.append(len(samples) / RATE)
                fault = hearing.faults.pop(0) if hearing.faults else None
            if isinstance(fault, int):
                return fault, {"error": {"message": "as planned"}}
            if fault is not None:
                return 200, fault
            if fields["response_format"] == "verbose_json" and hearing.refuses_times:
                return 400, {"error": {"message": "verbose_json is not supported"}}
            found = heard(samples)
            text = " ".join(word for _, _, word in found)
            if fields["response_format"] == "json":
                return 200, {"text": text}
            segments = [{"id": n, "start": s, "end": e, "text": f" {word}"} for n, (s, e, word) in enumerate(found)]
            return 200, {"text": text, "language": "en", "duration": len(samples) / RATE, "segments": segments}

    server = Server(("127.0.0.1", 0), Handler)
    hearing.url = f"http://127.0.0.1:{server.server_port}/v1"
    with running(server):
        yield hearing


@dataclass(frozen=True)
class SpokenTrack:
    """A sound track of a file to make."""

    spoken: Sequence[tuple[float, str]]
    language: str = ""
    disposition: str = ""
    """FFmpeg's name of how the track is marked, such as "default" or "comment"."""
    starts_at_s: float = 0.0
    """The container's time at which it starts; words count from there."""
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
    path: Path,
    spoken: Sequence[tuple[float, str]],
    seconds: float,
    *,
    picture_from_s: float = 0.0,
    fps: int = 5,
    codec: str = "pcm_s16le",
    starts_at_s: float = 0.0,
) -> Path:
    """Make a video with sound in which words are spoken; its picture may start later."""
    track = SpokenTrack(spoken, starts_at_s=starts_at_s)
    when = {"picture_from_s": picture_from_s, "starts_at_s": starts_at_s}
    return many_voiced_video(path, [track], seconds, codec=codec, rate=RATE, layout="mono", fps=fps, **when)


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
