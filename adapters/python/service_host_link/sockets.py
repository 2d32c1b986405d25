"""Sockets that never block."""

import math
import select
import socket

from .limits import CHUNK


def backoff_seconds(failures, chance):
    """How long to wait after so many failures in a row; `chance` is 0 to 1."""
    return min(10.0, 0.25 * 2 ** min(failures, 10)) * (0.8 + 0.4 * chance)


def wait_ready(wake, sock, write, seconds):
    """(readable, writable) of the socket, as soon as there is news of it or a wake-up."""
    seconds = max(0.0, seconds)
    if hasattr(select, "poll"):  # select() fails for descriptors over 1023
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


def _socket_addresses(address):
    if address.host == "localhost":
        return [(socket.AF_INET, ("127.0.0.1", address.port)),
                (socket.AF_INET6, ("::1", address.port))]
    kinds = socket.getaddrinfo(address.host, address.port, 0, socket.SOCK_STREAM)
    return [(family, target) for family, _, _, _, target in kinds[:4]]


def send_some(sock, data):
    """How many bytes went; 0 when none can go now."""
    try:
        return sock.send(data)
    except (BlockingIOError, InterruptedError):
        return 0


def receive_some(sock):
    """b"" at the end, None when there is nothing yet."""
    try:
        return sock.recv(CHUNK)
    except (BlockingIOError, InterruptedError):
        return None
