"""What a file is that is no video: one sentence, with what to do."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from PIL import Image
from support.media import make_sound_file, make_video
from video.pictures import SMALL

from atlaskit.errors import VideoError
from atlaskit.video.opening import open_video
from atlaskit.video.readers.container import is_encrypted

KEY = {
    "encryption_scheme": "cenc-aes-ctr",
    "encryption_key": "76a6c65c5ea762046bd749a2e632ccbb",
    "encryption_kid": "a7e61c373e219033c21091fa607bf3b8",
}
BYTES = {
    "page.mp4": (b"\n<!DOCTYPE html><html><body>404 Not Found</body></html>", "is a web page"),
    "pointer.mp4": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "pointer of Git LFS"),
    "list.m3u": (b"film one.mp4\nfilm two.mp4\n", "is a list of other files: name a video file"),
    "addresses.mp4": (b"# made by hand\nhttps://example.org/a.ts\n", "list of other files"),
    "concat.txt": (b"file 'a.mp4'\nfile 'b.mp4'\n", "list of other files"),
    "list.mp4": (b"#EXTM3U\n#EXTINF:3,\nhttp://example.org/a.ts\n", "list of other files"),
    "list.mpd": (b'<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"></MPD>', "list of other files"),
    "paper.mp4": (b"%PDF-1.7\n", "is a PDF document"),
    "empty.mp4": (b"", "is empty"),
    "zeros.mp4": (bytes(100_000), "nothing but zeros"),
    "words.mp4": (b"1\n00:00:01,000 --> 00:00:02,000\nHello\n", "holds subtitles.*`subtitles`"),
    "a.torrent": (b"d8:announce35:http://example.org/announcee", "is a torrent"),
    "v.mp4.part": (b"\x01\x02\x03" * 1000, "not finished: wait"),
    "archive.mkv": (gzip.compress(b"x" * 100), "is an archive: unpack it"),
    "phone.heic": (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100), "picture .HEIF"),
    "junk.mp4": (bytes(range(256)) * 40, "not a video that can be read"),
}


@pytest.mark.parametrize("name", BYTES)
def test_a_file_of_another_kind_is_named(tmp_path: Path, name: str) -> None:
    content, sentence = BYTES[name]
    (tmp_path / name).write_bytes(content)
    expect_sentence(tmp_path / name, sentence)


def expect_sentence(path: Path, sentence: str) -> str:
    with pytest.raises(VideoError, match=sentence) as caught:
        open_video(path)
    text = str(caught.value)
    assert "\n" not in text and str(path) in text and text.endswith(".")
    return text


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "BMP"])
def test_a_picture_is_named(tmp_path: Path, kind: str) -> None:
    Image.new("RGB", (80, 60)).save(tmp_path / "picture.mp4", format=kind)
    expect_sentence(tmp_path / "picture.mp4", f"is a {kind}")


def test_a_motion_photo_tells_where_its_video_begins(tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", frames=20, size=SMALL).read_bytes()
    path = tmp_path / "IMG_1.jpg"
    Image.new("RGB", (80, 60)).save(path)
    photo = path.read_bytes()
    path.write_bytes(photo + video)
    text = expect_sentence(path, f"from byte {len(photo)} on")
    assert "write the bytes from there on to an .mp4 file" in text


def test_a_recording_without_its_end_is_named(tmp_path: Path) -> None:
    whole = make_video(tmp_path / "v.mp4", frames=50, size=SMALL, container_options={"movflags": "0"}).read_bytes()
    (tmp_path / "cut.mp4").write_bytes(whole[: whole.find(b"moov") - 4])
    expect_sentence(tmp_path / "cut.mp4", "has no index .moov box.")
    (tmp_path / "head.mp4").write_bytes(make_video(tmp_path / "v.mp4", frames=50).read_bytes()[:500])
    expect_sentence(tmp_path / "head.mp4", "truncated")


@pytest.mark.parametrize("movflags", ["+faststart", "frag_keyframe+empty_moov+default_base_moof"])
def test_an_encrypted_mp4_is_named(tmp_path: Path, movflags: str) -> None:
    path = make_video(tmp_path / "v.mp4", frames=30, size=SMALL, container_options=KEY | {"movflags": movflags})
    expect_sentence(path, "is encrypted .DRM.")


@pytest.mark.parametrize("last", [0x100, 0x1F00], ids=["picture alone", "all"])
def test_a_scrambled_transport_stream_is_named(tmp_path: Path, last: int) -> None:
    data = bytearray(make_video(tmp_path / "v.ts", frames=50, size=SMALL, sound_s=2.0).read_bytes())
    packets = range(0, len(data), 188)
    for at in packets:
        if 0x100 <= ((data[at + 1] & 0x1F) << 8 | data[at + 2]) <= last:
            data[at + 3] |= 0xC0
    path = tmp_path / "scrambled.ts"
    path.write_bytes(data)
    disc = tmp_path / "scrambled.m2ts"
    disc.write_bytes(b"".join(b"\0\0\0\0" + data[at : at + 188] for at in packets))
    assert is_encrypted(path, "mpegts") and is_encrypted(disc, "mpegts")
    for at in packets:  # FFmpeg finds no video in this one, which lacks a byte as well
        data[at + 20 : at + 188] = random.Random(at).randbytes(168)
    (tmp_path / "noise.ts").write_bytes(data[:1000] + data[1001:])
    expect_sentence(tmp_path / "noise.ts", "is encrypted .DRM.")


def test_a_stream_out_of_step_is_not_called_encrypted(tmp_path: Path) -> None:
    data = make_video(tmp_path / "v.ts", frames=100, size=SMALL).read_bytes()
    joined = data[: len(data) // 2 + 77] + data
    for changed in (data, data[:5000] + data[5001:], data[101:], joined):
        (tmp_path / "odd.ts").write_bytes(changed)
        assert not is_encrypted(tmp_path / "odd.ts", "mpegts")


def test_a_whole_file_with_the_suffix_of_a_download_opens(tmp_path: Path) -> None:
    whole = make_video(tmp_path / "v.mp4", frames=20, size=SMALL)
    assert open_video(whole.rename(tmp_path / "v.mp4.part")).duration_s == pytest.approx(0.8)


def test_sound_alone_and_a_link_to_nothing_are_named(tmp_path: Path) -> None:
    expect_sentence(make_sound_file(tmp_path / "sound.m4a"), "only sound: name")
    (tmp_path / "v.mp4").symlink_to(".git/annex/objects/gone")
    expect_sentence(tmp_path / "v.mp4", "is a link to .git/annex/objects/gone, which does not exist: fetch")
