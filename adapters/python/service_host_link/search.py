"""Where the server is: given, in the environment, or in the records that servers leave."""

import collections
import errno
import json
import os
import re
import stat
import time

RECORD_SECONDS = 30.0  # a running server touches its record every 5

Address = collections.namedtuple("Address", "host port path authority url")


class Candidate(object):
    """A server to try. Never shows its token."""

    def __init__(self, address, token, token_file=None, instance_id=None):
        self.address, self.token = address, check_token(token)
        self.token_file = token_file  # None: no other token will come from its source
        self.instance_id = instance_id


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
    try:
        if url and token:
            address = parse_url(url)
            if not is_loopback(address.host):
                raise ValueError("SERVICE_HOST_URL does not lead to this machine")
            return [Candidate(address, token)]
        return _from_records(dcc_type, registry_dir or registry_folder(env), token, reasons, own_server)
    except ValueError as error:
        reasons.append("no usable server: %s" % error)
        return []


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


_URL = re.compile(
    r"http://((?:[\w-]{1,63}\.)*[\w-]{1,63}|\[[0-9a-f:]+\])(?::(\d{1,5}))?(/[\w.~/-]*)?\Z", re.ASCII)


def parse_url(url):
    """The Address; raises ValueError with a sentence that holds nothing of the URL's secrets."""
    found = _URL.match(str(url))
    host, port, path = found.groups("") if found else ("", "", "")
    port, path = int(port or 80), path or "/host"
    if not host or not 0 < port < 65536:
        raise ValueError("the host URL must be like http://127.0.0.1:8765/host")
    authority = "%s:%d" % (host, port)
    return Address(host.strip("[]"), port, path, authority, "http://" + authority + path)


def is_loopback(host):
    octet = r"(25[0-5]|2[0-4]\d|1?\d?\d)"
    return host in ("localhost", "::1") or re.match(r"127(\.%s){3}\Z" % octet, host) is not None


def check_token(token):
    if not re.match(r"[!-~]+\Z", token):
        raise ValueError("the host token holds spaces or characters that a header cannot carry")
    return token


def _from_records(dcc_type, registry_dir, env_token, reasons, own_server):
    """Raises ValueError where the folder is not to be believed."""
    folder = os.path.join(registry_dir, "instances")
    ranked, taken = [], []
    for name in sorted(_own_names(registry_dir) and _own_names(folder)):
        if not name.endswith(".json"):
            continue
        path = os.path.join(folder, name)
        try:
            data, beat = _read_own_file(path)
            record = json.loads(data.decode("utf-8"))
            kind = record["dcc_type"]
            if time.time() - beat > RECORD_SECONDS or kind not in (dcc_type, "unknown"):
                continue
            candidate = _candidate(record, env_token)
            if record["host"]["connected"] and candidate.instance_id != own_server:
                taken.append("taken: another application is linked to %s; start another server: "
                             "service-cli serve --port 0" % candidate.address.url)
            else:
                ranked.append((kind == dcc_type, beat, candidate))
        except (ValueError, LookupError, TypeError) as error:
            reasons.append("no usable server: %s: %s" % (name, error))
    reasons.extend(taken)
    if not ranked and not reasons:
        reasons.append("no server running; start one: service-cli serve --dcc-type %s" % dcc_type)
    ranked.sort(key=lambda each: each[:2], reverse=True)
    return [candidate for _, _, candidate in ranked]


def _candidate(record, env_token):
    """Raises ValueError with the reason why it is none."""
    address, token_file = parse_url(record["host_url"]), record["host_token_file"]
    if not is_loopback(address.host):
        raise ValueError("its address is not on this machine")
    if token_file is None:
        token = env_token
        if not token:
            raise ValueError("its token is in the environment of the server: set SERVICE_HOST_TOKEN")
    else:
        token = _read_own_file(token_file)[0].decode("ascii", "replace").rstrip("\r\n")
    return Candidate(address, token, token_file, record["instance_id"])


# Files that only this user can have written: another user who can leave a record would receive
# what this application shares.


def _own_names(path):
    """What is in a folder; empty where there is none. Raises ValueError."""
    try:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            raise ValueError("%s is not a folder" % path)
        _check_own(path, found)
        return os.listdir(path)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ValueError("%s cannot be listed (%s)" % (path, os_reason(error)))


def _read_own_file(path):
    """(bytes, modification time) of a regular file of this user or root that others cannot
    write. Raises ValueError."""
    try:
        # Of what was opened, whatever the path leads to now; a pipe is not waited for.
        with open(path, "rb", opener=_open_now) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            _check_own(path, found, (0,))
            return file.read(), found.st_mtime
    except OSError as error:
        raise ValueError("%s cannot be read (%s)" % (path, os_reason(error)))


def _open_now(path, flags):
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_own(path, found, other_owners=()):
    if not hasattr(os, "geteuid"):
        return
    if found.st_uid != os.geteuid() and found.st_uid not in other_owners:
        raise ValueError("%s belongs to another user" % path)
    if found.st_mode & 0o022:
        raise ValueError("%s can be written by other users: chmod go-w" % path)


def os_reason(error):
    """Without the file name that str() adds."""
    return error.strerror or type(error).__name__
