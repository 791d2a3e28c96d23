"""Names of languages: codes of ISO 639 and English names; `en`, `eng` and `English` are one."""

from __future__ import annotations

from functools import lru_cache

from atlaskit.errors import InputError

UNKNOWN = {"", "und", "mis", "mul", "zxx"}
"""Language tags that name no language."""


def same_language(wanted: str, tag: str) -> bool:
    """Tell whether a track's language tag is the wanted language.

    Args:
        wanted: A code of two or three letters (ISO 639-1, 639-2, 639-3), an English name, or a tag
            that begins with one, such as "pt-BR".
        tag: The tag of the track, likewise.

    Raises:
        InputError: `wanted` is no language.
    """
    return language_code(wanted) == _code(tag) or wanted.strip().lower() == tag.strip().lower()


def language_code(language: str) -> str:
    """Return the code of a language: that of ISO 639-1 if it has one, else that of ISO 639-3.

    Args:
        language: A code or an English name, in any case; a region (`en-US`) is left out.

    Raises:
        InputError: It is no language.
    """
    code = _code(language) if isinstance(language, str) else None
    if code is None:
        raise InputError(f'A language is a code or a name such as "en", "eng" or "English"; got {language!r:.80}.')
    return code


@lru_cache(maxsize=256)
def _code(name: str) -> str | None:
    """Return the code of a language, None for a name of none."""
    from iso639 import Lang  # here, so that `import atlaskit` stays light
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    name = name.strip().replace("_", "-")
    if name.lower() in UNKNOWN:
        return None
    for form in (name.lower(), name.title(), name, name.partition("-")[0].lower()):
        try:
            found = Lang(form)
        except DeprecatedLanguageValue as error:
            return error.change_to or None
        except InvalidLanguageValue:
            continue
        return found.pt1 or found.pt3 or None
    return None
