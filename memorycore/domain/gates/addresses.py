"""Passwords inside addresses and command lines: ``scheme://user:password@host``, ``curl -u``, ``?token=…``, headers."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memorycore.domain.gates import values
from memorycore.domain.gates.disguise import Span

_SHORTEST, _SHORTEST_HEX = 12, 16
# What templates print in place of a password.
_NO_PASSWORDS = frozenset({
    "password", "pass", "passwd", "pwd", "secret", "token", "user", "username", "pw", "port", "host", "x", "foo", "bar",
    "123", "test", "xxx", "yyy", "$pass", "$password",
})  # fmt: skip


def _anything(value: str) -> bool:
    """A value, and not the name of one: ``Basic realm="…"``."""
    return not value.rstrip("=").isalpha() or not value.endswith("=")


def _long(value: str) -> bool:
    return values.machine_made(value)


def _keylike(value: str) -> bool:
    return values.machine_made(value, _SHORTEST) or values.is_hex(value, _SHORTEST_HEX) or values.is_uuid(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """``hints``: one is in every text with such an address; the last group is the value; ``holds``: what it must be."""

    rule: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    holds: Callable[[str], bool] = _anything


_SCHEME = r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://"
_HOST = r"@(?=[\w\[$-])"
_FORMS = (
    _Form(
        rule="url_password",
        hints=("://",),
        pattern=re.compile(rf"{_SCHEME}[^\s/:@\"'<>]{{0,80}}:([^\s/\"'<>]{{1,200}}){_HOST}"),
    ),
    _Form(  # a slash in the password
        rule="url_password",
        hints=("://",),
        pattern=re.compile(rf"{_SCHEME}[^\s/:@\"'<>]{{1,80}}:([^\s@\"'<>]{{1,200}}){_HOST}"),
    ),
    _Form(  # a key alone, as in the address of an error tracker
        rule="url_password",
        hints=("://",),
        pattern=re.compile(rf"{_SCHEME}([\w-]{{20,200}}){_HOST}"),
        holds=_keylike,
    ),
    _Form(
        rule="login",
        hints=("machine",),
        pattern=re.compile(r"\bmachine\s+\S{1,100}\s+login\s+\S{1,100}\s+password\s+(\S{3,100})"),
    ),
    _Form(
        rule="network_password",
        hints=("WIFI:",),
        pattern=re.compile(r"\bWIFI:(?:[A-Z]:[^;\n]{0,60};){0,4}?P:([^;\n]{3,80});"),
    ),
    _Form(
        rule="second_factor",
        hints=("otpauth://",),
        pattern=re.compile(r"\botpauth://[^\s\"'<>]{0,300}?[?&]secret=([A-Za-z2-7]{8,128})"),
    ),
    _Form(  # RFC 7517: the private part of a JSON web key
        rule="private_key",
        hints=('"kty"',),
        pattern=re.compile(r"\"(?:d|k)\"\s*:\s*\"([\w-]{20,1000})\""),
    ),
    _Form(
        rule="authorization",
        hints=("uthorization",),
        pattern=re.compile(
            r"\b[Aa]uthorization[\"']?\s*[:=]\s*[\"']?(?:[Bb]asic|[Bb]earer|[Tt]oken|Digest|ApiKey|Key|Negotiate"
            r"|GenieKey|Bot|Splunk)\s+([\w+/=.~:-]{6,2000})"
        ),
    ),
    _Form(
        rule="authorization",
        hints=("earer",),
        pattern=re.compile(r"\b[Bb]earer\s+([\w+/=.~-]{16,2000})"),
        holds=_long,
    ),
    _Form(
        rule="login",
        hints=("-u", "--user", " -a", "--auth"),
        pattern=re.compile(
            r"(?:(?<!\S)(?:curl|https?|wget|xh)\s[^\n]{0,300}?(?:\s-u|\s--user|\s-a|\s--auth)[ =]?|--user[ =]"
            r"|(?<!\S)-u\s)\s?[\"']?\{?[^\s:\"'<>{}]{0,80}\}?[\"']?:[\"']?\{?([^\s\"'<>{}]{3,100})"
        ),
    ),
    _Form(
        rule="login",
        hints=(" -p", " -a", " -k", "%"),
        pattern=re.compile(
            r"(?:\b(?:mysql|mysqldump|mariadb|mysqladmin)\b[^\n]{0,200}?\s-p"
            r"|\b(?:redis|valkey)-cli\b[^\n]{0,200}?\s-a[ =]?|\bsshpass\s+-p\s*"
            r"|\b(?:docker|podman|helm|az|oc|crane|npm)\s[^\n]{0,200}?login\b[^\n]{0,200}?\s-p[ =]"
            r"|\bopenssl\b[^\n]{0,200}?\s-(?:k|pass|passin|passout)\s+(?:pass:)?"
            r"|\bsmbclient\b[^\n]{0,200}?%|\b(?:7z|unzip|zip|rar)\b[^\n]{0,80}?\s-[pP] ?)"
            r"[\"']?([^\s\"'-][^\s\"']{3,100})"
        ),
    ),
    _Form(
        rule="url_key",
        hints=("=",),
        pattern=re.compile(
            r"[?&;](?:[\w.-]{0,30}(?:token|key|secret|signature|password|passwd|pwd|auth|session|sid)|sig|pass|code"
            r"|X-Amz-Credential)=([^\s&#\"'<>]{6,2000})",
            re.IGNORECASE,
        ),
        holds=_keylike,
    ),
)


def find_in_addresses(text: str) -> Iterator[tuple[str, Span]]:
    """Rule and span of each password that an address, a header or a command carries."""
    for form in _FORMS:
        if not any(hint in text for hint in form.hints):
            continue
        for match in form.pattern.finditer(text):
            value = match.group(1)
            # The end of a sentence is no part of the last word, but any sign may stand before "@host".
            bare = value if form.rule == "url_password" else value.rstrip(".,;:)")
            if form.holds(bare) and bare.lower() not in _NO_PASSWORDS and not values.is_placeholder(bare):
                yield form.rule, (match.start(1), match.start(1) + len(bare))
