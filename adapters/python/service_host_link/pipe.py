"""The bytes of one connection."""

import collections
import time

from .connection_end import ConnectionLost
from .frames import CLOSE, FrameReader, PONG, encode_close, encode_frame
from .limits import CHUNK, HIGH_WATER
from .sockets import receive_some, send_some


class Pipe(object):
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
        data = receive_some(self.sock)
        if data == b"":
            raise ConnectionLost("the server went away")
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
            sent = send_some(self.sock, self._out[0][:CHUNK])
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
