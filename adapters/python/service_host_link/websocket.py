"""One WebSocket connection to the server (RFC 6455)."""

import base64
import collections
import hashlib
import os
import re
import socket
import struct
import time

from .texts import one_line

PROTOCOL = "dcc-host.v1"
MAX_RECEIVED_BYTES = 8 * 1024 * 1024  # one message of the server
MAX_HEAD_BYTES = 16 * 1024  # its answer to the handshake
HIGH_WATER = 512 * 1024  # bytes on their way beyond which nothing is added
CHUNK = 256 * 1024
CONNECT_SECONDS = 5.0
TAKEN_SECONDS = 10.0

TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_BLOCK = 64 * 1024


class ConnectionLost(Exception):
    """The connection ended, or could not be opened.

    final: trying again is of no use; delay: seconds until the next try, None for the usual;
    back_off: the next try waits longer; caused_by_us: something that was sent was the reason."""

    code = "lost"

    def __init__(self, text, final=False, delay=None, back_off=False, caused_by_us=False):
        Exception.__init__(self, text)
        self.text, self.final, self.delay = text, final, delay
        self.back_off, self.caused_by_us = back_off, caused_by_us
        self.retryable = not caused_by_us


def broken(what):
    return ConnectionLost("the server broke the protocol: %s" % what, back_off=True)


# What each close code of the server means: the arguments of ConnectionLost.
_CLOSES = {
    1000: ("the server closed the link",),
    1001: ("the server stops",),
    1009: ("a message was larger than the server takes", False, None, True, True),
    4400: ("the server could not understand a message", False, None, True, True),
    4406: ("the server speaks no common version of the protocol", True),
    4409: ("a newer link of this application took its place", True),
    4423: ("taken: another application is linked there", False, TAKEN_SECONDS, True),
}


def _lost_by_close(payload):
    code = struct.unpack("!H", payload[:2])[0] if len(payload) >= 2 else 1000
    meaning = _CLOSES.get(code, ("the server closed the link (%d)" % code, False, None, True))
    detail = one_line(payload[2:].decode("utf-8", "replace"), 120)
    if detail and code not in (1000, 1001, 4423):
        meaning = ("%s (%s)" % (meaning[0], detail),) + meaning[1:]
    return ConnectionLost(*meaning)


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


