"""Subtitle files, the texts in them, and damage to them."""

from __future__ import annotations

import math
import random
from pathlib import Path

from atlaskit.video.subtitles import Subtitles

ASS_HEADER = """[Script Info]
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, \
StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Arial,20,&H00FFFFFF,&H000000FF,&H00000000,&H00000000,0,0,0,0,100,100,0,0,1,2,2,2,10,10,10,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""


def write(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file; return its path."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def srt_text(words: list[str], end: str = "\n") -> str:
    """Return an SRT text with one line of 2.5 s every 3 s."""
    return "".join(
        f"{number + 1}{end}00:00:{number * 3:02},000 --> 00:00:{number * 3 + 2:02},500{end}{line}{end}{end}"
        for number, line in enumerate(words)
    )


def ass_text(words: list[str]) -> str:
    """Return an ASS text with one line of 2.5 s every 3 s."""
    return ASS_HEADER + "".join(
        f"Dialogue: 0,0:00:{number * 3:02}.00,0:00:{number * 3 + 2:02}.50,Default,,0,0,0,,{line}\n"
        for number, line in enumerate(words)
    )


def texts_of(subtitles: Subtitles) -> list[str]:
    """Return the texts of all lines, in order."""
    return [line.text for line in subtitles.lines]


def is_valid(track: Subtitles) -> bool:
    """Tell whether lines are sorted, lie at finite times, and have a text that can be saved."""
    starts = [line.start_s for line in track.lines]
    return starts == sorted(starts) and all(
        line.text.strip() and 0 <= line.start_s < line.end_s < math.inf and line.text.encode() for line in track.lines
    )


def damage(data: bytes, rng: random.Random) -> bytes:
    """Return data with some bits flipped, and in four of ten cases cut short."""
    damaged = bytearray(data[: rng.randrange(len(data))] if rng.random() < 0.4 else data)
    for _ in range(rng.randrange(20)):
        if damaged:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


FRENCH = """Je ne sais pas où il est allé.|Tu l'as vu hier soir, n'est-ce pas ?|Oui, mais il était déjà très tard.
Ça ne fait rien, on l'attendra.|C'est la première fois qu'il disparaît.|La dernière fois, il était à l'hôtel.
Et personne ne l'a prévenu ?|Si, sa sœur l'a appelé deux fois.|Alors il faut chercher ailleurs.
Peut-être près de la forêt…|Vous êtes sûrs de ce que vous dites ?|Absolument. Je l'ai vu de mes propres yeux."""


CZECH = """Nevím, kam šel.|Viděl jsi ho včera večer?|Ano, ale bylo už velmi pozdě.|To nevadí, počkáme.
Je to poprvé, co takhle zmizel.|Naposledy byl v hotelu u řeky.|A nikdo ho nevaroval?|Sestra mu volala dvakrát.
Tak musíme hledat jinde.|Možná poblíž lesa.|Jste si jistý tím, co říkáte?|Samozřejmě. Viděl jsem to."""


RUSSIAN = """Я не знаю, куда он ушёл.|Ты видел его вчера вечером?|Да, но было уже очень поздно.
Ничего страшного, подождём.|Он впервые так исчезает.|В прошлый раз он был в гостинице.
И никто его не предупредил?|Сестра звонила ему два раза.|Значит, надо искать в другом месте.
Может быть, возле леса.|Вы уверены в том, что говорите?|Конечно. Я видел это своими глазами."""


JAPANESE = """彼がどこへ行ったのか分からない。|昨日の夜、彼を見ましたか？|はい、でももうとても遅かったです。
大丈夫、待ちましょう。|こんなふうに消えたのは初めてだ。|前回はホテルにいました。|誰も彼に注意しなかったのか？
妹さんが二回電話しました。|それなら別の場所を探そう。|たぶん森の近くに。|本当に間違いありませんか？
もちろん。この目で見ました。"""


CHINESE = """我不知道他去了哪里。|你昨天晚上看见他了吗？|看见了，可是已经很晚了。|没关系，我们等他。|他第一次这样消失。
上一次他在酒店里。|没有人提醒过他吗？|他妹妹给他打了两次电话。|那我们得去别的地方找。|也许在森林附近。
你确定你说的是真的吗？|当然，我亲眼看见的。"""


def rows_of(words: str) -> list[str]:
    """Return the lines of one of the samples above."""
    return words.replace("\n", "|").split("|")
