"""WebSocket frames (RFC 6455)."""

import os
import struct

from .limits import MAX_RECEIVED_BYTES

TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA
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
