"""Is a member of this name likely to hold a secret? The server's own rule, applied before sending."""

import re

_MAYBE = re.compile(r"pass|pwd|token|secret|key|auth|cookie|credential", re.I)
_HUMPS = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_COMPOUND = re.compile(
    r"(?:[a-z](?:token|password|passwd|secret|cookie)|(?:api|access|private|secret|signing|auth)key)s?$"
)
_WORDS = frozenset(
    "password passwords passwd pwd passphrase secret secrets authorization cookie cookies"
    " credential credentials".split()
)
_CARRIERS = frozenset("value text string header".split())
_KEY_OWNERS = frozenset("api access private secret signing encryption ssh".split())


def is_sensitive_name(name):
    """apiKey, api_key and X-Api-Key are; keyframe, key_frame and monkey are not."""
    if not _MAYBE.search(name):
        return False
    words = [word for word in re.split(r"[^a-z]+", _HUMPS.sub(" ", name).lower()) if word]
    if any(word in _WORDS or _COMPOUND.search(word) for word in words):
        return True
    while words and words[-1] in _CARRIERS:
        words.pop()
    if not words:
        return False
    if words[-1] == "keys":  # plain keys are those of an animation curve
        return len(words) > 1 and words[-2] in _KEY_OWNERS
    return words[-1] in ("key", "token", "tokens")
