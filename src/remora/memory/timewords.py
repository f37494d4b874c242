"""Time expressions of other languages, rewritten into the English ones that the parser knows."""

from __future__ import annotations

import re

NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple": 2, "a couple": 2, "a couple of": 2, "couple of": 2,
    "few": 3, "a few": 3, "several": 3,
}  # fmt: skip
MONTHS = ("january february march april may june july august september october november december").split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
SHORT_MONTHS = {name[:3]: at for at, name in enumerate(MONTHS, 1)} | {"sept": 9}
SHORT_DAYS = {name[:3]: at for at, name in enumerate(DAYS)} | {"tues": 1, "wednes": 2, "thur": 3, "thurs": 3}
UNITS = {
    "s": "second", "sec": "second", "secs": "second", "m": "minute", "min": "minute", "mins": "minute", "h": "hour",
    "hr": "hour", "hrs": "hour", "d": "day", "w": "week", "wk": "week", "y": "year", "yr": "year", "yrs": "year",
    "mo": "month",
}  # fmt: skip
PARTS = {
    "morning": (5, 12), "noon": (11, 14), "midday": (11, 14), "lunchtime": (11, 14), "afternoon": (12, 18),
    "evening": (18, 22), "night": (22, 29),
}  # fmt: skip
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}

_GERMAN_WORDS = {
    "jetzt": "now", "heute": "today", "morgen": "tomorrow", "vorgestern": "day before yesterday",
    "gestern": "yesterday", "morgens": "morning", "früh": "morning", "vormittag": "morning", "vormittags": "morning",
    "mittag": "noon", "mittags": "noon", "nachmittag": "afternoon", "nachmittags": "afternoon", "abend": "evening",
    "abends": "evening", "nacht": "night", "nachts": "night", "januar": "january", "jänner": "january",
    "februar": "february", "märz": "march", "mai": "may", "juni": "june", "juli": "july", "oktober": "october",
    "dezember": "december", "montag": "monday", "dienstag": "tuesday", "mittwoch": "wednesday",
    "donnerstag": "thursday", "freitag": "friday", "samstag": "saturday", "sonnabend": "saturday",
    "sonntag": "sunday", "frühling": "spring", "frühjahr": "spring", "sommer": "summer", "herbst": "autumn",
    "winter": "winter", "wochenende": "weekend", "neulich": "recently", "kürzlich": "recently",
    "letztens": "recently", "quartal": "quarter", "weihnachten": "christmas", "ostern": "easter",
    "neujahr": "new year", "silvester": "new year", "halbjahr": "half", "sekunde": "second", "sekunden": "second",
    "minute": "minute", "minuten": "minute", "stunde": "hour", "stunden": "hour", "tag": "day", "tage": "day",
    "tagen": "day", "woche": "week", "wochen": "week", "monat": "month", "monate": "month", "monaten": "month",
    "monats": "month", "jahr": "year", "jahre": "year", "jahren": "year", "jahres": "year", "ein": "one",
    "eine": "one", "einem": "one", "einen": "one", "einer": "one", "eines": "one", "zwei": "two", "drei": "three",
    "vier": "four", "fünf": "five", "sechs": "six", "sieben": "seven", "acht": "eight", "neun": "nine", "zehn": "ten",
    "elf": "eleven", "zwölf": "twelve", "paar": "few", "wenigen": "few", "einigen": "few", "erstes": "first",
    "ersten": "first", "erste": "first", "zweites": "second", "zweiten": "second", "zweite": "second",
    "drittes": "third", "dritten": "third", "viertes": "fourth", "vierten": "fourth",
}  # fmt: skip
_G_UNIT = r"(?:sekunden?|minuten?|stunden?|tagen?|tage?|wochen?|monaten?|monate|monat|jahren?|jahre|jahr)"
_G_NUMBER = (
    r"(?:\d+|eine[mnrs]?|ein paar|ein|paar|wenigen|einigen|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf)"
)
_G_LAST = r"(?:letzte[nrsm]?|vorige[nrsm]?|vergangene[nrsm]?)"
_GERMAN = [(re.compile(pattern), into) for pattern, into in (
    (rf"\bvor ({_G_NUMBER}) ({_G_UNIT})\b", r"\1 \2 ago"),
    (rf"\b(?:in )?(?:den|die|der) {_G_LAST} ({_G_NUMBER}) ({_G_UNIT})\b", r"last \1 \2"),
    (rf"\b{_G_LAST} ({_G_NUMBER}) ({_G_UNIT})\b", r"last \1 \2"),
    (r"\bzwischen (.+?) und (.+)", r"between \1 and \2"),
    (r"\bvo[nm] (.+?) bis (?:zum )?(.+)", r"from \1 to \2"),
    (r"\bseit (?:dem )?", "since "),
    (r"\bnach (?:dem )?", "after "),
    (r"\bbis (?:zum )?", "until "),
    (r"\bvor (?:dem )?", "before "),
    (rf"\b(?:im |am |in der )?{_G_LAST} ", "last "),
    (r"\b(?:in |im |am )?(?:diese[nrsm]?|dieses) ", "this "),
    (r"\banfang (?:des )?", "beginning of "),
    (r"\bmitte (?:des )?", "middle of "),
    (r"\bende (?:des )?", "end of "),
    (r"\b(?:um )?(\d{1,2}):(\d{2})(?: uhr)?\b", r"at \1:\2"),
    (r"\b(?:um )?(\d{1,2}) uhr\b", r"at \1:00"),
    (r"\bkw ?(\d{1,2})(?:[ /](\d{4}))?\b", r"week \1 \2"),
    (r"\b(heute|gestern|vorgestern|\w+tag|mittwoch) (?:früh|morgen)\b", r"\1 morning"),
    (r"\b(?:am|im|in der|in den|dem|den|der|die|das|des) ", ""),
)]  # fmt: skip
_KOREAN_UNITS = {
    "초": "second",
    "분": "minute",
    "시간": "hour",
    "일": "day",
    "주": "week",
    "주일": "week",
    "개월": "month",
    "달": "month",
    "년": "year",
}
_K_UNIT = "(초|분|시간|일|주일|주|개월|달|년)"
_KOREAN = [(re.compile(pattern), into) for pattern, into in (
    (r"(\d{4})년\s*(\d{1,2})월\s*(\d{1,2})일", r"\1-\2-\3"),
    (r"(\d{4})년\s*(\d{1,2})월", r"\1-\2"),
    (r"(\d{4})년", r"\1"),
    (r"(\d{1,2})월\s*(\d{1,2})일", r"md \1 \2"),
    (r"(\d{1,2})월", r"md \1"),
    (r"그저께|그제", "day before yesterday "), (r"어제|어저께", "yesterday "), (r"오늘", "today "),
    (r"지금", "now "),
    (r"아침|오전", " morning"), (r"점심|정오", " noon"), (r"오후", " afternoon"), (r"저녁", " evening"),
    (r"밤", " night"),
    (r"지난\s*주말", "last weekend"), (r"이번\s*주말", "this weekend"),
    (r"지난\s*주\s*(?=[월화수목금토일]요일)", "last "), (r"지난\s*주", "last week"), (r"이번\s*주", "this week"),
    (r"지난\s*달", "last month"), (r"이번\s*달", "this month"), (r"작년|지난\s*해", "last year"),
    (r"올해", "this year"),
    (r"최근\s*(?=\d)|지난\s*(?=\d)", "last "), (r"최근에?", "recently"), (r"지난\s*", "last "),
    (r"월요일", "monday"), (r"화요일", "tuesday"), (r"수요일", "wednesday"), (r"목요일", "thursday"),
    (r"금요일", "friday"), (r"토요일", "saturday"), (r"일요일", "sunday"),
    (r"(.+?)부터\s*(.+?)까지", r"from \1 to \2"), (r"(.+?)\s*(?:이후|부터)", r"since \1"),
    (r"(.+?)\s*(?:이전|까지)", r"before \1"),
    (r"\s*동안$|에$", ""),
)]  # fmt: skip


def in_english(text: str, locale: str) -> str:
    """The expression with the words of a language replaced; `text` is lower case."""
    match locale:
        case "de":
            for pattern, into in _GERMAN:
                text = pattern.sub(into, text)
            return re.sub(r"[\wäöüß]+", lambda word: _GERMAN_WORDS.get(word[0], word[0]), text)
        case "ko":
            text = re.sub(rf"(\d+)\s*{_K_UNIT}\s*전", lambda found: f"{found[1]} {_KOREAN_UNITS[found[2]]} ago", text)
            text = re.sub(
                rf"(?:지난|최근)\s*(\d+)\s*{_K_UNIT}", lambda found: f"last {found[1]} {_KOREAN_UNITS[found[2]]}", text
            )
            for pattern, into in _KOREAN:
                text = pattern.sub(into, text)
            return text
        case _:
            return text
