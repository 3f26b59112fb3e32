"""Forms that a scan of a text looks for: words, numbers, codes, parts of the day. All are matched on folded text."""

import re

LANGUAGE = {"han": "zh", "kana": "ja", "hangul": "ko"}
FIRST_CJK = "\u2e80"
IS_CJK = re.compile(r"[\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
WORD = re.compile(
    r"[^\W\d_\u2e80-\u9fff\uac00-\ud7af]+n't\b|[^\W\d_\u2e80-\u9fff\uac00-\ud7af]+(?:'(?!s\b|ll\b|re\b|ve\b|d\b|m\b)[^\W\d_]+)*|'(?:s|m|re|ve|ll|d)\b"
)
FRENCH_CLITIC = re.compile(r"(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)'(?=\w)")
SOLID = re.compile(
    r"https?://[^\s,;)\"'\u3000-\u9fff]+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?:~|\.{1,2}|[a-z]:)?[/\\][a-z0-9_.@%+~*-]+(?:[/\\][a-z0-9_.@%+~*-]*)*"
    r"|(?=[a-z0-9_.-]*[a-z_])[a-z0-9_.-]+(?:/[a-z0-9_.-]+)+"
    r"|\d+(?:\.\d+){2,}"
    r"|v\d+(?:\.\d+)*(?![a-z])"
    r"|[a-z0-9_]+(?:[-_.#:][a-z0-9_]+)*[a-z0-9]|[a-z]\d+"
)
ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)(?![a-z])")
NUMBER = re.compile(r"\d+(?:[,' ]\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?")
CONTINENTAL = re.compile(r"\d{1,3}(?:[. ]\d{3})+(?:,\d+)?(?!\d)|\d+(?:,\d+)?")
PERCENT = re.compile(r"百分之([零一二三四五六七八九十百点]+|\d+(?:\.\d+)?)")
FRACTION = re.compile(r"([二三四五六七八九十]+)分之([一二三四五六七八九十]+)")
TAIL = re.compile(
    "(?<=[米块])[一二三四五六七八九]{1,2}(?![一二三四五六七八九十百千万亿个只支条张本名位件台辆层楼年月日号点分米厘毫块毛])"
)
"""What stands behind the unit: 一米五, 三块二."""
ONCE_IN = re.compile(r"一个?(天|周|月|年)(?=[^,.;]{0,4}[一二两三四五六七八九十\d]+[次回遍])")
ONCE = {"天": "daily", "周": "weekly", "月": "monthly", "年": "yearly"}
DECIMAL = re.compile(
    "[〇零一二两三四五六七八九十百]+点[〇零一二三四五六七八九]+"
    "(?=公斤|千克|斤|公里|千米|米|厘米|毫米|升|毫升|克|吨|元|块|万|亿|个?小时|个百分点|倍|度|平|折|岁|兆|[a-z]|%)"
)
CURRENCY = {"$": "$", "€": "€", "£": "£", "¥": "元", "￥": "元"}
PARTICLES = frozenset({"func", "topic", "prep", "quantifier", "contrast"})
LONGEST_PARTICLE = 2
RUN = 200
LARGE = {"万": 10_000, "亿": 100_000_000, "千": 1000, "百": 100, "万亿": 10**12, "만": 10_000, "억": 100_000_000}
RATES = {"day": "daily", "week": "weekly", "month": "monthly", "year": "yearly", "hour": "hourly", "night": "nightly"}
_PARTS = (
    "凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|晚|早|午前|午後|오전|오후"
    "|北京|东京|日本时|韩国时|伦敦时|纽约时|柏林时|巴黎时"
)
PARTS = re.compile(_PARTS)
BEFORE_FIGURES = frozenset("零〇一二两三四五六七八九十百千万亿半") | {part[0] for part in _PARTS.split("|")}
"""What a number, a share or a time in a script without blanks begins with: nothing else needs to be tried there."""
OF_WORDS = re.compile(r"(?:half|quarter) past |quarter to |(?:noon|midnight)\b|q[1-4]\b")
BEFORE_OF_WORDS = frozenset("hqnm")
"""What those begin with."""
AFTER_HOUR = re.compile(
    r"\s*$|\s*[,.;:!?)]|,? (?:on|every|in|until|till|and|or|from|sharp|each|today|tomorrow"
    r"|by|instead|to|since|now|because|daily|for|with|o'clock|not)\b"
)
NEVER_LAST = frozenset({
    "le", "la", "les", "un", "une", "des", "du", "au", "mon", "ma", "mes", "ton", "ta", "tes", "sa", "ses",
    "si", "ou", "et", "en", "mi", "tu", "el", "los", "las", "su", "y", "der", "die", "das", "dem", "ein",
    "eine", "es", "or", "and", "an", "the", "my", "your", "our", "their",
})  # fmt: skip
"""Articles and the like end no clause: where one stands there it is a value, a note or a name."""
PLACED = re.compile(r" (?:in|at|on|for|during|by|until|from|after|before|with|since|every)\b")
"""What stands behind "is off", which is no preposition then."""
HALF = re.compile(r"half (?:an? )?(?=hour|day|dozen|year|litre|liter|kilo|mile)")
PART_OF_DAY = re.compile(r" (?:in the (morning|afternoon|evening)|at (night))\b")
RATE = re.compile(r" ?(?:a|an|per|/|each|every) ?(day|week|month|year|hour|night)\b")
AND_A_HALF = re.compile(r" and a half(?= )")
ONE_UNIT = re.compile(
    r"an? (hour|minute|day|week|month|year|second|litre|liter|kilo|kilogram|kilometre|metre|meter|mile|pound)\b"
    r"( and a half\b)?"
)
DENYING_PREFIXES = ("un", "non", "in", "im", "ir", "dis")
