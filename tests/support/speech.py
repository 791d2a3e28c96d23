"""Sound that spells words by tones, files with such sound, and a server that hears the words.

A word is a tone of half a second whose frequency says which word it is. The server decodes the WAV
file that it is sent and answers with the words and their times, so that both are checked end to
end. It plays the faults of a list first.
"""

from __future__ import annotations

import email.parser
import email.policy
import io
import threading
import time
import wave
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray
from support.faults import Fault, Outlasted, send
from support.loopback import Server, running
from support.media import numbered_frame

RATE = 16_000
WORD_S = 0.5
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "yes", "no", "red")
STEP_HZ, LOWEST_HZ = 200, 400
Spoken = tuple[float, str]
"""When a word begins, in seconds, and the word."""


def tones(words: Sequence[Spoken], duration_s: float, rate: int = RATE, noise: float = 0.0) -> NDArray[np.int16]:
    """Return mono sound in which words are spoken."""
    sound = np.random.default_rng(0).normal(0, noise, round(duration_s * rate)) if noise else None
    sound = np.zeros(round(duration_s * rate)) if sound is None else sound
    at = np.arange(round(WORD_S * rate)) / rate
    for start_s, word in words:
        first = round(start_s * rate)
        tone = 8000 * np.sin(2 * np.pi * (LOWEST_HZ + STEP_HZ * WORDS.index(word)) * at)
        sound[first : first + len(tone)] += tone[: len(sound) - first]
    return sound.clip(-32768, 32767).astype(np.int16)


