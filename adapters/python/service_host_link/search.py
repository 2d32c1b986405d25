"""Where the server is: given, in the environment, or in the records that servers leave."""

import collections
import errno
import json
import os
import re
import stat
import time
import urllib.parse

RECORD_SECONDS = 30.0  # a running server touches its record every 5
MAX_RECORD_BYTES = 64 * 1024
MAX_TOKEN_BYTES = 4096

Address = collections.namedtuple("Address", "host port path authority url")


class Candidate(object):
    """A server to try. Never shows its token."""

    def __init__(self, address, token, token_file=None, instance_id=None, source="settings"):
        self.address, self.token = address, token
        self.token_file = token_file  # None: no other token will come from its source
        self.instance_id = instance_id
        self.source = source


def find_server(dcc_type, registry_dir=None, env=os.environ, reasons=None):
    """(url, token) of the server to link to, or None.

    Into the list `reasons` go sentences on why each one that was seen is not it; when there is
    none at all, the last one says so and what to do."""
    found = find_candidates(dcc_type, registry_dir, env, [] if reasons is None else reasons)
    return (found[0].address.url, found[0].token) if found else None


def find_candidates(dcc_type, registry_dir, env, reasons, own_server=None):
    """All of them, best first. `own_server`: id of the instance that this application was linked
    to, whose record may still show that connection."""
    url, token = env.get("SERVICE_HOST_URL"), env.get("SERVICE_HOST_TOKEN")
    if url and token:
        try:
            address = parse_url(url)
            if not is_loopback(address.host):
                raise ValueError("SERVICE_HOST_URL does not lead to this machine")
            return [Candidate(address, check_token(token), source="environment")]
        except ValueError as error:
            reasons.append("no usable server: in the environment, %s" % error)
            return []
    return _from_records(dcc_type, registry_dir or registry_folder(env), token, reasons, own_server)


def registry_folder(env=os.environ):
    """Where servers of this user leave their records."""
    chosen = env.get("SERVICE_REGISTRY_DIR")
    if chosen:
        return os.path.abspath(chosen)
    if os.name == "nt":
        # A packaged program has a temporary folder of its own, the profile is the same for all.
        profile = env.get("USERPROFILE") or os.path.expanduser("~")
        return os.path.join(profile, ".service-cli")
    # As Node.js looks for it, which knows other variables than Python.
    base = env.get("TMPDIR") or env.get("TMP") or env.get("TEMP") or "/tmp"
    return os.path.join(base, "service-cli-%d" % os.geteuid())


def parse_url(url):
    """The Address; raises ValueError with a sentence that holds nothing of the URL's secrets."""
    if not isinstance(url, str) or re.search(r"[^\x21-\x7e]", url):
        raise ValueError("the host URL holds spaces or characters that a URL cannot have")
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")  # as the resolver does: UnicodeError for an empty label
    except ValueError:
        raise ValueError("the host URL cannot be understood")
    if parts.scheme in ("https", "wss"):
        raise ValueError("TLS is not supported: the link is for http:// on this machine")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the host URL must not hold a user name or password")
    if parts.scheme != "http" or not host or port == 0 or parts.query or parts.fragment:
        raise ValueError("the host URL must be like http://127.0.0.1:8765/host")
    path, port = parts.path or "/host", port or 80
    authority = "%s:%d" % ("[%s]" % host if ":" in host else host, port)
    return Address(host, port, path, authority, "http://%s%s" % (authority, path))


def is_loopback(host):
    if host in ("localhost", "::1"):
        return True
    parts = host.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(
        re.match(r"\d{1,3}\Z", part) and int(part) < 256 for part in parts)


def check_token(token):
    if not re.match(r"[\x21-\x7e]{1,%d}\Z" % MAX_TOKEN_BYTES, token):
        raise ValueError("the host token holds spaces or characters that a header cannot carry")
    return token


UNRELATED, UNUSABLE, TAKEN = range(3)  # by what the user can do something about


class _Skipped(Exception):
    """Why a folder or a record is passed over."""

    def __init__(self, text, kind=UNUSABLE):
        Exception.__init__(self, text)
        self.kind = kind


