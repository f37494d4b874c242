"""The forms of English time expressions, each with the rule of `timegrammar.Grammar` that reads it."""

from __future__ import annotations

import re

from remora.memory.timewords import DAYS, MONTHS, NUMBERS, SHORT_DAYS, SHORT_MONTHS, UNITS


def _regex(pattern: str) -> re.Pattern[str]:
    number = "|".join(sorted(map(re.escape, NUMBERS), key=len, reverse=True))
    units = "seconds?|minutes?|hours?|days?|weeks?|months?|quarters?|years?|" + "|".join(
        sorted(UNITS, key=len, reverse=True)
    )
    month = "|".join([*MONTHS, *sorted(SHORT_MONTHS, key=len, reverse=True)])
    day = "|".join([*DAYS, *sorted(SHORT_DAYS, key=len, reverse=True)])
    for name, value in (("N", rf"\d+|{number}"), ("UNIT", units), ("MONTH", rf"(?:{month})\.?"), ("DAY", day)):
        pattern = pattern.replace(f"<{name}>", f"(?:{value})")
    return re.compile(pattern)


_TIME = r"(?:\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]\.?m\.?|noon|midnight)"
_CLOCK = rf"{_TIME}|\d{{1,2}}"
_DATE = r"(\d{4})-(\d{1,2})-(\d{1,2})"
_ONE = "second|minute|hour|day|week|month|quarter|year"
_HOLIDAY = "christmas|new year|easter|halloween|thanksgiving|valentine"

# The first form that fits and makes sense decides.
RANGES = [
    (_regex(pattern), rule)
    for pattern, rule in (
        (rf"(.+?),? (?:between|from) (?:at )?({_CLOCK}) (?:and|to|until|-) (?:at )?({_CLOCK})", "day_between"),
        (r"between (.+?) and (.+)", "between"),
        (r"from (.+?) (?:to|until|till|through) (.+)", "between"),
        (r"(.+?)\s*\.\.\s*(.+)", "between"),
        (r"(.+?)\s+[–—-]\s+(.+)", "between"),
        (r"(?:ever )?since (.+)", "since"),
        (r"(?:after|later than|newer than) (.+)", "after"),
        (r"(?:before|earlier than|older than|prior to) (.+)", "before"),
        (r"(?:until|till|up to|through|by) (.+)", "until"),
    )
]  # fmt: skip
_Y = r"(?:,? (?:of )?(?P<y>\d{4}))?"
POINTS = [
    (_regex(pattern), rule)
    for pattern, rule in (
        (rf"{_DATE}(?:[t ](\d{{2}}):(\d{{2}})(?::(\d{{2}})(?:\.\d+)?)?\s*(z|[+-]\d{{2}}:?\d{{2}})?)?", "iso"),
        (r"(\d{4})-(\d{1,2})", "iso_month"),
        (r"(?:the year )?((?:19|20|21)\d{2})", "year"),
        (r"(\d{4})-?w(\d{1,2})", "iso_week"),
        (r"(?:calendar )?week (\d{1,2})(?: (?:of )?(\d{4})?)?", "numbered_week"),
        (r"(?P<y>\d{4})-?q(?P<q>[1-4])", "quarter"),
        (rf"q(?P<q>[1-4]){_Y}", "quarter"),
        (rf"(?:the )?(?P<q>first|second|third|fourth|[1-4])(?:st|nd|rd|th|\.)? quarter{_Y}", "quarter"),
        (rf"(?:the )?(?P<h>first|second|[12])(?:st|nd|\.)? half{_Y}", "half"),
        (rf"h(?P<h>[12]){_Y}", "half"),
        (r"(\d{10}|\d{13})", "epoch"),
        (r"(\d{1,2})(/)(\d{1,2})(?:/(\d{4}|\d{2}))?", "numeric"),
        (r"(\d{1,2})(\.) ?(\d{1,2})\.? ?(\d{4}|\d{2})?", "numeric"),
        (rf"(?P<m><MONTH>) (?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?{_Y}", "month_day"),
        (rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?(?P<m><MONTH>){_Y}", "month_day"),
        (r"md (\d{1,2})(?: (\d{1,2}))?", "month_number"),
        (r"(last |this |previous )?(<MONTH>)(?:,? (?:of )?(\d{4}))?", "month_name"),
        (r"(?:the )?(today|yesterday|day before yesterday|tomorrow)", "word_day"),
        (r"now|right now|just now", "instant"),
        (r"recent|recently|lately", "recent"),
        (r"(?:about )?(<N>) ?(<UNIT>) (?:ago|back|earlier)", "ago"),
        (r"(?:in |within |over |during )?(?:the )?(?:last|past) (<N>) ?(<UNIT>)", "past"),
        (rf"(?:in |within |over |during )(?:the )?(?:last|past)() ?({_ONE})", "past"),
        (rf"(?:the )?past() ?({_ONE})", "past"),
        (r"(?:the )?last() (second|minute|hour)", "past"),
        (r"(?:the )?(this|last|previous|current) (day|week|month|quarter|year|weekend)", "calendar"),
        (r"(?:on )?(last |this |previous |past )?(<DAY>)", "weekday"),
        (r"(last |this )?(spring|summer|autumn|fall|winter)(?: (?:of )?(\d{4}))?", "season"),
        (rf"(last |this )?({_HOLIDAY})(?:'?s)?(?: (?:day|eve))?(?: (?:of )?(\d{{4}}))?", "holiday"),
        (r"(early in|late in|beginning of|start of|middle of|end of|early|mid|late)[ -]?(?:the )?(.+)", "part_of"),
        (r"(tonight|this night|last night|this (morning|noon|afternoon|evening))", "this_part"),
        (r"(.+?),? (?:in the |at )?(morning|noon|midday|lunchtime|afternoon|evening|night)", "day_part"),
        (rf"(.+?),? at ({_TIME}|\d{{1,2}})", "day_time"),
        (rf"(.+?),? ({_TIME})", "day_time"),
        (rf"(?:at )?({_TIME})", "only_time"),
    )
]  # fmt: skip
