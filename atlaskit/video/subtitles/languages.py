"""Compares names and codes of languages."""

from __future__ import annotations

from atlaskit.errors import InputError

UNKNOWN = {"", "und", "mis", "mul", "zxx"}
"""Language tags that name no language."""
COLLOQUIAL = {
    **{"greek": "ell", "farsi": "fas", "mandarin": "cmn", "cantonese": "yue", "brazilian": "por", "mo": "ron"},
    **{"cn": "zho", "jp": "jpn", "kr": "kor", "cz": "ces", "gr": "ell", "taiwanese": "zho"},
}
"""Languages by names and codes that are in use, and not in the standard."""
MACRO = {"cmn": "zho", "yue": "zho", "nob": "nor", "nno": "nor", "pes": "fas", "arb": "ara", "zsm": "msa", "fil": "tgl"}
"""Languages by those that include or are them; a track of one serves who wants the other."""


def same_language(wanted: str, tag: str) -> bool:
    """Tell whether a track's language tag is the wanted language.

    Args:
        wanted: A code of two or three letters (ISO 639-1, 639-2, 639-3), an English name, or a tag
            that begins with one, such as "pt-BR".
        tag: The tag of the track, likewise.

    Raises:
        InputError: `wanted` is no language.
    """
    if not isinstance(wanted, str):
        raise InputError(f'language must be a code or a name such as "en", "eng" or "English"; got {wanted!r:.80}.')
    language = _code(wanted)
    if language is None:
        if wanted.strip().lower() == tag.strip().lower():
            return True
        raise InputError(f'language must be a code or a name such as "en", "eng" or "English"; got {wanted!r:.80}.')
    found = _code(tag)
    return found is not None and MACRO.get(language, language) == MACRO.get(found, found)


def _code(name: str) -> str | None:
    """Return the ISO 639-3 code of a language, None for a name of none."""
    from iso639 import Lang  # here, so that `import atlaskit` stays light
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    name = name.partition("(")[0].strip().replace("_", "-")
    if name.lower() in UNKNOWN:
        return None
    colloquial = COLLOQUIAL.get(name.lower().partition("-")[0])
    if colloquial:
        return colloquial
    for form in (name.lower(), name.title(), name, name.partition("-")[0].lower()):
        try:
            return Lang(form).pt3 or None
        except DeprecatedLanguageValue as error:
            return error.change_to or None
        except InvalidLanguageValue:
            continue
    return None