def heard_words(sound: NDArray[np.int16]) -> list[tuple[float, float, str]]:
    """Return the start, end and text of each word in mono sound at RATE."""
    frame = RATE // 100
    power = np.square(sound[: len(sound) // frame * frame].astype(float)).reshape(-1, frame).mean(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], power > 2e6, [0]])))
    words = []
    for start, end in edges.reshape(-1, 2):
        if end - start < 5:
            continue
        part = sound[start * frame : end * frame].astype(float)
        peak_hz = np.argmax(np.abs(np.fft.rfft(part))) * RATE / len(part)
        word = round((peak_hz - LOWEST_HZ) / STEP_HZ)
        words.append((start * frame / RATE, end * frame / RATE, WORDS[word] if 0 <= word < len(WORDS) else "?"))
    return words


@dataclass
class Upload:
    """A request for a transcription as the server got it."""

    fields: dict[str, str]
    sound: NDArray[np.int16]
    headers: dict[str, str]


@dataclass
class Listening:
    """The server as a test sees it."""

    url: str
    faults: list[Fault] = field(default_factory=list)
    uploads: list[Upload] = field(default_factory=list)
    answer: Callable[[Upload], Any] | None = None
    """Makes the answer to an upload; None for the words that are spoken."""
    takes_segments: bool = True
    """Whether it has `verbose_json`; OpenAI's later models and most models of vLLM do not."""
    think_s: float = 0.0
    most_in_flight: int = 0
    _in_flight: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def play(self, handler: BaseHTTPRequestHandler, upload: Upload) -> None:
        """Answer an upload, well or by the next fault."""
        with self.lock:
            self.uploads.append(upload)
            fault = self.faults.pop(0) if self.faults else None
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
        time.sleep(self.think_s)
        with self.lock:
            self._in_flight -= 1
        if fault:
            fault(handler)
        elif upload.fields["response_format"] == "verbose_json" and not self.takes_segments:
            send(handler, 400, {"error": {"message": "Currently do not support verbose_json for loop"}})
        else:
            send(handler, 200, self.answer(upload) if self.answer else transcription(upload))


def transcription(upload: Upload) -> dict[str, Any]:
    """Return what is spoken, in the format that was asked for, with the fields that vLLM sends."""
    words = heard_words(upload.sound)
    text = " ".join(word for _, _, word in words)
    if upload.fields["response_format"] == "json":
        return {"text": text, "usage": {"type": "duration", "seconds": len(upload.sound) // RATE}}
    segments = [segment(start_s, end_s, f" {word}", number) for number, (start_s, end_s, word) in enumerate(words)]
    return {"duration": len(upload.sound) / RATE, "language": "en", "text": text, "segments": segments}


def segment(start_s: float, end_s: float, text: str, number: int = 0, **more: Any) -> dict[str, Any]:
    """Return a segment as vLLM sends it."""
    told = {"avg_logprob": -0.2, "compression_ratio": 0.9, "no_speech_prob": None, "seek": 0, "temperature": 0.0}
    return {"id": number, "start": start_s, "end": end_s, "text": text, "tokens": [1, 2], **told, **more}


@contextmanager
def listening() -> Iterator[Listening]:
    """Run the speech server for the length of a block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 20
        disable_nagle_algorithm = True

        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:  # http.server prescribes the name
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) < length:
                return  # the client has hung up
            assert self.path == "/v1/audio/transcriptions"
            try:
                server_state.play(self, read_upload(dict(self.headers), body))
            except Outlasted:
                pass

    server = Server(("127.0.0.1", 0), Handler)
    server_state = Listening(f"http://127.0.0.1:{server.server_address[1]}/v1")
    with running(server):
        yield server_state


def read_upload(headers: dict[str, str], body: bytes) -> Upload:
    """Parse a form with the standard library's mail parser, and its WAV file."""
    head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
    form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    fields, sound = {}, np.zeros(0, np.int16)
    for part in form.iter_parts():
        name = part.get_param("name", header="content-disposition")
        data = part.get_payload(decode=True)
        assert isinstance(data, bytes)
        if name == "file":
            with wave.open(io.BytesIO(data)) as file:
                assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, RATE)
                sound = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        else:
            fields[str(name)] = data.decode()
    return Upload(fields, sound, headers)


@dataclass(frozen=True)
class Track:
    """A sound track of a file to make."""

    words: Sequence[Spoken]
    language: str = ""
    disposition: str = ""
    starts_s: float = 0.0
    """The container's time at which it starts; words count from there."""
    duration_s: float | None = None
    gaps: Sequence[tuple[float, float]] = ()
    """Intervals of seconds whose packets are missing."""


def make_spoken(
    path: Path,
    tracks: Sequence[Track],
    duration_s: float = 12.0,
    *,
    codec: str = "aac",
    rate: int = 44_100,
    layout: str = "stereo",
    picture_starts_s: float = 0.0,
    fps: int = 5,
    container_options: dict[str, str] | None = None,
) -> Path:
    """Encode a video whose sound tracks speak words."""
    with av.open(str(path), "w", options=container_options or {}) as container:
        picture = container.add_stream("libx264", rate=fps)
        picture.width, picture.height, picture.pix_fmt = 64, 48, "yuv420p"
        picture.options = {"preset": "ultrafast"}
        streams = [_sound_stream(container, track, codec, rate, layout) for track in tracks]
        container.start_encoding()
        packets = []
        for index in range(round((duration_s - picture_starts_s) * fps)):
            frame = numbered_frame(index, (64, 48))
            frame.pts, frame.time_base = index + round(picture_starts_s * fps), Fraction(1, fps)
            packets += picture.encode(frame)
        packets += picture.encode()
        for track, stream in zip(tracks, streams, strict=True):
            packets += _encoded(stream, track, track.duration_s or duration_s, rate, layout)
        for packet in sorted(packets, key=lambda packet: packet.dts * packet.time_base):
            container.mux(packet)
    return path


def _sound_stream(
    container: av.container.OutputContainer, track: Track, codec: str, rate: int, layout: str
) -> av.AudioStream:
    stream = container.add_stream(codec, rate=rate, layout=layout)
    if track.language:
        stream.metadata["language"] = track.language
    stream.disposition = getattr(av.stream.Disposition, track.disposition) if track.disposition else 0  # type: ignore
    return stream


def _encoded(stream: av.AudioStream, track: Track, duration_s: float, rate: int, layout: str) -> Iterator[av.Packet]:
    sound = tones(track.words, duration_s, rate)
    form = stream.codec_context.format.name
    size = stream.codec_context.frame_size or 1024
    channels = stream.codec_context.layout.nb_channels
    for first in range(0, len(sound), size):
        if any(start_s <= first / rate < end_s for start_s, end_s in track.gaps):
            continue
        mono = sound[first : first + size]
        samples = np.repeat(mono[None], channels, axis=0)
        if form.startswith("flt"):
            samples = samples.astype(np.float32) / 32768
        elif form.startswith("s32"):
            samples = samples.astype(np.int32) << 16
        if not form.endswith("p"):
            samples = samples.T.reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), format=form, layout=layout)
        frame.rate, frame.time_base = rate, Fraction(1, rate)
        frame.pts = first + round(track.starts_s * rate)
        yield from stream.encode(frame)
    yield from stream.encode()
