"""One WebSocket connection to the server (RFC 6455)."""

import base64
import collections
import os
import socket
import struct
import time

from .texts import one_line

HIGH_WATER = 512 * 1024  # bytes on their way beyond which nothing is added
CHUNK = 256 * 1024
CONNECT_SECONDS = 5.0
TAKEN_SECONDS = 10.0

TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA
_BLOCK = 64 * 1024


class ConnectionLost(Exception):
    """The connection ended, or could not be opened.

    final: trying again is of no use; delay: seconds until the next try, None for the usual;
    caused_by_us: something that was sent was the reason."""

    code = "lost"

    def __init__(self, text, final=False, delay=None, caused_by_us=False):
        Exception.__init__(self, text)
        self.text, self.final, self.delay, self.caused_by_us = text, final, delay, caused_by_us


# By the close code of the server: the arguments of ConnectionLost.
_CLOSES = {
    1001: ("the server stops", False, 1.0),
    1009: ("a message was larger than the server takes", False, None, True),
    4400: ("the server could not understand a message", False, None, True),
    4409: ("a newer link of this application took its place", True),
    4423: ("taken", False, TAKEN_SECONDS),
}


def _lost_by_close(payload):
    code = struct.unpack("!H", payload[:2])[0] if payload else 1005
    text, *more = _CLOSES.get(code, ("the server closed the link (%d)" % code,))
    if code in (4400, 4423):
        text += ": %s" % one_line(payload[2:].decode("utf-8", "replace"))
    return ConnectionLost(text, *more)


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


class Connection(object):
    """Frames come in and go out over one socket; nothing here waits."""

    def __init__(self, sock):
        self.sock = sock
        self.heard = time.monotonic()
        self.received = bytearray()
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
        frame = encode_frame(opcode, payload)
        self._out.append(memoryview(frame))
        self._out_bytes += len(frame)

    def flush(self):
        # Some at a time: what arrives has its turn in between.
        for _ in range(16):
            if not self._out:
                return
            try:
                sent = self.sock.send(self._out[0][:CHUNK])
            except BlockingIOError:
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
        except BlockingIOError:
            return
        if not data:
            raise ConnectionLost("the server went away")
        self.heard = time.monotonic()
        self.received += data

    def messages(self):
        """Yields the payload of each message. Raises ConnectionLost."""
        frame = self._frame()
        while frame is not None:
            opcode, payload = frame
            if opcode == PING:
                self.put(PONG, payload)
            elif opcode == CLOSE:
                self.put(CLOSE, payload[:2])
                try:
                    self.flush()
                except OSError:
                    pass
                raise _lost_by_close(payload)
            elif opcode == TEXT:
                yield payload
            frame = self._frame()

    def _frame(self):
        """(opcode, payload), or None until all of it is there. The server sends each message in one
        frame."""
        received = self.received
        if len(received) < 2:
            return None
        size, start = received[1], 2
        for kind, length, layout in ((126, 4, "!H"), (127, 10, "!Q")):
            if size == kind:
                if len(received) < length:
                    return None
                start, size = length, struct.unpack(layout, received[2:length])[0]
                break
        if len(received) < start + size:
            return None
        opcode, payload = received[0] & 0x0F, bytes(received[start:start + size])
        del received[:start + size]
        return opcode, payload


def connect(candidate, wait):
    """The Connection, upgraded. wait(connection, seconds) may raise. Raises ConnectionLost, OSError."""
    address = candidate.address
    until = time.monotonic() + CONNECT_SECONDS
    sock = socket.create_connection((address.host, address.port), CONNECT_SECONDS)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall((
            "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n"
            "Sec-WebSocket-Protocol: dcc-host.v1\r\nAuthorization: Bearer %s\r\n\r\n" % (
                address.path, address.authority,
                base64.b64encode(os.urandom(16)).decode("ascii"), candidate.token)
        ).encode("ascii"))
        sock.setblocking(False)
        connection = Connection(sock)
        while b"\r\n\r\n" not in connection.received:
            if time.monotonic() >= until:
                raise ConnectionLost("no answer to the handshake within %d s" % CONNECT_SECONDS)
            wait(connection, until - time.monotonic())
            connection.receive()
        head, _, connection.received = connection.received.partition(b"\r\n\r\n")
        _check_head(head.decode("latin-1"), candidate)
        return connection
    except BaseException:
        sock.close()
        raise


def _check_head(head, candidate):
    _, _, status = head.split("\r\n")[0].partition(" ")
    if status.startswith("401"):
        if candidate.token_file is not None:
            raise ConnectionLost(
                "it does not accept the token in %s, which is read again" % candidate.token_file)
        raise ConnectionLost("it does not accept the host token", final=True)
    if not status.startswith("101"):
        raise ConnectionLost("it answered HTTP %s" % one_line(status))
