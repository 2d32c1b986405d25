"""The application's side of the live link of service-cli (sub-protocol dcc-host.v1).

One file, Python 3.7 or newer, nothing but the standard library: copy it beside your add-on or script.
It runs inside the application (Blender, Maya, Houdini, a render script), tells a running
`service-cli serve` what there is to see, and answers what the server asks on behalf of its readers.

    link = HostLink("maya", app_version="2025", on_read=read)
    link.start()                    # nothing happens before; never blocks, never raises for the network
    link.set_scene({"frame": 24})   # from any thread; the newest one wins
    link.pump()                     # on the main thread, now and then: answers the questions
    link.stop()

One thread owns the connection and all of its waiting, so that the application's main thread never
does. asyncio and multiprocessing are not used: together they crash Blender 3.4 as it ends. Proxies
are never used, and there is no TLS: the link does not leave the machine.

All that an application needs is the class HostLink, in the section "The face". Before it stands what
knows nothing of it (frames, JSON, finding the server, queues), behind it the thread: _Worker keeps
trying, and has one _Session for each connection. The two sides meet in members of HostLink under
its lock: what the application says is put there, and the session sends it when there is room.
"""

import atexit
import base64
import collections
import datetime
import errno
import hashlib
import json
import math
import os
import random
import re
import select
import socket
import stat
import struct
import tempfile
import threading
import time
import urllib.parse
import uuid

__version__ = "0.1.0"
__all__ = [
    "HostLink", "LinkStatus", "Turns", "Upload", "ReadError", "NotFound", "Busy", "Invalid", "Unsupported",
    "NoPicture", "Picture", "find_server",
]

PROTOCOL = "dcc-host.v1"
MiB = 1024 * 1024

# Bounds of this side. What the server takes is in its welcome.
MAX_RECEIVED_BYTES = 8 * MiB  # one message of the server
MAX_HEAD_BYTES = 16 * 1024  # its answer to the handshake
MAX_RECORD_BYTES = 64 * 1024  # an instance record
MAX_TOKEN_BYTES = 4096
MAX_RECORDS = 1000  # instance records looked at
MAX_BACKLOG = 1000  # audit records, and events, that were not taken yet
MAX_ITEM_BYTES = 256 * 1024  # one audit record or event
MAX_EVENT_CHARS = 65536  # the server keeps no longer message
MAX_METADATA_BYTES = 4096
MAX_BUFFERS = 100
MAX_SCHEMES = 16
MAX_GONE = 100  # schemes that were unregistered and not told yet
MAX_RESOURCES = 2000
MAX_UPDATED = 1000  # URIs whose change was not told yet
MAX_UPLOADS = 32  # artefacts waiting
MAX_UPLOAD_TRIES = 3
MAX_DEPTH = 60  # levels of a value; the server takes 64 of a message
MAX_NAME = 255
MAX_TEXT = 4096
HIGH_WATER = 512 * 1024  # bytes on their way beyond which nothing is added
CHUNK = 256 * 1024

LEVELS = ("trace", "debug", "info", "warning", "warn", "error")

CONNECT_SECONDS = 5.0
WELCOME_SECONDS = 10.0
SILENCE_SECONDS = 30.0
ANSWER_SECONDS = 30.0
UPLOAD_ANSWER_SECONDS = 300.0  # the server makes the bytes durable before it answers
CLOSE_SECONDS = 1.0
RETRY_SECONDS = 1.0
AWAY_SECONDS = 2.0  # the main thread counts as busy for the server when it was not here for longer
RECORD_SECONDS = 30.0  # a running server touches its record every 5
SEARCH_SECONDS = 2.0  # looking into a folder is cheap: do it more often than connecting
TAKEN_SECONDS = 10.0

OFF = "The link is off."
CLEARED = "Scene no longer shared. Files and history stay on the server."
NOT_TOLD = "The server could not be told: it keeps the last scene while it runs."

DEFAULT_LIMITS = {
    "max_message_bytes": 8 * MiB,
    "max_batch": 100,
    "max_in_flight": 8,
    "max_artefact_bytes": 0,
    "max_scene_objects": 2000,
    "scene_min_interval_ms": 0,
}

LinkStatus = collections.namedtuple("LinkStatus", "state text url last_error since")
LinkStatus.__doc__ = """What the link is doing.

state: off, searching, connecting, connected, waiting (tries again) or refused (does not);
text: a sentence for people; since: time.time() of the last change of state."""


# --- What a reader can be told ------------------------------------------------------------------


class ReadError(Exception):
    """Raised by on_read or on_list: its message is passed on, unlike that of any other exception."""

    code = "internal"


class NotFound(ReadError):
    """There is no such resource (any more)."""

    code = "not_found"


class Busy(ReadError):
    """The application cannot answer now (a modal dialog, a render); worth another try."""

    code = "busy"


class Invalid(ReadError):
    """The URI makes no sense to the application."""

    code = "invalid"


class Unsupported(ReadError):
    """The application does not do that."""

    code = "unsupported"


class NoPicture(ReadError):
    """There is no picture to be had; `reason`: minimised, no_window, blank or permission."""

    def __init__(self, reason, message=""):
        if reason not in ("minimised", "no_window", "blank", "permission"):
            raise ValueError("reason must be minimised, no_window, blank or permission")
        ReadError.__init__(self, message or reason)
        self.code = reason


Picture = collections.namedtuple("Picture", "png title width height")
Picture.__doc__ = """A PNG file, and the title and size in pixels of the window that it shows.

The size is that of the window, also when the picture was scaled down."""

PICTURE_TARGETS = ("window", "viewport")


# --- WebSocket frames (RFC 6455) ----------------------------------------------------------------

TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_BLOCK = 64 * 1024


class ProtocolError(Exception):
    """The other side broke the rules; the connection is closed with this code."""

    def __init__(self, code, reason):
        Exception.__init__(self, reason)
        self.code = code
        self.reason = reason