def encode_frame(opcode, payload):
    """One masked frame: a client's frames always are."""
    size, first = len(payload), 0x80 | opcode
    if size < 126:
        head = struct.pack("!BB", first, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", first, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, size)
    key = os.urandom(4)
    return head + key + mask(payload, key)


class FrameReader(object):
    """Puts the server's messages together from what the socket brings, in pieces of any size."""

    def __init__(self, max_bytes=MAX_RECEIVED_BYTES):
        self._max = max_bytes
        self.buffer = bytearray()
        self._opcode = None  # of the message whose fragments are coming in
        self._message = bytearray()

    def messages(self):
        """Yields (opcode, bytes) of each message and control frame. Raises ConnectionLost."""
        frame = self._frame()
        while frame is not None:
            final, opcode, payload = frame
            if opcode >= 0x8:
                yield opcode, payload  # between the fragments of a message, too
            else:
                self._opcode = opcode or self._opcode
                self._message += payload
                if final:
                    opcode, message = self._opcode, bytes(self._message)
                    self._message = bytearray()
                    yield opcode, message
            frame = self._frame()

    def _frame(self):
        buffer = self.buffer
        if len(buffer) < 2:
            return None
        first, size, start = buffer[0], buffer[1], 2
        if first & 0x70 or size & 0x80:
            raise broken("a frame that was not negotiated")
        for kind, length, layout in ((126, 4, "!H"), (127, 10, "!Q")):
            if size == kind:
                if len(buffer) < length:
                    return None
                start, size = length, struct.unpack(layout, buffer[2:length])[0]
                break
        # Before its bytes are waited for: they are never all in memory.
        if size + len(self._message) > self._max:
            raise broken("a message larger than %d bytes" % self._max)
        if len(buffer) < start + size:
            return None
        payload = bytes(buffer[start:start + size])
        del buffer[:start + size]
        return bool(first & 0x80), first & 0x0F, payload


class Connection(object):
    """Frames come in and go out over one socket; nothing here waits."""

    def __init__(self, sock):
        self.sock = sock
        self.heard = time.monotonic()
        self._reader = FrameReader()
        self._out = collections.deque()
        self._out_bytes = 0

    @property
    def sending(self):
        return bool(self._out)

    @property
    def full(self):
        """Enough is on its way: what can wait is not added."""
        return self._out_bytes >= HIGH_WATER

    def put(self, opcode, payload):
        self.put_bytes(encode_frame(opcode, payload))

    def put_bytes(self, data):
        self._out.append(memoryview(data))
        self._out_bytes += len(data)

    def flush(self):
        # Some at a time: what arrives has its turn in between.
        for _ in range(16):
            if not self._out:
                return
            try:
                sent = self.sock.send(self._out[0][:CHUNK])
            except (BlockingIOError, InterruptedError):
                return
            self._out_bytes -= sent
            if sent == len(self._out[0]):
                self._out.popleft()
            else:
                self._out[0] = self._out[0][sent:]

    def receive(self):
        """Takes what has arrived."""
        try:
            data = self.sock.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        if not data:
            raise ConnectionLost("the server went away")
        self.heard = time.monotonic()
        self._reader.buffer += data

    def messages(self):
        """Yields (opcode, bytes) of TEXT and BINARY messages. Raises ConnectionLost."""
        for opcode, payload in self._reader.messages():
            if opcode == PING:
                self.put(PONG, payload)
            elif opcode == CLOSE:
                self.close(payload[:2])
                raise _lost_by_close(payload)
            elif opcode in (TEXT, BINARY):
                yield opcode, payload

    def close(self, code):
        """As far as it goes without waiting. `code`: a number, or its two bytes."""
        try:
            self.put(CLOSE, struct.pack("!H", code) if isinstance(code, int) else code)
            self.flush()
        except OSError:
            pass

    def take_head(self):
        """The head of an HTTP answer as text, None until all of it is there."""
        head, end, _ = self._reader.buffer.partition(b"\r\n\r\n")
        if not end:
            if len(head) > MAX_HEAD_BYTES:
                raise broken("its answer is too long for one to the handshake")
            return None
        del self._reader.buffer[:len(head) + 4]
        return head.decode("latin-1")


def connect(candidate, wait):
    """The Connection, upgraded. wait(connection, seconds) may raise. Raises ConnectionLost, OSError."""
    address = candidate.address
    until = time.monotonic() + CONNECT_SECONDS
    sock = socket.create_connection((address.host, address.port), CONNECT_SECONDS)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(sock)
        key = base64.b64encode(os.urandom(16))
        connection.put_bytes((
            "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n"
            "Sec-WebSocket-Protocol: %s\r\nAuthorization: Bearer %s\r\n\r\n"
            % (address.path, address.authority, key.decode("ascii"), PROTOCOL, candidate.token)
        ).encode("ascii"))
        head = None
        while head is None:
            if time.monotonic() >= until:
                raise ConnectionLost("no answer to the handshake within %d s" % CONNECT_SECONDS)
            connection.flush()
            wait(connection, until - time.monotonic())
            connection.receive()
            head = connection.take_head()
        _check_head(head, key, candidate)
        return connection
    except BaseException:
        sock.close()
        raise


def _check_head(head, key, candidate):
    status = re.match(r"HTTP/1\.1 (\d{3})\b", head)
    if status is None:
        raise broken("its answer is not HTTP")
    status = int(status.group(1))
    if status == 401 and candidate.token_file is not None:
        raise ConnectionLost(
            "it does not accept the token in %s, which is read again" % candidate.token_file)
    if status == 401:
        raise ConnectionLost(
            "it does not accept the host token from the %s" % candidate.source, final=True)
    if status != 101:
        raise ConnectionLost("it answered HTTP %d" % status)
    headers = dict(
        (name.strip().lower(), value.strip())
        for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:]))
    accept = base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode("ascii")
    if (headers.get("sec-websocket-accept") != accept
            or headers.get("sec-websocket-protocol") != PROTOCOL):
        raise broken("it does not speak " + PROTOCOL)
