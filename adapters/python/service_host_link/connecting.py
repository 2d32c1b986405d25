"""Opening a connection: TCP, then the handshake."""

import base64
import errno
import json
import os
import re
import socket
import time

from .connection_end import ConnectFailed, Stopped
from .handshake import check_upgrade, parse_head
from .limits import CLOSE_SECONDS, CONNECT_SECONDS, MAX_HEAD_BYTES, PROTOCOL
from .sockets import _socket_addresses, receive_some, send_some
from .texts import one_line


class Connecting(object):
    """Opens connections for the worker. The waits end when stop() is called."""

    def wait(self, sock, write, until, what):
        """Until the socket is ready, for what comes before a session."""
        while True:
            if self.stopping is not None:
                if not self.farewell:
                    raise Stopped()
                until = min(until, self.stopping[1])
            left = until - time.monotonic()
            if left <= 0:
                raise ConnectFailed("no answer to %s within %d s" % (what, CONNECT_SECONDS))
            readable, writable = self.ready(sock, write, left)
            if readable or writable:
                return

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
            rest = rest[send_some(sock, rest):]
        received = b""
        while b"\r\n\r\n" not in received:
            if len(received) > MAX_HEAD_BYTES:
                raise ConnectFailed("its answer is too long for one to the handshake")
            self.wait(sock, False, until, "the handshake")
            data = receive_some(sock)
            if data == b"":
                raise ConnectFailed("it closed the connection during the handshake")
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
                raise ConnectFailed("it does not accept the host token from the %s" % (
                    "environment" if candidate.origin == "environment" else "settings"), final=True)
            raise ConnectFailed("it does not accept the token in %s, which is read again"
                          % candidate.origin)
        until = time.monotonic() + CLOSE_SECONDS
        length = headers.get("content-length", "0")
        length = min(int(length), MAX_HEAD_BYTES) if re.match(r"\d{1,9}\Z", length) else 0
        try:
            while len(body) < length:
                self.wait(sock, False, until, "the handshake")
                data = receive_some(sock)
                if data == b"":
                    break
                body += data or b""
            detail = json.loads(body.decode("utf-8"))["detail"]
        except (ConnectFailed, OSError, ValueError, KeyError, TypeError, RecursionError):
            detail = None
        text = "it answered HTTP %d" % status
        if isinstance(detail, str):
            text += " (%s)" % one_line(detail, 200)
        raise ConnectFailed(text)
