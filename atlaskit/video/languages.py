"""Names of languages: ISO 639-1 and 639-2 codes and English names, so that `en`, `eng` and `English`
are one.
"""

from __future__ import annotations

import re

_ROWS = """
af afr afrikaans; sq sqi alb albanian; am amh amharic; ar ara arabic; hy hye arm armenian; az aze azerbaijani;
eu eus baq basque; be bel belarusian; bn ben bengali; bs bos bosnian; bg bul bulgarian; my mya bur burmese;
ca cat catalan; zh zho chi chinese; hr hrv croatian; cs ces cze czech; da dan danish; nl nld dut dutch;
en eng english; et est estonian; fi fin finnish; fr fra fre french; gl glg galician; ka kat geo georgian;
de deu ger german; el ell gre greek; gu guj gujarati; ht hat haitian; ha hau hausa; he heb hebrew; hi hin hindi;
hu hun hungarian; is isl ice icelandic; id ind indonesian; it ita italian; ja jpn japanese; jw jv jav javanese;
kn kan kannada; kk kaz kazakh; km khm khmer; ko kor korean; lo lao; la lat latin; lv lav latvian; lt lit lithuanian;
lb ltz luxembourgish; mk mkd mac macedonian; mg mlg malagasy; ms msa may malay; ml mal malayalam; mt mlt maltese;
mi mri mao maori; mr mar marathi; mn mon mongolian; ne nep nepali; no nor norwegian; nn nno nynorsk; oc oci occitan;
ps pus pashto; fa fas per persian; pl pol polish; pt por portuguese; pa pan punjabi; ro ron rum romanian;
ru rus russian; sa san sanskrit; sr srp serbian; sn sna shona; sd snd sindhi; si sin sinhala; sk slk slo slovak;
sl slv slovenian; so som somali; es spa spanish; sw swa swahili; sv swe swedish; tl tgl tagalog; tg tgk tajik;
ta tam tamil; te tel telugu; th tha thai; bo bod tib tibetan; tr tur turkish; uk ukr ukrainian; ur urd urdu;
uz uzb uzbek; vi vie vietnamese; cy cym wel welsh; yi yid yiddish; yo yor yoruba
"""
_CODES = {name: row.split()[0] for row in _ROWS.split(";") for name in row.split()}


def language_code(language: str) -> str:
    """Return one code for all names of a language: ISO 639-1 where it is known, else as it is given.

    Args:
        language: A code or an English name, in any case; a region (`en-US`) is left out.
    """
    name = re.split(r"[-_]", language.strip().lower(), maxsplit=1)[0]
    return _CODES.get(name, name)