def mask(data, key):
    """XOR with the repeated key of 4 bytes.

    As big integers, which is a hundred times faster than byte by byte; in blocks, so that other
    threads get their turn between them."""
    whole = int.from_bytes(key * (_BLOCK // 4), "little")
    parts = []
    for start in range(0, len(data), _BLOCK):
        block = data[start:start + _BLOCK]
        size = len(block)
        pad = whole if size == _BLOCK else whole & ((1 << (8 * size)) - 1)
        parts.append((int.from_bytes(block, "little") ^ pad).to_bytes(size, "little"))
    return b"".join(parts)


def encode_frame(opcode, payload=b"", final=True, key=None):
    """One masked frame: a client's frames always are."""
    size = len(payload)
    first = (0x80 if final else 0) | opcode
    if size < 126:
        head = struct.pack("!BB", first, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", first, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, size)
    key = os.urandom(4) if key is None else key
    return head + key + mask(payload, key)


def encode_close(code, reason=""):
    """The payload of a close frame, within its 125 bytes."""
    text = reason.encode("utf-8", "replace")[:123].decode("utf-8", "ignore")
    return struct.pack("!H", code) + text.encode("utf-8")


def decode_close(payload):
    """(code, reason) of a close frame; 1005 when it names none."""
    if not payload:
        return 1005, ""
    if len(payload) == 1:
        raise ProtocolError(1002, "a close frame with half a code")
    code = struct.unpack("!H", payload[:2])[0]
    if not (1000 <= code <= 1014 and code not in (1004, 1005, 1006) or 3000 <= code <= 4999):
        raise ProtocolError(1002, "a close code that must not be sent")
    return code, _utf8(payload[2:])


def _utf8(payload):
    try:
        return payload.decode("utf-8")
    except UnicodeDecodeError:
        raise ProtocolError(1007, "text that is not UTF-8")


class FrameReader(object):
    """Puts the server's messages together from what the socket brings, in pieces of any size."""

    def __init__(self, max_bytes=MAX_RECEIVED_BYTES):
        self._max = max_bytes
        self._buffer = bytearray()
        self._opcode = None  # of the message whose fragments are coming in
        self._message = bytearray()

    def feed(self, data):
        self._buffer += data

    def next(self):
        """(opcode, payload) of the next message or control frame, or None until more is fed.

        The payload is text for TEXT and bytes otherwise. Raises ProtocolError."""
        while True:
            frame = self._frame()
            if frame is None:
                return None
            final, opcode, payload = frame
            if opcode >= 0x8:
                return opcode, payload  # between the fragments of a message, too
            if opcode != 0:
                if self._opcode is not None:
                    raise ProtocolError(1002, "a new message within another one")
                self._opcode = opcode
            elif self._opcode is None:
                raise ProtocolError(1002, "a fragment of no message")
            self._message += payload
            if not final:
                continue
            opcode, message = self._opcode, bytes(self._message)
            self._opcode, self._message = None, bytearray()
            return opcode, _utf8(message) if opcode == TEXT else message

    def _frame(self):
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        first, second = buffer[0], buffer[1]
        final, opcode, size, start = bool(first & 0x80), first & 0x0F, second & 0x7F, 2
        if first & 0x70:
            raise ProtocolError(1002, "an extension that was not negotiated")
        if second & 0x80:
            raise ProtocolError(1002, "a masked frame from the server")
        if opcode not in (0, TEXT, BINARY, CLOSE, PING, PONG):
            raise ProtocolError(1002, "an unknown kind of frame")
        if opcode >= 0x8 and (not final or size > 125):
            raise ProtocolError(1002, "a control frame that is too long or split")
        if size == 126:
            start = 4
        elif size == 127:
            start = 10
        if len(buffer) < start:
            return None
        if size == 126:
            size = struct.unpack("!H", buffer[2:4])[0]
        elif size == 127:
            size = struct.unpack("!Q", buffer[2:10])[0]
        # Before its bytes are waited for: they are never all in memory.
        if opcode < 0x8 and size + len(self._message) > self._max:
            raise ProtocolError(1009, "a message larger than %d bytes" % self._max)
        if len(buffer) < start + size:
            return None
        payload = bytes(buffer[start:start + size])
        del buffer[:start + size]
        return final, opcode, payload


# --- JSON ---------------------------------------------------------------------------------------


class NotJson(Exception):
    """The value cannot be sent; the message says why, without its content."""


def _dump(value, default=None):
    return json.dumps(value, allow_nan=False, separators=(",", ":"), default=default)


def _pieces(value, level=0):
    """Like _dump, in pieces: one call for megabytes would keep every other thread waiting."""
    if level < 2 and type(value) is dict and all(type(key) is str for key in value):
        yield "{"
        comma = ""
        for key, member in value.items():
            yield comma + _dump(key) + ":"
            comma = ","
            for piece in _pieces(member, level + 1):
                yield piece
        yield "}"
    elif level < 2 and type(value) in (list, tuple) and len(value) > 64:
        yield "["
        for start in range(0, len(value), 64):
            yield ("," if start else "") + _dump(value[start:start + 64])[1:-1]
        yield "]"
    else:
        yield _dump(value)


def encode_json(value):
    """(bytes, number of non-finite numbers sent as null). Raises NotJson."""
    replaced = [0]
    try:
        try:
            data = "".join(_pieces(value)).encode("ascii")
        except ValueError:
            # NaN or Infinity, or a circle: only now is a copy worth its time.
            value = _finite(value, replaced, 0)
            data = "".join(_pieces(value)).encode("ascii")
    except NotJson:
        raise
    except (TypeError, ValueError, RecursionError, RuntimeError) as error:
        # RuntimeError: it was changed meanwhile by someone else.
        raise NotJson("it is not JSON (%s)" % type(error).__name__)
    if deeper_than(value, MAX_DEPTH):
        raise NotJson("it is deeper than %d levels" % MAX_DEPTH)
    return data, replaced[0]


def _finite(value, replaced, depth):
    if depth > MAX_DEPTH:
        raise NotJson("it is deeper than %d levels" % MAX_DEPTH)
    if isinstance(value, float):
        if math.isinf(value) or math.isnan(value):
            replaced[0] += 1
            return None
        return value
    if isinstance(value, dict):
        return {
            (str(key) if isinstance(key, float) else key): _finite(member, replaced, depth + 1)
            for key, member in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_finite(item, replaced, depth + 1) for item in value]
    return value


def deeper_than(value, levels):
    """Level by level: no recursion, and only containers are looked at."""
    row = [value] if isinstance(value, (dict, list, tuple)) else []
    while row and levels >= 0:
        levels -= 1
        row = [
            item
            for container in row
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, (dict, list, tuple))
        ]
        if levels == 0:
            return bool(row)
    return False


def _small_json(value):
    """Text of a value that belongs to a record: what is not JSON shows as the name of its type."""

    def name_of(other):
        if isinstance(other, (set, frozenset)):
            return sorted(str(item) for item in other)
        try:
            if len(other) <= 64:
                return [float(number) for number in other]  # vectors, colours, rows of a matrix
        except Exception:  # whatever an application's object does when asked
            pass
        return "<%s>" % type(other).__name__

    try:
        if deeper_than(value, MAX_DEPTH):
            return _dump("<deeper than %d levels>" % MAX_DEPTH)
        try:
            return _dump(value, name_of)
        except ValueError:
            return _dump(_finite(value, [0], 0), name_of)
    except (TypeError, ValueError, RecursionError, RuntimeError, NotJson) as error:
        return _dump("<not JSON: %s>" % type(error).__name__)


_CONTROL = re.compile("[\x00-\x1f\x7f]")


def _name(text, limit=MAX_NAME):
    """Fit for one line: no control characters, at most so many UTF-16 units; None when empty."""
    if text is None:
        return None
    units = _CONTROL.sub(" ", str(text)).encode("utf-16-le", "surrogatepass")
    return units[:2 * limit].decode("utf-16-le", "ignore") or None


def _present(**members):
    return {name: value for name, value in members.items() if value is not None}


def _time_text(value):
    """RFC 3339 of seconds since the epoch or a datetime (without zone: local); texts stay."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        value = datetime.datetime.fromtimestamp(value, datetime.timezone.utc)
    text = value.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


# --- Where the server is ------------------------------------------------------------------------


class Address(object):
    """A host URL taken apart."""

    def __init__(self, host, port, path):
        self.host, self.port, self.path = host, port, path
        name = "[%s]" % host if ":" in host else host
        self.authority = "%s:%d" % (name, port)
        self.url = "http://%s%s" % (self.authority, path)

    @property
    def loopback(self):
        if self.host in ("localhost", "::1"):
            return True
        parts = self.host.split(".")
        return len(parts) == 4 and parts[0] == "127" and all(
            re.match(r"\d{1,3}\Z", part) and int(part) < 256 for part in parts)


def parse_url(url):
    """The Address; raises ValueError with a sentence that holds nothing of the URL's secrets."""
    if not isinstance(url, str) or re.search(r"[^\x21-\x7e]", url):
        raise ValueError("the host URL holds spaces or characters that a URL cannot have")
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("the host URL cannot be understood")
    if parts.scheme in ("https", "wss"):
        raise ValueError("TLS is not supported: the link is for http:// on this machine")
    if parts.scheme != "http":
        raise ValueError("the host URL must begin with http://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the host URL must not hold a user name or password")
    if not host or port == 0 or parts.query or parts.fragment:
        raise ValueError("the host URL must be like http://127.0.0.1:8765/host")
    return Address(host, port or 80, parts.path or "/host")


def check_token(token):
    if not re.match(r"[\x21-\x7e]{1,%d}\Z" % MAX_TOKEN_BYTES, token):
        raise ValueError("the host token holds spaces or characters that a header cannot carry")
    return token


class Candidate(object):
    """A server to try. Never shows its token."""

    def __init__(self, address, token, origin, instance_id=None):
        self.address = address
        self.origin = origin  # "given", "environment" or the file of the token
        self.instance_id = instance_id
        self._token = token

    @property
    def fixed(self):
        """No other token will come from there."""
        return self.origin in ("given", "environment")

    @property
    def key(self):
        """The same as long as it is the same run of a server."""
        return self.address.url, hashlib.sha256(self._token.encode("ascii")).hexdigest()

    def reveal(self):
        return self._token


def find_server(dcc_type, registry_dir=None, env=os.environ, reasons=None):
    """(url, token) of the server to link to, or None.

    Into the list `reasons` go sentences on why each one that was seen is not it; when there is
    none at all, the last one says so and what to do."""
    found = find_candidates(dcc_type, registry_dir, env, [] if reasons is None else reasons)
    return (found[0].address.url, found[0].reveal()) if found else None


def find_candidates(dcc_type, registry_dir, env, reasons, own_server=None):
    """All of them, best first. `own_server`: id of the instance that this application was linked
    to, whose record may still show that connection."""
    url, token = env.get("SERVICE_HOST_URL"), env.get("SERVICE_HOST_TOKEN")
    if url and token:
        try:
            address = parse_url(url)
            check_token(token)
        except ValueError as error:
            reasons.append("no usable server: in the environment, %s" % error)
            return []
        if not address.loopback:
            reasons.append("no usable server: SERVICE_HOST_URL does not lead to this machine")
            return []
        return [Candidate(address, token, "environment")]
    return _from_records(dcc_type, registry_dir or registry_folder(env), token, reasons, own_server)


def registry_folder(env=os.environ):
    """Where servers of this user leave their records."""
    chosen = env.get("SERVICE_REGISTRY_DIR")
    if chosen:
        return os.path.abspath(chosen)
    if hasattr(os, "geteuid"):
        # As Node.js looks for it, which knows other variables than Python.
        base = env.get("TMPDIR") or env.get("TMP") or env.get("TEMP") or "/tmp"
        return os.path.join(base, "service-cli-%d" % os.geteuid())
    base = env.get("TEMP") or env.get("TMP") or tempfile.gettempdir()
    try:
        user = os.getlogin()
    except OSError:
        user = env.get("USERNAME", "")
    return os.path.join(base, "service-cli-" + re.sub(r"[^\w.-]", "_", user, flags=re.ASCII))


def _from_records(dcc_type, registry_dir, env_token, reasons, own_server):
    none_running = "no server running; start one: service-cli serve --dcc-type %s" % dcc_type
    folder = os.path.join(registry_dir, "instances")
    for path in (registry_dir, folder):
        if not os.path.lexists(path):
            reasons.append(none_running)
            return []
        problem = _unsafe_folder(path)
        if problem is not None:
            reasons.append("no usable server: %s" % problem)
            return []
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError as error:
        reasons.append("no usable server: %s cannot be listed (%s)" % (folder, _os_reason(error)))
        return []
    ranked, troubles, taken_by = [], [], []
    for name in names[:MAX_RECORDS]:
        try:
            beat, candidate, own_type = _from_record(
                os.path.join(folder, name), dcc_type, env_token, own_server)
            ranked.append(((own_type, beat), candidate))
        except _Taken as taken:
            taken_by.append("taken: %s; start another server: service-cli serve --port 0" % taken)
        except _Unrelated as passed:
            reasons.append("%s: %s" % (name, passed))
        except _Passed as passed:
            troubles.append("%s: %s" % (name, passed))
    # The last one is shown: what the user can do something about.
    if not ranked and troubles and not taken_by:
        troubles[-1] = "no usable server: " + troubles[-1]
    reasons.extend(troubles + taken_by)
    if not ranked and not troubles and not taken_by:
        reasons.append(none_running)
    ranked.sort(key=lambda each: each[0], reverse=True)
    return [candidate for _, candidate in ranked]


class _Passed(Exception):
    """Why a record is passed over."""


class _Unrelated(_Passed):
    """It is for another kind of application, or of a server that is gone."""


class _Taken(_Passed):
    """It would fit, but another application is linked to its server."""


def _from_record(path, dcc_type, env_token, own_server):
    data, beat = _read_own_file(path, MAX_RECORD_BYTES)
    age = time.time() - beat
    if age > RECORD_SECONDS:
        raise _Unrelated("its server has not been heard of for %d s" % age)
    try:
        record = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise _Passed("it is not JSON")
    if not isinstance(record, dict):
        raise _Passed("it is not a record")
    kind, token_file = record.get("dcc_type"), record.get("host_token_file")
    if not isinstance(kind, str):
        raise _Passed("it is not a record")
    if kind not in (dcc_type, "unknown"):
        raise _Unrelated("it is for another kind of application")
    try:
        address = parse_url(record.get("host_url"))
    except ValueError as error:
        raise _Passed(str(error))
    if not address.loopback:
        raise _Passed("its address is not on this machine")
    host = record.get("host")
    instance_id = record.get("instance_id")
    if isinstance(host, dict) and host.get("connected") is True:
        if own_server is None or instance_id != own_server:
            raise _Taken("another application is linked to %s" % address.url)
    if token_file is None:
        if not env_token:
            raise _Passed("its token is in the environment of the server: set SERVICE_HOST_TOKEN")
        token, origin = env_token, "environment"
    elif isinstance(token_file, str) and os.path.isabs(token_file):
        try:
            text, _ = _read_own_file(token_file, MAX_TOKEN_BYTES)
        except _Passed as passed:
            raise _Passed("its token file %s" % passed)
        token = re.sub(r"\r?\n\Z", "", text.decode("ascii", "replace"))
        origin = token_file
    else:
        raise _Passed("it names no token file")
    try:
        check_token(token)
    except ValueError as error:
        raise _Passed(str(error))
    return beat, Candidate(address, token, origin, instance_id), kind == dcc_type


def _unsafe_folder(path):
    """Why records in a folder must not be believed, or None: whoever can put one there would be
    given what this application shares."""
    try:
        found = os.lstat(path)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return "there is no folder %s: no server of this user has run" % path
        return "%s cannot be accessed (%s)" % (path, _os_reason(error))
    if stat.S_ISLNK(found.st_mode) or not stat.S_ISDIR(found.st_mode):
        return "%s is not a folder" % path
    if not hasattr(os, "geteuid"):
        return None
    if found.st_uid != os.geteuid():
        return "%s belongs to another user" % path
    if found.st_mode & 0o022:
        return "%s can be written by other users: chmod 700" % path
    return None


def _read_own_file(path, max_bytes):
    """(bytes, modification time) of a regular file of this user or root that others cannot
    write. Raises _Passed."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            found = os.fstat(file.fileno())  # of what was opened, whatever the path leads to now
            if not stat.S_ISREG(found.st_mode):
                raise _Passed("is not a regular file")
            if hasattr(os, "geteuid"):
                if found.st_uid not in (os.geteuid(), 0):
                    raise _Passed("belongs to another user")
                if found.st_mode & 0o022:
                    raise _Passed("can be written by other users")
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise _Passed("cannot be read (%s)" % _os_reason(error))
    if len(data) > max_bytes:
        raise _Passed("is larger than %d bytes" % max_bytes)
    return data, found.st_mtime


def _os_reason(error):
    """Without the file name that str() adds."""
    return error.strerror or type(error).__name__


# --- Waiting ------------------------------------------------------------------------------------


def backoff_seconds(failures, chance):
    """How long to wait after so many failures in a row; `chance` is 0 to 1."""
    return min(10.0, 0.25 * 2 ** min(failures, 10)) * (0.8 + 0.4 * chance)


def _ready(wake, sock, write, seconds):
    """(readable, writable) of the socket, as soon as there is news of it or a wake-up."""
    seconds = max(0.0, seconds)
    if hasattr(select, "poll"):  # select() knows no descriptor over 1023, of which applications have many
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        if sock is not None:
            poll.register(sock, select.POLLIN | (select.POLLOUT if write else 0))
        events = dict(poll.poll(math.ceil(seconds * 1000)))
        if wake.fileno() in events:
            _drain(wake)
        seen = events.get(sock.fileno(), 0) if sock is not None else 0
        return bool(seen & ~select.POLLOUT), bool(seen & ~select.POLLIN)
    reads = [wake] if sock is None else [wake, sock]
    writes = [sock] if sock is not None and write else []
    reads, writes, failed = select.select(reads, writes, writes, seconds)
    if wake in reads:
        _drain(wake)
    return sock in reads, bool(writes or failed)


def _drain(wake):
    try:
        while wake.recv(4096):
            pass
    except OSError:
        pass


# --- What waits to be sent ----------------------------------------------------------------------

_Item = collections.namedtuple("_Item", "kind session text")  # kind: "entry", "open" or "close"


class Backlog(object):
    """The newest audit records or events that the server has not taken yet.

    What was sent counts as taken only when the server said so. After a lost connection it is sent
    again: each entry arrives at least once, unless it was the oldest of too many."""

    def __init__(self, bound=MAX_BACKLOG):
        self._bound = bound
        self._items = collections.deque()
        self.flight = []
        self.dropped = 0

    def __len__(self):
        return len(self._items) + len(self.flight)

    @property
    def waiting(self):
        return bool(self._items)

    def add(self, kind, session, text):
        self._items.append(_Item(kind, session, text))
        self._trim()

    def take(self, max_count, max_bytes):
        """The oldest entries that can go in one message: of one session, in order."""
        head = self._items[0]
        if head.kind != "entry":
            self.flight = [self._items.popleft()]
            return self.flight
        batch, rest, size, full = [], collections.deque(), 0, False
        for item in self._items:
            if full or item.session != head.session:
                rest.append(item)
                continue
            full = item.kind != "entry" or len(batch) == max_count or (
                bool(batch) and size + len(item.text) + 1 > max_bytes)
            if full:
                rest.append(item)
            else:
                batch.append(item)
                size += len(item.text) + 1
        self._items, self.flight = rest, batch
        return batch

    def taken(self):
        self.flight = []

    def give_up(self, index=None):
        """Drops what is on its way; with an index only that one, the others are sent again."""
        if index is None or index >= len(self.flight):
            self.dropped += sum(item.kind == "entry" for item in self.flight)
            self.flight = []
        else:
            del self.flight[index]
            self.dropped += 1
            self.restore()

    def restore(self):
        self._items.extendleft(reversed(self.flight))
        self.flight = []
        self._trim()

    def _trim(self):
        while self._items and len(self) > self._bound:
            self.dropped += self._items.popleft().kind == "entry"


class Upload(object):
    """An artefact on its way. `done` turns true once, with either `uri` or `error` set."""

    def __init__(self, data, path, members, on_done):
        self.uri = None
        self.sha256 = None
        self.error = None
        self._data = data
        self._path = path
        self._members = members
        self._on_done = on_done
        self._finished = threading.Event()
        self._tries = 0

    @property
    def done(self):
        return self._finished.is_set()

    def wait(self, timeout=None):
        """Blocks until it is done: for scripts, not for the main thread of an application."""
        return self._finished.wait(timeout)

    def _open(self):
        """(file, size); raises OSError."""
        if self._data is not None:
            return None, len(self._data)
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(self._path, flags), "rb")
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            file.close()
            raise OSError(errno.EINVAL, "not a regular file")
        return file, found.st_size


class Question(object):
    """Something the server asked and nobody has answered yet."""

    def __init__(self, id, kind, subject, deadline):
        # Of a picture the subject is (target, max_width, max_bytes).
        self.id, self.kind, self.subject, self.deadline = id, kind, subject, deadline
        self.dropped = False


# --- Turns of the link thread -------------------------------------------------------------------


class Turns(object):
    """Says when the link thread may run, for applications where another Python thread is a danger.

    Blender up to 4.0 and its like call Python without holding its lock while an operator runs
    for a script under another context, as long as any other thread holds it: the process
    crashes. So the thread waits for a turn, and the main thread hands out none inside of
    `with turns:`. A main thread that hands out none for long is at work elsewhere: then the thread
    runs unasked, about once a second, so that the server knows it for busy and not for dead."""

    UNASKED_SECONDS = 1.0
    PATIENCE_SECONDS = 1.0  # the main thread waits no longer for a turn to end

    def __init__(self):
        self._turn = threading.Lock()  # free: a turn is granted that did not begin
        self._turn.acquire()
        self._state = threading.Lock()  # guards the rest; held for moments
        self._granted = False  # from the grant of a turn to its end
        self._again = False  # granted once more meanwhile
        self._depth = 0
        self._closed = False

    def grant(self):
        """The thread may run once. From any thread; inside of `with` it takes effect behind it."""
        with self._state:
            if self._granted or (self._depth and not self._closed):
                self._again = True
            else:
                self._begin()

    def __enter__(self):
        with self._state:
            self._depth += 1
            outermost = self._depth == 1
        if outermost:
            self._take_back()
        return self

    def __exit__(self, *_):
        with self._state:
            self._depth -= 1
            if self._depth == 0 and self._again and not self._granted:
                self._begin()

    def lend(self, seconds):
        """The main thread, which waits anyway, lets the thread run meanwhile."""
        with self._state:
            depth, self._depth = self._depth, 0
        self.grant()
        time.sleep(seconds)
        with self._state:
            self._depth = depth
        if depth:
            self._take_back()

    def close(self):
        """The thread is to end: it need not ask any more."""
        with self._state:
            self._closed = True
            if not self._granted:
                self._begin()

    @property
    def called_back(self):
        """LINK THREAD: the main thread waits for the end of the turn."""
        return self._depth > 0 and not self._closed

    def rest(self, seconds):
        """LINK THREAD: the turn is over; comes back with the next one, or after a long time."""
        with self._state:
            if self._again and not self.called_back:
                self._again = False
                self._granted = True
                return
            self._granted = False
        if self._turn.acquire(True, max(seconds, self.UNASKED_SECONDS)):
            return
        with self._state:  # nobody granted one: the main thread is away
            if self._granted:
                self._turn.acquire(False)  # until a moment ago
            self._granted = True

    def _begin(self):
        self._granted, self._again = True, False
        self._turn.release()

    def _take_back(self):
        deadline = time.monotonic() + self.PATIENCE_SECONDS
        with self._state:
            if self._granted and self._turn.acquire(False):
                self._granted, self._again = False, True
        while self._granted and time.monotonic() < deadline:
            time.sleep(0.0005)


# --- The face -----------------------------------------------------------------------------------


class HostLink(object):
    """The link of one application. All but pump() may be called from any thread."""

    def __init__(self, dcc_type, app_version=None, mode="gui", display_name=None, pid=None,
                 url=None, token=None, registry_dir=None, on_read=None, on_list=None,
                 on_status=None, client_name="service-host-link", client_version=__version__,
                 env=os.environ, turns=None):
        """url and token given: only those. Else the environment, else the instance records.

        on_read(uri) -> contents: a list of {"uri", "mimeType", "text" or "blob"}; also one of
        them, a text, or bytes. on_list(scheme) -> descriptors. Both may raise NotFound, Busy,
        Invalid or Unsupported. on_status(status). All three are called from pump().

        turns: a Turns, for an application in which no other thread may run Python now and then."""
        if not isinstance(dcc_type, str) or not re.match(
                r"[a-z0-9][a-z0-9_-]{0,63}\Z", dcc_type):
            raise ValueError("dcc_type must be lower-case letters, digits, _ and -")
        _check_mode(mode)
        self._app = _present(dcc_type=dcc_type, version=_name(app_version),
                             display_name=_name(display_name), pid=pid or os.getpid())
        self._client = {"name": _name(client_name) or "service-host-link",
                        "version": _name(client_version) or __version__}
        self._instance_id = uuid.uuid4().hex
        self._given = (url, token)
        self._registry_dir = registry_dir
        self._env = env
        self._turns = turns
        self._on_read, self._on_list, self._on_status = on_read, on_list, on_status
        self._on_capture = None

        # Everything below is guarded by the lock, which is held only for moments: no
        # serialising, no I/O and no foreign code inside.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._worker = None
        self._state = ("off", OFF, None, time.time())
        self._status_news = False
        self._errors = collections.OrderedDict()
        self._limits = dict(DEFAULT_LIMITS)
        self._server = {}
        self._server_needs_scene = False

        self._mode = mode
        self._document = None
        self._pictures = {"targets": []}
        self._pictured_at = None
        self._app_news = False
        self._busy = None
        self._scene_new = []  # the newest one, not serialised yet
        self._scene_text = None  # the newest one that was serialised
        self._scene_taken_by = None  # Candidate.key of the server that has it
        self._scene_work = False  # being serialised
        self._scene_sent_to = None  # Candidate.key of the server that a scene was sent to last
        self._audit = Backlog()
        self._events = Backlog()
        self._buffers = collections.OrderedDict()
        self._producers = collections.OrderedDict()
        self._producer_news = collections.OrderedDict()  # scheme -> what to tell
        self._updated = collections.OrderedDict()
        self._uploads = collections.deque()
        self._upload = None  # the one being sent
        self._questions = collections.deque()
        self._answers = collections.deque()
        self._finished = collections.deque()  # uploads whose on_done waits for pump
        self._main_seen = time.monotonic()
        self._pumps = False
        self._pumping = False

    def __repr__(self):
        return "<HostLink %s: %s>" % (self._app["dcc_type"], self._state[0])

    # Life

    def start(self):
        """Begins to look for the server and to stay linked to it. A second call does nothing."""
        with self._lock:
            if self._worker is not None and not self._worker.ended:
                return
            self._main_seen = time.monotonic()
            try:
                worker = self._worker = _Worker(self)
                worker.start()
            except (OSError, RuntimeError) as error:
                self._worker = None
                self._set_state("refused", "The link cannot start (%s)." % type(error).__name__)
                return
        atexit.register(self._at_exit)

    def stop(self, reason="quit", timeout=1.0, clear=False):
        """Sends what is waiting, says bye and ends the thread, all within the timeout.

        clear: for a user who disconnects. The server removes the scene, the schemes and the event
        buffers of this application; without it they stay as they are when an application quits.
        While there is no connection, one more is tried within the timeout for the bye alone. When
        the server cannot be told, the status says so."""
        with self._lock:
            worker = self._worker
            self._worker = None
            was_sent = self._scene_sent_to is not None
            if clear:
                self._scene_new, self._scene_text = [], None
        atexit.unregister(self._at_exit)
        if worker is not None and worker.owner == os.getpid():
            worker.stop(_name(reason) or "quit", timeout, clear)
            if worker is not threading.current_thread():
                worker.join(max(0.0, timeout))
        with self._lock:
            told = worker is None or worker.told or self._scene_sent_to is None
            text = OFF
            if clear and was_sent:
                text = CLEARED if told else NOT_TOLD
            self._set_state("off", text)
            if clear:
                self._scene_sent_to = None
            for upload in [self._upload] + list(self._uploads):
                if upload is not None:
                    self._finish(upload, error="the link was stopped")
            self._uploads.clear()
            self._upload = None
            self._questions.clear()
            self._answers.clear()

    def _at_exit(self):
        self.stop("quit", 0.5)

    def status(self):
        with self._lock:
            state, text, url, since = self._state
            last = next(reversed(self._errors.values())) if self._errors else None
            return LinkStatus(state, text, url, last, since)

    @property
    def connected(self):
        return self._state[0] == "connected"

    @property
    def limits(self):
        """What the server takes: the members of its welcome, the defaults before it."""
        with self._lock:
            return dict(self._limits)

    @property
    def server(self):
        """{"name", "version"} of the server linked to; empty before."""
        with self._lock:
            return dict(self._server)

    @property
    def need_scene(self):
        """The server has no scene and none is on its way: time for set_scene()."""
        with self._lock:
            return self.connected and self._server_needs_scene and self.scene_settled

    def flush(self, timeout=5.0):
        """Waits until the server took all that was handed over; False when it did not.

        For scripts: an application that people work in has nothing to wait for."""
        deadline = time.monotonic() + timeout
        while True:
            with self._changed:
                if self.connected and self._settled():
                    return True
                left = deadline - time.monotonic()
                if left <= 0 or self._state[0] in ("off", "refused"):
                    return False
                if self._turns is None:
                    self._changed.wait(min(left, 0.1))
                    continue
            self._turns.lend(min(left, 0.02))

    def _settled(self):
        return (self.scene_settled and not self._audit and not self._events
                and not self._producer_news and not self._app_news and not self._updated
                and not self._uploads and self._upload is None)

    # What the application tells

    def set_scene(self, scene):
        """The state as an object of JSON, or None. The link owns it from now on. Never waits."""
        with self._lock:
            self._scene_new = [scene]
        self._wake()

    @property
    def scene_settled(self):
        """No scene is waiting or unanswered: adapters may collect the next one."""
        with self._lock:
            return not self._scene_new and not self._scene_work and (
                self._scene_text is None or self._scene_taken_by is not None)

    def set_document(self, path=None, name=None, modified=None):
        """The open document; without arguments: none."""
        document = _present(
            path=_whole_text(path), name=_whole_text(name),
            modified=None if modified is None else bool(modified))
        with self._lock:
            if document != (self._document or {}):
                self._document = document or None
                self._app_news = True
        self._wake()

    def set_mode(self, mode):
        _check_mode(mode)
        with self._lock:
            if mode != self._mode:
                self._mode = mode
                self._app_news = True
        self._wake()

    def set_busy(self, text):
        """What keeps the application from answering ("rendering"), or None."""
        with self._lock:
            self._busy = _name(text)
        self._wake()

    def record(self, action, outcome="success", actor=None, params=None, duration_ms=None,
               session_id=None, timestamp=None):
        """One entry of the audit: something was done. The time is now when none is given."""
        parts = [
            _dump(_present(
                action=_name(action) or "unknown", actor=_name(actor),
                session_id=_name(session_id),
                duration_ms=_duration(duration_ms),
                timestamp=_time_text(time.time() if timestamp is None else timestamp)))[1:-1],
            '"outcome":' + _small_json(outcome),
        ]
        if params is not None:
            text = _small_json(params)
            if len(text) > MAX_ITEM_BYTES:
                text = _dump({"omitted_bytes": len(text)})
            parts.append('"params":' + text)
        with self._lock:
            self._audit.add("entry", None, "{" + ",".join(parts) + "}")
        self._wake()

    def open_events(self, session_id, maxlen=None, max_message_bytes=None):
        """Makes the buffer of a session with these bounds; log() alone makes one, too."""
        session_id = str(session_id)
        text = _dump(_present(maxlen=maxlen, max_message_bytes=max_message_bytes))
        with self._lock:
            if session_id not in self._buffers and len(self._buffers) >= MAX_BUFFERS:
                self._fail("events", "more than %d event buffers are open" % MAX_BUFFERS)
                return
            self._buffers[session_id] = text
            self._events.add("open", session_id, text)
        self._wake()

    def log(self, message, session_id, source, stream="log", level="info", tool_call_id=None,
            job_id=None, correlation_id=None, metadata=None):
        """One event of a session, such as a line that the application printed."""
        parts = [_dump(_present(
            source=_name(source) or "application", stream=_name(stream) or "log",
            level=level if level in LEVELS else "info",
            message=str(message)[:MAX_EVENT_CHARS], tool_call_id=_name(tool_call_id),
            job_id=_name(job_id), correlation_id=_name(correlation_id)))[1:-1]]
        if metadata is not None:
            text = _small_json(metadata)
            if len(text) > MAX_METADATA_BYTES:
                text = _dump({"omitted_bytes": len(text)})
            parts.append('"metadata":' + text)
        with self._lock:
            self._events.add("entry", str(session_id), "{" + ",".join(parts) + "}")
        self._wake()

    def close_events(self, session_id):
        """No more will come; what is there can still be read."""
        with self._lock:
            self._events.add("close", str(session_id), "")
        self._wake()

    # Resources of the application's own

    def register(self, scheme, resources=(), templates=()):
        """Offers resources with URIs of this scheme; on_read is asked for their contents."""
        resources, templates = list(resources), list(templates)
        with self._lock:
            if scheme not in self._producers and len(self._producers) >= MAX_SCHEMES:
                self._fail("producer", "more than %d schemes are registered" % MAX_SCHEMES)
                return
            self._producers[scheme] = (self._bounded(scheme, resources), templates)
            self._producer_news[scheme] = "register"
        self._wake()

    def unregister(self, scheme):
        with self._lock:
            if self._producers.pop(scheme, None) is not None:
                self._producer_news[scheme] = "unregister"
                gone = [each for each, news in self._producer_news.items() if news == "unregister"]
                for each in gone[:-MAX_GONE]:  # its place on the server ends by itself
                    del self._producer_news[each]
        self._wake()

    def list_changed(self, scheme, resources=None):
        """There are others now: these, or when none are given those that on_list will tell."""
        with self._lock:
            if scheme not in self._producers:
                return
            if resources is not None:
                templates = self._producers[scheme][1]
                self._producers[scheme] = (self._bounded(scheme, list(resources)), templates)
            if self._producer_news.get(scheme) != "register":
                self._producer_news[scheme] = "ask" if resources is None else "list"
        self._wake()

    def updated(self, uri):
        """Tells those who subscribed to this URI."""
        with self._lock:
            self._updated[uri] = True
            if len(self._updated) > MAX_UPDATED:
                self._updated.popitem(last=False)
                self._fail("producer", "more changes of resources than the server took")
        self._wake()

    def _bounded(self, scheme, resources):
        if len(resources) > MAX_RESOURCES:
            self._fail("producer", "only %d of the %d resources of %s are listed"
                       % (MAX_RESOURCES, len(resources), scheme))
        return resources[:MAX_RESOURCES]

    # Pictures

    def provide_capture(self, callback, targets=("window",)):
        """Offers pictures of the application, which readers of capture://current_window get.

        callback(target, max_width, max_bytes) -> the bytes of a PNG file, or a Picture; called
        from pump() with one of the targets ("window", "viewport"). It may raise NoPicture or
        Busy. A picture that is wider or larger is refused. callback None: withdraws the offer."""
        targets = list(targets) if callback is not None else []
        if any(target not in PICTURE_TARGETS for target in targets):
            raise ValueError("targets are window and viewport")
        with self._lock:
            self._on_capture = callback
        self._offer_pictures({"targets": targets})

    def deny_capture(self):
        """Whoever sits at the application wants no picture of it: the server takes none in any
        way. Until the next provide_capture()."""
        with self._lock:
            self._on_capture = None
        self._offer_pictures({"targets": [], "denied": True})

    @property
    def pictured_at(self):
        """time.time() of the last picture that a client was given, by whichever way it was taken;
        None before the first."""
        return self._pictured_at

    def _offer_pictures(self, offer):
        with self._lock:
            if offer == self._pictures:
                return
            self._pictures = offer
            self._app_news = True
        self._wake()

    # Artefacts

    def put_artefact(self, data=None, path=None, mime=None, display_name=None, session_id=None,
                     tool_call_id=None, job_id=None, correlation_id=None, metadata=None,
                     expires_at=None, on_done=None):
        """Sends bytes, or a file as it is when its turn comes; on_done(upload) from pump()."""
        members = _present(
            mime=mime or "application/octet-stream",
            display_name=_name(display_name or (os.path.basename(path) if path else None)),
            session_id=_name(session_id), tool_call_id=_name(tool_call_id), job_id=_name(job_id),
            correlation_id=_name(correlation_id), expires_at=_time_text(expires_at))
        if metadata is not None:
            members["metadata"] = json.loads(_small_json(metadata))
        upload = Upload(None if data is None else bytes(data), path, members, on_done)
        with self._lock:
            if (data is None) == (path is None):
                self._finish(upload, error="give either data or path")
            elif len(self._uploads) >= MAX_UPLOADS:
                self._finish(upload, error="%d artefacts are waiting already" % MAX_UPLOADS)
            else:
                self._uploads.append(upload)
        self._wake()
        return upload

    # The main thread

    def pump(self, budget_seconds=0.02):
        """Answers what the server asked, calls on_done and on_status. MAIN THREAD only.

        Begins nothing new after the budget; returns how many things were done. To be called a
        few times a second: it also shows that the main thread is alive."""
        if self._turns is not None:
            self._turns.grant()  # what arrived is waiting
        started = time.monotonic()
        back = started - self._main_seen > AWAY_SECONDS
        self._main_seen, self._pumps = started, True
        if self._pumping:  # called from one of the callbacks
            return 0
        self._pumping = True
        done = 0
        try:
            while True:
                job = self._next_job()
                if job is None:
                    return done
                job()
                done += 1
                if time.monotonic() - started >= budget_seconds:
                    return done
        finally:
            self._pumping = False
            self._main_seen = time.monotonic()
            if done or back:
                self._wake()

    def _next_job(self):
        now = time.monotonic()
        with self._lock:
            if self._status_news:
                self._status_news = False
                if self._on_status is not None:
                    status = self.status()
                    return lambda: self._call("on_status", self._on_status, status)
            if self._finished:
                upload = self._finished.popleft()
                return lambda: self._call("on_done", upload._on_done, upload)
            while self._questions:
                question = self._questions.popleft()
                if not question.dropped and question.deadline > now:
                    return lambda: self._answer(question)
        return None

    def _call(self, name, callback, argument):
        try:
            callback(argument)
        except Exception as error:
            self._fail("callback", "%s failed: %s" % (name, type(error).__name__))

    def _answer(self, question):
        answer = ("internal", "the application failed")  # also when it is interrupted
        try:
            answer = (None, self._ask_application(question))
        except ReadError as error:
            answer = (error.code, str(error)[:500] or error.code)
        except Exception as error:
            # Only its type: the message may hold what is nobody's business.
            name = "the capture callback" if question.kind == "capture" else "on_" + question.kind
            message = "%s failed: %s" % (name, type(error).__name__)
            self._fail("read", message)
            answer = ("internal", message)
        finally:
            with self._lock:
                self._answers.append((question, answer))

    def _ask_application(self, question):
        if question.kind == "read":
            return self._on_read(question.subject)
        if question.kind == "list":
            return self._on_list(question.subject)
        callback = self._on_capture
        if callback is None or question.subject[0] not in self._pictures["targets"]:
            raise Unsupported("there is no such picture")  # any more
        return callback(*question.subject)

    # For the link thread

    def _wake(self):
        worker = self._worker
        if worker is not None:
            worker.wake()

    def _set_state(self, state, text, url=None, worker=None):
        with self._changed:
            if worker is not None and worker is not self._worker:
                return  # of a thread that was stopped and has not ended yet
            if (state, text, url) != self._state[:3]:
                since = self._state[3] if state == self._state[0] else time.time()
                self._state = (state, text, url, since)
                self._status_news = True
            self._changed.notify_all()

    def _fail(self, kind, text):
        """Keeps the newest error of each kind, so that one that is over can be taken back."""
        with self._lock:
            self._errors.pop(kind, None)
            self._errors[kind] = text
            self._status_news = True

    def _recovered(self, kind):
        with self._lock:
            if self._errors.pop(kind, None) is not None:
                self._status_news = True

    def _finish(self, upload, error=None, uri=None, sha256=None):
        if upload.done:
            return
        upload.error, upload.uri, upload.sha256, upload._data = error, uri, sha256, None
        upload._finished.set()
        if upload._on_done is not None:
            self._finished.append(upload)

    def _search(self, own_server):
        """(candidates, reasons, whether to give up)"""
        url, token = self._given
        reasons = []
        if url or token:
            try:
                if not url or not token:
                    raise ValueError("a host URL and a host token must be given together")
                return [Candidate(parse_url(url), check_token(token), "given")], [], False
            except ValueError as error:
                return [], [str(error)], True
        found = find_candidates(
            self._app["dcc_type"], self._registry_dir, self._env, reasons, own_server)
        return found, reasons, False


def _check_mode(mode):
    if mode not in ("gui", "background"):
        raise ValueError("mode must be gui or background")


def _whole_text(text):
    """A path that was cut would be another path: what cannot be told counts as unknown."""
    return str(text) if text is not None and _name(text, MAX_TEXT) == str(text) else None


def _duration(value):
    good = isinstance(value, (int, float)) and 0 <= value < float("inf")
    return value if good else None


# --- The link thread ----------------------------------------------------------------------------


class _Stopped(Exception):
    """stop() was called while nothing was linked."""


class _Failed(Exception):
    """A connection that could not be opened. `final`: trying again is of no use."""

    def __init__(self, text, final=False):
        Exception.__init__(self, text)
        self.text, self.final = text, final


# How a connection ended. `delay`: seconds until the next try, None for the usual.
_End = collections.namedtuple("_End", "text final delay welcomed poor")


class _Worker(threading.Thread):
    """Finds the server, keeps one connection to it, for ever."""

    def __init__(self, link):
        threading.Thread.__init__(self, name="service-host-link", daemon=True)
        self.link = link
        self.turns = link._turns
        self.owner = os.getpid()  # a forked child has the object, but not the thread
        self.stopping = None  # (bye message, deadline)
        self.farewell = False  # connecting for the bye alone
        self.told = False  # the server has received the bye
        self.ended = False
        self._own_server = None
        self.waker, self._wakes = socket.socketpair()
        self.waker.setblocking(False)
        self._wakes.setblocking(False)

    def wake(self):
        try:
            self._wakes.send(b"w")
        except OSError:
            pass  # full: it will wake; closed: it has ended
        if self.turns is not None:
            self.turns.grant()

    def stop(self, reason, timeout, clear):
        bye = _present(type="bye", reason=reason, clear=clear or None)
        self.stopping = (bye, time.monotonic() + timeout)
        self.wake()
        if self.turns is not None:
            self.turns.close()  # whoever stops it waits for its end

    def ready(self, sock, write, seconds):
        """(readable, writable), within a turn: waiting for the next one is waiting, too."""
        if self.turns is None or self.stopping is not None:
            return _ready(self.waker, sock, write, seconds)
        seen = _ready(self.waker, sock, write, 0.0)
        if not self.turns.called_back and (seen != (False, False) or seconds <= 0):
            return seen
        self.turns.rest(seconds)
        return _ready(self.waker, sock, write, 0.0)

    def run(self):
        if self.turns is not None:
            self.turns.rest(0.0)
        try:
            self._run()
        except _Stopped:
            self._say_farewell()
        finally:
            self.ended = True
            self.waker.close()
            self._wakes.close()

    def _say_farewell(self):
        """Connects once more where a scene was left and the bye that removes it was not said."""
        bye, deadline = self.stopping
        left = self.link._scene_sent_to
        if self.told or left is None or "clear" not in bye or time.monotonic() >= deadline:
            return
        candidates, _, _ = self.link._search(self._own_server)
        self.farewell = True
        for candidate in sorted(candidates, key=lambda each: each.key != left)[:1]:
            try:
                self._attempt(candidate)
            except _Stopped:
                pass

    def say(self, state, text, url=None):
        self.link._set_state(state, text, url, self)

    def pause(self, seconds):
        """Raises _Stopped as soon as stop() is called."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.stopping is not None:
                raise _Stopped()
            self.ready(None, False, until - time.monotonic())

    def wait(self, sock, write, until, what):
        """Until the socket is ready, for what comes before a session."""
        while True:
            if self.stopping is not None:
                if not self.farewell:
                    raise _Stopped()
                until = min(until, self.stopping[1])
            left = until - time.monotonic()
            if left <= 0:
                raise _Failed("no answer to %s within %d s" % (what, CONNECT_SECONDS))
            readable, writable = self.ready(sock, write, left)
            if readable or writable:
                return

    def _run(self):
        failures = searches = 0
        while True:
            candidates, reasons, final = self.link._search(self._own_server)
            if final:
                self.link._fail("link", reasons[0])
                return self.say("refused", "Not linked: %s." % reasons[0])
            if not candidates:
                self.say("searching", reasons[-1][0].upper() + reasons[-1][1:])
                self.pause(min(SEARCH_SECONDS, backoff_seconds(searches, random.random())))
                searches += 1
                continue
            searches = 0
            for candidate in candidates[:4]:
                end = self._attempt(candidate)
                if end.welcomed or end.final:
                    break
            url = candidate.address.url
            self.link._fail("link", end.text)
            if end.final:
                return self.say("refused", "Not linked to %s: %s." % (url, end.text), url)
            if end.welcomed and not end.poor:
                failures = 0
            delay = backoff_seconds(failures, random.random())
            failures += 1
            if end.delay is not None:
                delay = max(delay, end.delay)
            text = "No link to %s: %s. Trying again in %.1f s." % (url, end.text, delay)
            self.say("waiting", text, url)
            self.pause(delay)

    def _attempt(self, candidate):
        url = candidate.address.url
        self.say("connecting", "Connecting to %s." % url, url)
        sock = None
        try:
            sock = self._connect(candidate.address)
            rest = self._shake_hands(sock, candidate)
            self._own_server = candidate.instance_id
            end = _Session(self, sock, candidate, rest).run()
            if end.delay is not None:
                self._own_server = None  # somebody else is linked there, or it stops
            return end
        except _Failed as failed:
            return _End(failed.text, failed.final, None, False, False)
        except OSError as error:
            return _End(_os_reason(error), False, None, False, False)
        except ProtocolError as error:
            return _End(error.reason, False, None, False, True)
        finally:
            if sock is not None:
                sock.close()

    def _connect(self, address):
        until = time.monotonic() + CONNECT_SECONDS
        failed = OSError("no address")
        for family, target in _socket_addresses(address):
            sock = socket.socket(family, socket.SOCK_STREAM)
            try:
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                code = sock.connect_ex(target)
                if code in (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EAGAIN):
                    self.wait(sock, True, until, "the connection")
                    code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if code == 0:
                    return sock
                failed = OSError(code, os.strerror(code))
                sock.close()
            except BaseException:
                sock.close()
                raise
        raise failed

    def _shake_hands(self, sock, candidate):
        """Upgrades the connection; returns what came behind the answer."""
        until = time.monotonic() + CONNECT_SECONDS
        address = candidate.address
        key = base64.b64encode(os.urandom(16))
        request = (
            "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n"
            "Sec-WebSocket-Protocol: %s\r\nAuthorization: Bearer %s\r\n\r\n"
        ) % (address.path, address.authority, key.decode("ascii"), PROTOCOL, candidate.reveal())
        rest = request.encode("ascii")
        while rest:
            self.wait(sock, True, until, "the handshake")
            rest = rest[_send(sock, rest):]
        received = b""
        while b"\r\n\r\n" not in received:
            if len(received) > MAX_HEAD_BYTES:
                raise _Failed("its answer is too long for one to the handshake")
            self.wait(sock, False, until, "the handshake")
            data = _receive(sock)
            if data == b"":
                raise _Failed("it closed the connection during the handshake")
            received += data or b""
        head, rest = received.split(b"\r\n\r\n", 1)
        status, headers = parse_head(head)
        if status != 101:
            self._refused(sock, candidate, status, headers, rest)
        check_upgrade(headers, key)
        return rest

    def _refused(self, sock, candidate, status, headers, body):
        if status == 401:
            if candidate.fixed:
                raise _Failed("it does not accept the host token from the %s" % (
                    "environment" if candidate.origin == "environment" else "settings"), final=True)
            raise _Failed("it does not accept the token in %s, which is read again"
                          % candidate.origin)
        until = time.monotonic() + CLOSE_SECONDS
        length = headers.get("content-length", "0")
        length = min(int(length), MAX_HEAD_BYTES) if re.match(r"\d{1,9}\Z", length) else 0
        try:
            while len(body) < length:
                self.wait(sock, False, until, "the handshake")
                data = _receive(sock)
                if data == b"":
                    break
                body += data or b""
            detail = json.loads(body.decode("utf-8"))["detail"]
        except (_Failed, OSError, ValueError, KeyError, TypeError, RecursionError):
            detail = None
        text = "it answered HTTP %d" % status
        raise _Failed(text + (" (%s)" % _name(detail, 200) if isinstance(detail, str) else ""))


def _socket_addresses(address):
    if address.host == "localhost":
        return [(socket.AF_INET, ("127.0.0.1", address.port)),
                (socket.AF_INET6, ("::1", address.port))]
    kinds = socket.getaddrinfo(address.host, address.port, 0, socket.SOCK_STREAM)
    return [(family, target) for family, _, _, _, target in kinds[:4]]


def _send(sock, data):
    """How many bytes went; 0 when none can go now."""
    try:
        return sock.send(data)
    except (BlockingIOError, InterruptedError):
        return 0


def _receive(sock):
    """b"" at the end, None when there is nothing yet."""
    try:
        return sock.recv(CHUNK)
    except (BlockingIOError, InterruptedError):
        return None


def parse_head(head):
    """(status, headers in lower case) of an HTTP answer. Raises ProtocolError."""
    lines = head.decode("latin-1").split("\r\n")
    match = re.match(r"HTTP/1\.1 (\d{3})(?: |\Z)", lines[0])
    if match is None:
        raise ProtocolError(1002, "its answer is not HTTP")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon:
            raise ProtocolError(1002, "its answer is not HTTP")
        name = name.strip().lower()
        headers[name] = headers[name] + "," + value.strip() if name in headers else value.strip()
    return int(match.group(1)), headers


def accept_of(key):
    return base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode("ascii")


def check_upgrade(headers, key):
    """Raises ProtocolError when the answer 101 is not one to this very handshake."""
    if headers.get("upgrade", "").lower() != "websocket":
        raise ProtocolError(1002, "its answer upgrades to something else")
    if "upgrade" not in re.split(r"[,\s]+", headers.get("connection", "").lower()):
        raise ProtocolError(1002, "its answer does not upgrade the connection")
    if headers.get("sec-websocket-accept") != accept_of(key):
        raise ProtocolError(1002, "its answer is not one to this handshake")
    if headers.get("sec-websocket-protocol") != PROTOCOL:
        raise ProtocolError(1002, "it does not speak " + PROTOCOL)
    if "sec-websocket-extensions" in headers:
        raise ProtocolError(1002, "it uses an extension that nobody asked for")


# --- One connection -----------------------------------------------------------------------------

# What each close code of the server means: text, whether it is final, whether it counts as a
# failure.
_CLOSES = {
    1000: ("the server closed the link", False, False),
    1001: ("the server stops", False, False),
    1009: ("a message was larger than the server takes", False, True),
    1013: ("the answers of the server were not taken", False, True),
    4400: ("the server could not understand a message", False, True),
    4406: ("the server speaks no common version of the protocol", True, True),
    4408: ("the server missed the greeting", False, True),
    4409: ("a newer link of this application took its place", True, True),
    4423: ("taken: another application is linked there", False, True),
}


class _Lost(Exception):
    """The connection is over. `poor`: the next try waits longer; `blame`: something that was sent
    was the reason."""

    def __init__(self, text, final=False, delay=None, poor=False, blame=False):
        Exception.__init__(self, text)
        self.text, self.final, self.delay, self.poor = text, final, delay, poor
        self.blame = blame


class _Pipe(object):
    """The bytes of one connection: frames come in and go out, and nothing here waits."""

    def __init__(self, sock, received):
        self.sock = sock
        self.heard = time.monotonic()
        self._reader = FrameReader()
        self._reader.feed(received)
        self._out = collections.deque()
        self._out_bytes = 0
        self._pong = None  # the payload of one that has no room yet

    @property
    def sending(self):
        return bool(self._out)

    @property
    def full(self):
        """Enough is on its way: what can wait is not added."""
        return self._out_bytes >= HIGH_WATER

    def receive(self):
        data = _receive(self.sock)
        if data == b"":
            raise _Lost("the server went away")
        if data:
            self.heard = time.monotonic()
            self._reader.feed(data)

    def frames(self):
        frame = self._reader.next()
        while frame is not None:
            yield frame
            frame = self._reader.next()

    def put(self, opcode, payload):
        frame = encode_frame(opcode, payload)
        self._out.append(memoryview(frame))
        self._out_bytes += len(frame)

    def pong(self, payload):
        """Of many pings the newest is answered; they cannot pile up."""
        self._pong = payload
        if not self.full:
            self._put_pong()

    def flush(self):
        # Some at a time: what arrives has its turn in between.
        for _ in range(16):
            if not self._out:
                return
            sent = _send(self.sock, self._out[0][:CHUNK])
            if sent == 0:
                return
            self._out_bytes -= sent
            if sent == len(self._out[0]):
                self._out.popleft()
                if self._pong is not None and not self._out:
                    self._put_pong()
            else:
                self._out[0] = self._out[0][sent:]

    def close(self, code, reason):
        """As far as it goes without waiting."""
        try:
            self.put(CLOSE, encode_close(code, reason))
            self.flush()
        except OSError:
            pass

    def _put_pong(self):
        payload, self._pong = self._pong, None
        self.put(PONG, payload)


class _Sending(object):
    """The artefact that is on its way over one connection."""

    def __init__(self, upload):
        """Raises OSError; ValueError or TypeError for a path that is none."""
        self.upload = upload
        self.id = None  # of the message that announced it
        self._file, self.size = upload._open()
        self.left = self.size

    def read(self, most):
        """The next bytes, none when the file became shorter. Raises OSError."""
        size = min(most, self.left)
        if self._file is None:
            start = self.size - self.left
            chunk = self.upload._data[start:start + size]
        else:
            chunk = self._file.read(size)
        self.left -= len(chunk)
        return chunk

    def close(self):
        if self._file is not None:
            self._file.close()


class _Session(object):
    """From the end of the handshake to the end of the connection."""

    def __init__(self, worker, sock, candidate, received):
        now = time.monotonic()
        self.worker, self.link, self.candidate = worker, worker.link, candidate
        self.pipe = _Pipe(sock, received)
        self.opened = now
        self.welcomed = False
        self.limits = dict(DEFAULT_LIMITS)
        self.heartbeat = 5.0
        self.last_heartbeat = 0.0
        self.told = None  # what the last heartbeat said that readers notice
        self.next_scene = now
        self.next_batch = {"audit": now, "events": now}
        self.scene_interval = 0.0
        self.counter = 0
        self.waiting = {}  # id -> (what its answer is for, until when)
        self.questions = {}  # id -> Question
        self.opens = []
        self.sending = None  # the _Sending of the artefact under way
        self.shutdown = None  # seconds, when the server said so
        self.bye = False

    # The loop

    def run(self):
        lost = _Lost("the connection was lost")
        try:
            self._hello()
            while True:
                self._turn()
        except _Lost as error:
            lost = error
            self.worker.told = self.bye  # it closes the connection when it has read the bye
        except _Stopped:
            pass
        except OSError as error:
            lost = _Lost("the connection was lost (%s)" % _os_reason(error))
        except ProtocolError as error:
            self.pipe.close(error.code, error.reason)
            lost = _Lost("the server broke the protocol: %s" % error.reason, poor=True)
        except Exception as error:  # a fault of this file must not end the thread
            self.pipe.close(1011, "")
            lost = _Lost("the link failed: %s" % type(error).__name__, poor=True)
        finally:
            self._restore(lost)
        if self.worker.stopping is not None:
            raise _Stopped()
        delay = self.shutdown if lost.delay is None else lost.delay
        return _End(lost.text, lost.final, delay, self.welcomed, lost.poor)

    def _turn(self):
        now = time.monotonic()
        if self.worker.stopping is not None:
            self._stop(now)
        self._fill(now)
        seconds = min(self._deadlines(now)) - time.monotonic()
        readable, _ = self.worker.ready(self.pipe.sock, self.pipe.sending, seconds)
        if readable:
            self.pipe.receive()
        for opcode, payload in self.pipe.frames():
            self._frame(opcode, payload)
        self.pipe.flush()
        self._check_times(time.monotonic())

    def _deadlines(self, now):
        yield now + 5.0
        yield self.pipe.heard + SILENCE_SECONDS
        if self.worker.stopping is not None:
            yield self.worker.stopping[1] if self.bye else now + 0.02
            if self.bye:
                return
        if not self.welcomed:
            yield self.opened + WELCOME_SECONDS
            return
        if not self.pipe.full:
            yield self._heartbeat_due(now)
            away_at = self.link._main_seen + AWAY_SECONDS
            if away_at > now:
                yield away_at + 0.02
            for due in [self.next_scene] + list(self.next_batch.values()):
                if due > now:
                    yield due
        for _, until in self.waiting.values():
            yield until
        for question in self.questions.values():
            yield question.deadline

    def _check_times(self, now):
        if now - self.pipe.heard >= SILENCE_SECONDS:
            raise _Lost("the server has been silent for %d s" % SILENCE_SECONDS)
        if not self.welcomed and now - self.opened >= WELCOME_SECONDS:
            raise _Lost("the server did not answer the greeting", poor=True)
        if any(until <= now for _, until in self.waiting.values()):
            raise _Lost("the server did not answer within %d s" % ANSWER_SECONDS, poor=True)
        for question in list(self.questions.values()):
            if question.deadline <= now:
                self._forget(question)

    def _stop(self, now):
        """Gives what waits half of the time, then says bye and waits for the close."""
        bye, deadline = self.worker.stopping
        if now >= deadline or not (self.welcomed or self.worker.farewell):
            self.pipe.close(1000, "")
            raise _Stopped()
        if self.bye or not self.welcomed:
            return
        with self.link._lock:
            settled = self.link._settled()
        if settled or deadline - now <= 0.3:
            self.bye = True
            self._send_message(bye)

    # Frames

    def _send_message(self, message):
        self._send_text(_dump(message).encode("ascii"))

    def _send_text(self, data):
        self.pipe.put(TEXT, data)

    def _frame(self, opcode, payload):
        if opcode == PING:
            self.pipe.pong(payload)
        elif opcode == CLOSE:
            code, reason = decode_close(payload)
            self.pipe.close(1000 if code == 1005 else code, "")
            text, final, poor = _CLOSES.get(
                code, ("the server closed the link (%d)" % code, False, True))
            delay = TAKEN_SECONDS if code == 4423 else None
            detail = _name(reason, 120)
            if detail and code not in (1000, 1001, 4423):
                text = "%s (%s)" % (text, detail)
            raise _Lost(text, final, delay, poor, blame=code in (1009, 4400))
        elif opcode == TEXT:
            self._message(_parse_message(payload))
        elif opcode == BINARY:
            raise ProtocolError(1003, "bytes that were not asked for")

    # Messages of the server

    def _message(self, message):
        kind, id = message["type"], message.get("id")
        if kind == "welcome":
            if not self.welcomed:
                self._welcome(message)
        elif kind in ("ok", "error"):
            if isinstance(id, str) and id in self.waiting:
                (what, data), _ = self.waiting.pop(id)
                error = None if kind == "ok" else _error_of(message)
                getattr(self, "_answered_" + what)(message, error, data)
                with self.link._changed:
                    self.link._changed.notify_all()
            elif kind == "error" and id is None:
                self.link._fail("server", "the server said: %s" % _error_of(message).text)
        elif kind in ("read", "list", "capture"):
            self._question(kind, message)
        elif kind == "cancel":
            question = self.questions.get(id) if isinstance(id, str) else None
            if question is not None:
                self._forget(question)
        elif kind == "captured":
            with self.link._lock:
                self.link._pictured_at = time.time()
                self.link._status_news = True
        elif kind == "throttle":
            self.scene_interval = _number(message, "scene_min_interval_ms", 0, 60000, 0) / 1000.0
            with self.link._lock:
                self.link._limits["scene_min_interval_ms"] = int(self.scene_interval * 1000)
        elif kind == "shutdown":
            self.shutdown = _number(message, "reconnect_after_ms", 0, 60000, 0) / 1000.0
        elif isinstance(id, str):
            self._send_message({"type": "error", "id": id[:64], "code": "unknown_type",
                                "message": "no such message", "retryable": False})

    def _hello(self):
        link = self.link
        with link._lock:
            link._app_news = False
            app = dict(link._app, mode=link._mode)
            message = {"type": "hello", "protocol": [1], "client": link._client, "app": app,
                       "instance_id": link._instance_id}
            if link._document is not None:
                message["document"] = link._document
            if link._pictures != {"targets": []}:
                message["capture"] = link._pictures
        self._send_message(message)

    def _welcome(self, message):
        if message.get("protocol") != 1:
            raise _Lost("the server speaks no common version of the protocol", final=True)
        given = message.get("limits")
        given = given if isinstance(given, dict) else {}
        limits = self.limits
        for name, least, most in (
                ("max_message_bytes", 1024, 64 * MiB), ("max_batch", 1, 1000),
                ("max_in_flight", 1, 64), ("max_scene_objects", 1, 10 ** 9),
                ("scene_min_interval_ms", 0, 60000), ("max_artefact_bytes", 0, 2 ** 53)):
            limits[name] = int(_number(given, name, least, most, limits[name]))
        if "max_artefact_bytes" in given and given["max_artefact_bytes"] is None:
            limits["max_artefact_bytes"] = None
        self.heartbeat = _number(message, "heartbeat_ms", 50, 60000, 5000) / 1000.0
        self.scene_interval = limits["scene_min_interval_ms"] / 1000.0
        self.welcomed = True
        server = message.get("server")
        server = server if isinstance(server, dict) else {}
        link, url = self.link, self.candidate.address.url
        with link._lock:
            link._limits = dict(limits)
            link._server = {
                name: _name(server[name]) or "" for name in ("name", "version")
                if isinstance(server.get(name), str)}
            need = message.get("need_scene") is True
            link._server_needs_scene = need
            if need or link._scene_taken_by != self.candidate.key:
                link._scene_taken_by = None
            # Nothing of this is remembered across connections.
            self.opens = list(link._buffers.items())
            for scheme in link._producers:
                link._producer_news[scheme] = "register"
            link._errors.pop("link", None)
        title = " ".join(link._server.get(name, "") for name in ("name", "version")).strip()
        self.worker.say("connected", "Connected to %s at %s." % (title or "the server", url), url)

    def _question(self, kind, message):
        id = message.get("id")
        member = {"read": "uri", "list": "scheme", "capture": "target"}[kind]
        subject = message.get(member)
        if not isinstance(id, str) or not 1 <= len(id) <= 64 or id in self.questions:
            return
        link = self.link
        callback = {"read": link._on_read, "list": link._on_list, "capture": link._on_capture}[kind]
        problem = None
        if not isinstance(subject, str):
            problem = ("invalid", "/%s must be a string" % member)
        elif callback is None:
            problem = ("unsupported", "this application does not answer that")
        elif len(self.questions) >= self.limits["max_in_flight"]:
            problem = ("busy", "too many questions at once")
        if problem is not None:
            return self._send_error(id, *problem)
        if kind == "capture":
            subject = (subject, int(_number(message, "max_width", 1, 65535, 65535)),
                       int(_number(message, "max_bytes", 1, self.limits["max_message_bytes"],
                                   self.limits["max_message_bytes"])))
        seconds = _number(message, "deadline_ms", 1, 600000, 5000) / 1000.0
        question = Question(id, kind, subject, time.monotonic() + seconds)
        self.questions[id] = question
        with link._lock:
            link._questions.append(question)

    def _forget(self, question):
        self.questions.pop(question.id, None)
        with self.link._lock:
            question.dropped = True
            if question in self.link._questions:
                self.link._questions.remove(question)

    def _send_error(self, id, code, message):
        self._send_message({"type": "error", "id": id, "code": code, "message": message,
                            "retryable": code in ("busy", "internal")})

    # Messages of the application

    def _ask(self, what, head, rest=b"", data=None, seconds=None):
        """Sends a message whose answer _answered_<what> gets; `rest` is text of more members."""
        self.counter += 1
        id = str(self.counter)
        text = _dump(dict(head, id=id)).encode("ascii")
        if rest:
            text = text[:-1] + b"," + rest + b"}"
        self.waiting[id] = ((what, data), time.monotonic() + (seconds or ANSWER_SECONDS))
        self._send_text(text)
        return id

    def _fill(self, now):
        """Adds messages until enough are on their way: those that somebody waits for first."""
        if not self.welcomed or self.bye:
            return
        if not self.pipe.full:
            self._send_heartbeat(now)
        steps = (self._send_answer, self._send_open, self._send_app, self._send_producer,
                 self._send_scene, self._send_audit, self._send_events, self._send_updated,
                 self._send_upload)
        while not self.pipe.full and any([step(now) for step in steps]):
            pass

    def _state_of_main(self, now):
        """(milliseconds since the main thread was here, what is told of it). Call with the lock."""
        link = self.link
        if not (link._on_read or link._on_list or link._on_capture or link._pumps):
            idle = 0.0  # nobody waits for a main thread that has nothing to answer
        else:
            idle = max(0.0, now - link._main_seen)
        return int(idle * 1000), (idle > AWAY_SECONDS, link._busy)

    def _heartbeat_due(self, now):
        """Before its time when readers would otherwise be told the wrong reason for waiting."""
        with self.link._lock:
            news = self._state_of_main(now)[1] != self.told
        return self.last_heartbeat + (0.1 if news else self.heartbeat)

    def _send_heartbeat(self, now):
        if now < self._heartbeat_due(now):
            return
        link = self.link
        with link._lock:
            idle, self.told = self._state_of_main(now)
            message = _present(
                type="heartbeat", main_idle_ms=idle, queue_depth=len(link._questions),
                dropped={"audit": link._audit.dropped, "events": link._events.dropped},
                busy=link._busy)
        self.last_heartbeat = now
        self._send_message(message)

    def _send_answer(self, now):
        link = self.link
        with link._lock:
            if not link._answers:
                return False
            question, (code, value) = link._answers.popleft()
        if question.dropped:  # also when it came over an earlier connection
            return True
        self.questions.pop(question.id, None)
        if code is None and question.kind == "capture":
            return self._send_picture(question, value)
        if code is None:
            name = "contents" if question.kind == "read" else "resources"
            try:
                if question.kind == "read":
                    value = _contents(value, question.subject)
                else:
                    value = list(value)
                data, replaced = encode_json({"type": "ok", "id": question.id, name: value})
                if replaced:
                    self.link._fail("read", "%d numbers of %s are not finite: sent as null" % (
                        replaced, _name(question.subject)))
            except (NotJson, TypeError) as error:
                code, value = "internal", "on_%s returned no %s: %s" % (question.kind, name, error)
                link._fail("read", value)
            else:
                if len(data) <= self.limits["max_message_bytes"]:
                    self._send_text(data)
                    return True
                code, value = "limit", "the answer is larger than %d bytes" % (
                    self.limits["max_message_bytes"])
        self._send_error(question.id, code, value)
        return True

    def _send_picture(self, question, value):
        """The answer and right behind it the bytes: nothing may come between them."""
        max_bytes = question.subject[2]
        try:
            picture = value if isinstance(value, Picture) else Picture(value, None, None, None)
            if not isinstance(picture.png, (bytes, bytearray)) or not picture.png:
                raise TypeError("no bytes")
            head = {"type": "ok", "id": question.id, "png_bytes": len(picture.png)}
            if picture.width is not None:
                head["window"] = {"title": str(picture.title or "")[:MAX_TEXT // 2],
                                  "width": int(picture.width), "height": int(picture.height)}
            text = _dump(head).encode("ascii")
        except (TypeError, ValueError) as error:
            message = "the capture callback returned no picture (%s)" % type(error).__name__
            self.link._fail("capture", message)
            self._send_error(question.id, "internal", message)
            return True
        if len(picture.png) > max_bytes:
            self._send_error(question.id, "limit", "the picture has %d bytes, at most %d were "
                             "asked for" % (len(picture.png), max_bytes))
            return True
        self._send_text(text)
        self.pipe.put(BINARY, bytes(picture.png))
        return True

    def _send_open(self, now):
        if not self.opens:
            return False
        session, text = self.opens.pop(0)
        self._ask("open", {"type": "events.open", "session_id": session},
                  text[1:-1].encode("ascii"))
        return True

    def _answered_open(self, message, error, data):
        if error is not None:
            self.link._fail("events", "the server opened no event buffer: %s" % error.text)

    def _send_app(self, now):
        link = self.link
        with link._lock:
            if not link._app_news:
                return False
            link._app_news = False
            message = {"type": "app.update", "document": link._document, "mode": link._mode,
                       "capture": link._pictures}
        self._ask("app", message)
        return True

    def _answered_app(self, message, error, data):
        if error is not None:
            self.link._fail("document", "the server refused the document: %s" % error.text)

    def _send_producer(self, now):
        link = self.link
        with link._lock:
            if not link._producer_news:
                return False
            scheme, news = link._producer_news.popitem(last=False)
            resources, templates = link._producers.get(scheme, ([], []))
        message = {"scheme": scheme}
        if news == "register":
            message.update(type="producer.register", resources=resources, templates=templates)
        elif news == "unregister":
            message.update(type="producer.unregister")
        else:
            message.update(type="producer.list_changed")
            if news == "list":
                message.update(resources=resources)
        try:
            data, _ = encode_json(message)
        except NotJson as error:
            link._fail("producer", "the resources of %s were not sent: %s" % (scheme, error))
            return True
        if len(data) + 100 > self.limits["max_message_bytes"]:
            link._fail("producer", "the resources of %s were not sent: they are larger than %d "
                       "bytes" % (scheme, self.limits["max_message_bytes"]))
            return True
        self._ask("producer", {}, data[1:-1], scheme)
        return True

    def _answered_producer(self, message, error, scheme):
        if error is not None and (scheme in self.link._producers or error.code != "not_found"):
            self.link._fail("producer", "the server refused %s: %s" % (scheme, error.text))

    def _send_updated(self, now):
        link = self.link
        with link._lock:
            if not link._updated:
                return False
            uri, _ = link._updated.popitem(last=False)
            if str(uri).partition(":")[0] not in link._producers:
                return True  # it went meanwhile
        try:
            self._send_message({"type": "resource.updated", "uri": uri})
        except (TypeError, ValueError):
            link._fail("producer", "updated() was given no text")
        return True

    # The scene

    def _send_scene(self, now):
        link = self.link
        if now < self.next_scene or any(what == "scene" for (what, _), _ in self.waiting.values()):
            return False
        with link._lock:
            if link._scene_new:
                scene, link._scene_new = link._scene_new[0], []
                link._scene_work = True
            elif link._scene_text is None or link._scene_taken_by is not None:
                return False
            else:
                scene = None
        if link._scene_work:
            text = self._scene_bytes(scene)
            del scene
            with link._lock:
                link._scene_work = False
                link._scene_text, link._scene_taken_by = text, None
                link._changed.notify_all()
            if text is None:
                return True
        with link._lock:
            link._server_needs_scene = False
            text = link._scene_text
            if text != b"null":
                link._scene_sent_to = self.candidate.key
        self._ask("scene", {"type": "scene.set"}, b'"scene":' + text, text)
        self.next_scene = time.monotonic() + self.scene_interval
        return True

    def _scene_bytes(self, scene):
        """None when it cannot be sent. Not even the one before is, then: it is not the newest."""
        link, most = self.link, self.limits["max_message_bytes"]
        try:
            if scene is not None and not isinstance(scene, dict):
                raise NotJson("it is no dict")
            text, replaced = encode_json(scene)
            if len(text) + 100 > most:
                raise NotJson("it is %d bytes long and the server takes %d" % (len(text), most))
        except NotJson as error:
            link._fail("scene", "the scene was not sent: %s" % error)
            return None
        if replaced:
            link._fail("scene", "%d numbers of the scene are not finite: sent as null" % replaced)
        else:
            link._recovered("scene")
        return text

    def _answered_scene(self, message, error, text):
        link = self.link
        with link._lock:
            if link._scene_text is not text:
                return
            if error is None:
                link._scene_taken_by = self.candidate.key
                if text == b"null":
                    link._scene_sent_to = None
            elif error.retryable:
                self.next_scene = time.monotonic() + RETRY_SECONDS
            else:
                link._scene_text = None
        if error is not None:
            link._fail("scene", "the server refused the scene: %s" % error.text)

    # Audit and events

    def _send_audit(self, now):
        return self._send_batch("audit", self.link._audit, now)

    def _send_events(self, now):
        return self._send_batch("events", self.link._events, now)

    def _send_batch(self, what, backlog, now):
        link, most = self.link, self.limits["max_message_bytes"]
        if now < self.next_batch[what]:
            return False
        with link._lock:
            if backlog.flight or not backlog.waiting:
                return False
            batch = backlog.take(self.limits["max_batch"], most - 1024)
            if len(batch[0].text) > most - 1024:
                backlog.give_up()
                link._fail(what, "one of the %s is larger than the server takes" % what)
                return True
            head = batch[0]
            if head.kind == "open":
                link._buffers[head.session] = head.text
            elif head.kind == "close":
                link._buffers.pop(head.session, None)
        rest = ",".join(item.text for item in batch)
        if head.kind == "open":
            self._ask(what, {"type": "events.open", "session_id": head.session},
                      rest[1:-1].encode("ascii"), backlog)
        elif head.kind == "close":
            self._ask(what, {"type": "events.close", "session_id": head.session}, b"", backlog)
        elif what == "audit":
            self._ask(what, {"type": "audit.record"}, ('"records":[%s]' % rest).encode("ascii"),
                      backlog)
        else:
            self._ask(what, {"type": "events.append", "session_id": head.session},
                      ('"events":[%s]' % rest).encode("ascii"), backlog)
        return True

    def _answered_audit(self, message, error, backlog):
        self._batch_answered("audit", error, backlog)

    def _answered_events(self, message, error, backlog):
        self._batch_answered("events", error, backlog)

    def _batch_answered(self, what, error, backlog):
        with self.link._lock:
            if error is None or backlog.flight and backlog.flight[0].kind == "close":
                backlog.taken()  # what the server does not know is closed, too
                return
            self.link._fail(what, "the server refused %s: %s" % (what, error.text))
            # A full session must not keep the others waiting, so that its limit is no reason to.
            if error.retryable and (error.code != "limit" or what == "audit"):
                backlog.restore()
                self.next_batch[what] = time.monotonic() + RETRY_SECONDS
                return
            pointer = re.search(r"/(?:records|events)/(\d{1,4})\b", error.text)
            backlog.give_up(int(pointer.group(1)) if pointer else None)

    # Artefacts

    def _send_upload(self, now):
        link = self.link
        if self.sending is not None:
            return self._send_chunk()
        with link._lock:
            if link._upload is not None or not link._uploads:
                return False
            upload = link._upload = link._uploads.popleft()
        upload._tries += 1
        try:
            sending = _Sending(upload)
        except (OSError, ValueError, TypeError) as error:
            reason = _os_reason(error) if isinstance(error, OSError) else type(error).__name__
            self._upload_done(upload, error="the file cannot be read (%s)" % reason)
            return True
        most = self.limits["max_artefact_bytes"]
        if most is None or most and sending.size > most:
            sending.close()
            self._upload_done(upload, error=(
                "the server takes no artefacts" if most is None
                else "it is %d bytes long and the server takes %d" % (sending.size, most)))
            return True
        head = dict(upload._members, type="artefact.put", size=sending.size)
        sending.id = self._ask("upload", head, b"", upload, UPLOAD_ANSWER_SECONDS)
        self.sending = sending
        return True

    def _send_chunk(self):
        sending = self.sending
        if sending.left == 0:
            return False
        try:
            chunk = sending.read(min(CHUNK, self.limits["max_message_bytes"]))
        except OSError as error:
            return self._abort(sending, "the file cannot be read (%s)" % _os_reason(error))
        if not chunk:
            return self._abort(sending, "the file became shorter while it was sent")
        self.waiting[sending.id] = (
            ("upload", sending.upload), time.monotonic() + UPLOAD_ANSWER_SECONDS)
        self.pipe.put(BINARY, chunk)
        return True

    def _abort(self, sending, error):
        self.waiting.pop(sending.id, None)
        self._ask("abort", {"type": "artefact.abort", "upload": sending.id})
        self._upload_done(sending.upload, error=error)
        return True

    def _answered_upload(self, message, error, upload):
        if error is None and isinstance(message.get("uri"), str):
            self._upload_done(upload, uri=message["uri"], sha256=message.get("sha256"))
            return
        text = "the server refused the artefact: %s" % (
            "an answer without uri" if error is None else error.text)
        if self.sending.left > 0:  # what is left need not be sent
            self._ask("abort", {"type": "artefact.abort", "upload": self.sending.id})
        self._upload_done(upload, error=text)

    def _answered_abort(self, message, error, data):
        """Whether there was anything left to give up does not matter."""

    def _upload_done(self, upload, error=None, uri=None, sha256=None):
        self._stop_sending()
        with self.link._changed:
            if self.link._upload is upload:
                self.link._upload = None
            self.link._finish(upload, error, uri, sha256)
            if error is not None:
                self.link._fail("artefact", "an artefact was not sent: %s" % error)
            self.link._changed.notify_all()

    def _stop_sending(self):
        if self.sending is not None:
            self.sending.close()
        self.sending = None

    # The end

    def _restore(self, lost):
        """What was not answered is sent again on the next connection, except what may have been
        the reason that this one ended."""
        link = self.link
        blame = lost.blame and self.welcomed
        asked = [each for each, _ in self.waiting.values()]
        for question in list(self.questions.values()):
            self._forget(question)
        self._stop_sending()
        if link._worker is not None and link._worker is not self.worker:
            return  # stop() did not wait for this thread: another one does the work
        with link._changed:
            for backlog in (link._audit, link._events):
                backlog.give_up() if blame else backlog.restore()
            for what, scheme in asked:
                if what == "producer" and scheme not in link._producers:
                    link._producer_news[scheme] = "unregister"
            if lost.delay is not None:
                link._scene_taken_by = None  # the other application has set its own
            if blame and any(what == "scene" for what, _ in asked):
                link._scene_text = None
                link._fail("scene", "the scene was given up: %s" % lost.text)
            upload = link._upload
            if upload is not None:
                link._upload = None
                if upload._tries >= MAX_UPLOAD_TRIES:
                    link._finish(upload, error="the link was lost %d times" % upload._tries)
                else:
                    link._uploads.appendleft(upload)
            link._server_needs_scene = False
            link._changed.notify_all()


_Error = collections.namedtuple("_Error", "code text retryable")


def _error_of(message):
    code, text = message.get("code"), message.get("message")
    code = code if isinstance(code, str) else "internal"
    text = _name(text, 300) if isinstance(text, str) else None
    return _Error(code, "%s (%s)" % (text, _name(code, 64)) if text else _name(code, 64),
                  message.get("retryable") is True or code == "limit")


def _parse_message(text):
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise ProtocolError(4400, "a message that is not JSON")
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError(4400, "a message without a type")
    return message


def _number(members, name, least, most, default):
    """A number within bounds; whatever else the other side says counts as the default."""
    value = members.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return default
    return min(max(value, least), most)


def _contents(value, uri):
    """What on_read returned, in the form of MCP."""
    if isinstance(value, (str, bytes, bytearray, dict)):
        value = [value]
    contents = []
    for item in value:
        if isinstance(item, str):
            item = {"text": item}
        elif isinstance(item, (bytes, bytearray)):
            item = {"blob": item}
        item = dict(item)
        if isinstance(item.get("blob"), (bytes, bytearray)):
            item["blob"] = base64.b64encode(item["blob"]).decode("ascii")
        item.setdefault("uri", uri)
        contents.append(item)
    return contents
