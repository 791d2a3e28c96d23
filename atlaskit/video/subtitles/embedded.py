"""Reads text tracks inside MP4, MKV and WebM files (mov_text, SubRip, ASS, WebVTT)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from atlaskit.errors import AtlasError, SubtitleError, reason
from atlaskit.video.subtitles.files import track_of
from atlaskit.video.subtitles.text import encoding_of, plain_ass_text, plain_text
from atlaskit.video.subtitles.track import SourceLine, Subtitles, check_duration, check_finite
from atlaskit.video.tracks import (
    OTHER_CODECS,
    Track,
    is_exact_language,
    open_media,
    same_language,
    tracks_of,
)

if TYPE_CHECKING:
    from av.container import InputContainer


def subtitle_tracks(path: str | Path) -> list[Track]:
    """Return the subtitle tracks of a video file, in the order of the file.

    Raises:
        SubtitleError: The file cannot be read.
    """
    with _opened(path) as container:
        return _tracks(path, container)


def read_embedded(
    path: str | Path,
    *,
    origin_s: float = 0.0,
    duration_s: float | None = None,
    language: str | None = None,
    track: int | str | None = None,
) -> Subtitles:
    """Read a text track of a video file.

    Of the tracks in the wanted language, the one with the most text is read. A track that is marked
    as forced, or called "Signs", "Songs" or "Commentary", is read only if there is no other. If
    `language` is None, the language of the default track is wanted, or else of the first track.
    Nothing is decoded, but the packets of a text track lie between the packets of the video, so an
    MKV is read once as a whole.

    Args:
        path: The video file.
        origin_s: Presentation time of the video's first frame in the container's time, in seconds,
            subtracted from every time.
        duration_s: Length of the video in seconds: lines are cut to `[0, duration_s)`. None means
            no end.
        language: The wanted language: its code of two or three letters (ISO 639-1, 639-2), its
            English name, or a tag that begins with a code, such as "pt-BR".
        track: The number of a track among the subtitle tracks, from 0, or its title.

    Returns:
        The lines, possibly none. A line whose duration the container does not give lasts until the
        next one starts, or for LAST_LINE_S seconds if none does.

    Raises:
        SubtitleError: The file has no such track, its subtitles are images, or it cannot be read.
        InputError: `origin_s` or `duration_s` is not a valid number of seconds, or `language` is no
            language.
    """
    check_finite("origin_s", origin_s)
    check_duration(duration_s)
    with _opened(path) as container:
        candidates = _candidates(path, _tracks(path, container), language, track)
        lines = _lines_of(container, candidates)
    fullest = max(candidates, key=lambda candidate: _worth(candidate, lines[candidate.number]))
    return track_of(lines[fullest.number], origin_s, duration_s, f"the subtitles in {path}")


@contextmanager
def _opened(path: str | Path) -> Iterator[InputContainer]:
    """Open a video file; turn errors while it is open into SubtitleError."""
    import av  # imported here, so that `import atlaskit` stays light

    from atlaskit.video.readers.container import what_it_is

    try:
        with open_media(path, {}) as container:
            yield container
    except (av.FFmpegError, OSError, ValueError, OverflowError) as error:
        if isinstance(error, AtlasError):
            raise
        other_kind = what_it_is(Path(path))
        if other_kind:
            raise SubtitleError(f"{path} {other_kind}.") from error
        raise SubtitleError(
            f"The subtitles in {path} cannot be read ({reason(error)}): copy or download it again."
        ) from error


def _tracks(path: str | Path, container: InputContainer) -> list[Track]:
    """Return the subtitle tracks of an open file, those that FFmpeg does not know last."""
    # Imported here, so that `import atlaskit` stays light.
    from atlaskit.video.readers.headers import codec_of_track

    tracks = []
    streams = container.streams.subtitles
    for track, stream in zip(tracks_of(streams), streams, strict=True):
        name = codec_of_track(Path(path), stream.id) if track.codec == "unknown" else None
        tracks.append(track._replace(codec=name or track.codec))
    for other in container.streams:
        name = codec_of_track(Path(path), other.id) if other.type in ("data", "unknown") else None
        if name in OTHER_CODECS:
            tracks.append(Track(len(tracks), "", "", name, is_default=False, is_forced=False))
    return tracks


def _candidates(
    path: str | Path, tracks: Sequence[Track], language: str | None, track: int | str | None
) -> list[Track]:
    """Return the tracks of which the one with the most text is read.

    Raises:
        SubtitleError: There is no readable track, or none that was asked for.
        InputError: `language` is no language.
    """
    if not tracks:
        raise SubtitleError(f"{path} has no subtitle track: give its subtitles as a file.")
    listed = "; ".join(str(each) if each.is_text else f"{each} ({each.kind})" for each in tracks)
    if track is not None:
        chosen = list[Track]()
        for found in tracks:
            if str(track) == str(found.number) or track == found.title:
                chosen.append(found)
        if not chosen:
            raise SubtitleError(
                f"{path} has no subtitle track {track!r:.80}: choose from {listed}."
            )
        if not chosen[0].is_text:
            raise SubtitleError(
                f"The subtitle track {track!r:.80} of {path} cannot be read ({chosen[0].kind}): "
                f"choose another from {listed}, or give subtitles as a file."
            )
        return chosen[:1]
    readable = [found for found in tracks if found.is_text]
    if not readable:
        kinds = "; ".join(dict.fromkeys(found.kind for found in tracks))
        raise SubtitleError(
            f"The subtitles in {path} cannot be read ({kinds}): give them as a file."
        )
    if language is not None:
        chosen = [found for found in readable if same_language(language, found.language)]
        if not chosen:
            raise SubtitleError(
                f"{path} has no text track in language {language!r:.80}: choose from {listed}."
            )
        chosen = _whole(chosen)
        exact = [found for found in chosen if is_exact_language(language, found.language)]
        chosen = exact or chosen
    else:
        whole = _whole(readable)
        default_languages = [found.language for found in readable if found.is_default]
        usual = next((found for found in whole if found.language in default_languages), whole[0])
        chosen = [found for found in whole if found.language == usual.language]
    return _whole(chosen)


def _whole(tracks: list[Track]) -> list[Track]:
    """Return the tracks that are not partial; all of them if each is partial."""
    return [track for track in tracks if not track.is_partial] or tracks


def _worth(track: Track, lines: Sequence[SourceLine]) -> tuple[int, bool, int]:
    """Return a sort key: the number of letters, then whether it is the default, then its place.

    A text that a track repeats, such as that of an animated sign, counts once.
    """
    return sum(map(len, {line.text for line in lines})), track.is_default, -track.number


def _lines_of(container: InputContainer, tracks: Sequence[Track]) -> dict[int, list[SourceLine]]:
    """Return the lines of some tracks by their numbers, in the container's time."""
    # Imported here, so that `import atlaskit` stays light.
    from atlaskit.video.readers.container import discard_others, packets_of

    of_index = {container.streams.subtitles[track.number].index: track for track in tracks}
    streams = [container.streams[index] for index in of_index]
    discard_others(container, *streams)  # lets the demuxer skip the frames of an MP4 unread
    found = defaultdict[int, list[tuple[float, float | None, bytes]]](list)
    for packet in packets_of(container, *streams):
        if packet.pts is None or packet.time_base is None or not packet.size:
            continue
        start = packet.pts * packet.time_base
        duration = (packet.duration or 0) * packet.time_base
        end_s = float(start + duration) if duration > 0 else None
        data = bytes(packet)
        if of_index[packet.stream.index].codec == "mov_text":
            # Two bytes of length, the text, then styles.
            data = data[2 : 2 + int.from_bytes(data[:2], "big")]
        found[packet.stream.index].append((float(start), end_s, data))
    lines = dict[int, list[SourceLine]]()
    for index, track in of_index.items():
        lines[track.number] = _decoded(found[index], track.codec in ("ass", "ssa"))
    return lines


def _decoded(rows: Sequence[tuple[float, float | None, bytes]], is_ass: bool) -> list[SourceLine]:
    """Return the lines of a track from its packets; the encoding is guessed as for a file."""
    # The bytes of the packets are parsed here, since FFmpeg would convert them to ASS, which alters
    # braces and backslashes.
    usual = encoding_of(b"\n".join(data for _, _, data in rows)) or "utf-8"
    lines = []
    for start_s, end_s, data in rows:
        encoding = "utf-16" if data.startswith((b"\xfe\xff", b"\xff\xfe")) else usual
        text = data.decode(encoding, "replace")
        if is_ass:
            # The fields of ASS are number, layer, style, name, three margins, effect, text.
            text = plain_ass_text(text.split(",", 8)[-1])
        else:
            text = plain_text(text)
        lines.append(SourceLine(start_s, end_s, text))
    if is_ass:  # a text that is drawn in several layers at once is one line
        return list(dict.fromkeys(lines))
    return lines
