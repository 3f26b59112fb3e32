"""Passwords inside addresses and command lines: ``scheme://user:password@host``, ``curl -u``, ``?token=…``, headers."""

import re
from collections.abc import Iterator

from memorycore.domain.gates import values
from memorycore.domain.gates.disguise import Span

_USERINFO = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@\"'<>]{0,80}:([^\s/\"'<>]{1,200})@(?=[\w\[$-])"
)
_SLASHED = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@\"'<>]{1,80}:([^\s@\"'<>]{1,200})@(?=[\w\[$-])"
)
_BASIC = re.compile(
    r"(?:(?<!\S)(?:curl|http|https|wget|xh)\s[^\n]{0,300}?(?:\s-u|\s--user|\s-a|\s--auth)[ =]?|--user[ =]|(?<!\S)-u\s)"
    r"\s?[\"']?\{?([^\s:\"'<>{}]{0,80})\}?[\"']?:[\"']?\{?([^\s\"'<>{}]{3,100})"
)
_OPTION = re.compile(
    r"(?:(?:mysql|mysqldump|mariadb|mysqladmin)\b[^\n]{0,200}?\s-p|(?:redis-cli|valkey-cli)\b[^\n]{0,200}?\s-a[ =]?|sshpass\s+-p\s*|(?:docker|podman|helm|az|oc|crane|npm)\s[^\n]{0,200}?login\b[^\n]{0,200}?\s-p[ =]|smbclient\b[^\n]{0,200}?%|(?:7z|unzip|zip|rar)\b[^\n]{0,80}?\s-[pP] ?)"
    r"[\"']?([^\s\"'-][^\s\"']{3,100})"
)
_HEADER = re.compile(
    r"\b[Aa]uthorization[\"']?\s*[:=]\s*[\"']?(?:Basic|Bearer|Token|token|Digest|ApiKey|Key|Negotiate|GenieKey|Bot|Splunk|basic|bearer)\s+([\w+/=.~:-]{6,2000})"
)
_BEARER = re.compile(r"\b(?:Bearer|bearer)\s+([\w+/=.~-]{16,2000})")
_NETRC = re.compile(r"\bmachine\s+\S{1,100}\s+login\s+\S{1,100}\s+password\s+(\S{3,100})")
_WIFI = re.compile(r"\bWIFI:(?:[A-Z]:[^;\n]{0,60};){0,4}?P:([^;\n]{3,80});")
_OTPAUTH = re.compile(r"\botpauth://[^\s\"'<>]{0,300}?[?&]secret=([A-Za-z2-7]{8,128})")
_QUERY = re.compile(
    r"[?&;](?:[\w.-]{0,30}(?:token|key|secret|signature|password|passwd|pwd|auth|session|sid)|sig|pass|code|X-Amz-Credential)=([^\s&#\"'<>]{6,2000})",
    re.IGNORECASE,
)
_JWK = re.compile(r"\"(?:d|k)\"\s*:\s*\"([\w-]{20,1000})\"")
_SIMPLE: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("login", "machine", _NETRC),
    ("network_password", "WIFI:", _WIFI),
    ("second_factor", "otpauth://", _OTPAUTH),
    ("private_key", '"kty"', _JWK),
)


def find_in_addresses(text: str) -> Iterator[tuple[str, Span]]:
    """Rule and span of each password that an address, a header or a command carries."""
    if "://" in text and "@" in text:
        for pattern in (_USERINFO, _SLASHED):
            yield from _checked("url_password", pattern, text)
    for rule, hint, pattern in _SIMPLE:
        if hint in text:
            yield from _checked(rule, pattern, text)
    if "uthorization" in text:
        yield from _checked("authorization", _HEADER, text)
    if "earer" in text:
        yield from (
            found for found in _checked("authorization", _BEARER, text) if values.machine_made(text[slice(*found[1])])
        )
    if "-u" in text or "--user" in text or " -a" in text or "--auth" in text:
        yield from _checked("login", _BASIC, text, group=2)
    if " -p" in text or " -a" in text or "%" in text:
        yield from _checked("login", _OPTION, text)
    if "=" in text:
        for rule, span in _checked("url_key", _QUERY, text):
            value = text[slice(*span)]
            if values.machine_made(value, 12) or values.is_hex(value, 16) or values.is_uuid(value):
                yield rule, span


def _checked(rule: str, pattern: re.Pattern[str], text: str, *, group: int = 1) -> Iterator[tuple[str, Span]]:
    for match in pattern.finditer(text):
        value = match.group(group)
        bare = value.rstrip(".,;:)") if rule != "url_password" else value
        if bare and not values.is_placeholder(bare) and bare.lower() not in _NO_PASSWORDS:
            yield rule, (match.start(group), match.start(group) + len(bare))


_NO_PASSWORDS = frozenset(
    {
        "password",
        "pass",
        "passwd",
        "pwd",
        "secret",
        "token",
        "user",
        "username",
        "pw",
        "port",
        "host",
        "x",
        "foo",
        "bar",
        "123",
    }
)