def _from_records(dcc_type, registry_dir, env_token, reasons, own_server):
    none_running = "no server running; start one: service-cli serve --dcc-type %s" % dcc_type
    folder = os.path.join(registry_dir, "instances")
    try:
        names = _own_names(registry_dir) and _own_names(folder)
    except _Skipped as skipped:
        reasons.append("no usable server: %s" % skipped)
        return []
    ranked, passed = [], []
    for name in sorted(each for each in names or () if each.endswith(".json")):
        try:
            beat, candidate, own_type = _from_record(
                os.path.join(folder, name), dcc_type, env_token, own_server)
            ranked.append((own_type, beat, candidate))
        except _Skipped as skipped:
            passed.append((skipped.kind, "%s: %s" % (name, skipped)))
    passed.sort()
    reasons.extend(text for _, text in passed)
    if not ranked:
        # The last one is shown.
        worst = passed[-1][0] if passed else UNRELATED
        if worst == UNRELATED:
            reasons.append(none_running)
        elif worst == UNUSABLE:
            reasons[-1] = "no usable server: " + reasons[-1]
        else:
            reasons[-1] = reasons[-1].partition(": ")[2]
    ranked.sort(key=lambda each: each[:2], reverse=True)
    return [candidate for _, _, candidate in ranked]


def _from_record(path, dcc_type, env_token, own_server):
    """(time of its last heartbeat, Candidate, whether it is for this very type). Raises _Skipped."""
    data, beat = _read_own_file(path, MAX_RECORD_BYTES)
    age = time.time() - beat
    if age > RECORD_SECONDS:
        raise _Skipped("its server has not been heard of for %d s" % age, UNRELATED)
    try:
        record = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise _Skipped("it is not JSON")
    kind = record.get("dcc_type") if isinstance(record, dict) else None
    if not isinstance(kind, str):
        raise _Skipped("it is not a record")
    if kind not in (dcc_type, "unknown"):
        raise _Skipped("it is for another kind of application", UNRELATED)
    try:
        address = parse_url(record.get("host_url"))
    except ValueError as error:
        raise _Skipped(str(error))
    if not is_loopback(address.host):
        raise _Skipped("its address is not on this machine")
    host, instance_id = record.get("host"), record.get("instance_id")
    is_linked = isinstance(host, dict) and host.get("connected") is True
    if is_linked and (own_server is None or instance_id != own_server):
        raise _Skipped("taken: another application is linked to %s; start another server: "
                       "service-cli serve --port 0" % address.url, TAKEN)
    token_file, token, source = record.get("host_token_file"), env_token, "environment"
    if isinstance(token_file, str) and os.path.isabs(token_file):
        try:
            text, _ = _read_own_file(token_file, MAX_TOKEN_BYTES)
        except _Skipped as passed:
            raise _Skipped("its token file %s" % passed)
        token, source = re.sub(r"\r?\n\Z", "", text.decode("ascii", "replace")), token_file
    elif token_file is not None:
        raise _Skipped("it names no token file")
    elif not token:
        raise _Skipped("its token is in the environment of the server: set SERVICE_HOST_TOKEN")
    try:
        check_token(token)
    except ValueError as error:
        raise _Skipped(str(error))
    return beat, Candidate(address, token, token_file, instance_id, source), kind == dcc_type


# Files that only this user can have written: another user who can leave a record would receive
# what this application shares.


def _own_names(path):
    """What is in a folder; empty where there is none. Raises _Skipped."""
    try:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            raise _Skipped("%s is not a folder" % path)
        if hasattr(os, "geteuid"):
            if found.st_uid != os.geteuid():
                raise _Skipped("%s belongs to another user" % path)
            if found.st_mode & 0o022:
                raise _Skipped("%s can be written by other users: chmod 700" % path)
        return os.listdir(path)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _Skipped("%s cannot be listed (%s)" % (path, os_reason(error)))


def _read_own_file(path, max_bytes):
    """(bytes, modification time) of a regular file of this user or root that others cannot
    write. Raises _Skipped."""
    try:
        file, found = open_regular(path)  # of what was opened, whatever the path leads to now
        with file:
            if hasattr(os, "geteuid"):
                if found.st_uid not in (os.geteuid(), 0):
                    raise _Skipped("belongs to another user")
                if found.st_mode & 0o022:
                    raise _Skipped("can be written by other users")
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise _Skipped("cannot be read (%s)" % os_reason(error))
    except ValueError:  # a NUL, or half of a surrogate pair
        raise _Skipped("cannot be read (no path of this system)")
    if len(data) > max_bytes:
        raise _Skipped("is larger than %d bytes" % max_bytes)
    return data, found.st_mtime


def open_regular(path):
    """(file, its os.stat_result); raises OSError, and ValueError for an invalid path."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file")
    return file, found


def os_reason(error):
    """Without the file name that str() adds."""
    return error.strerror or type(error).__name__
