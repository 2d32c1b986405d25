"""Artefacts on their way."""

import errno
import os
import stat
import threading


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


class OutgoingArtefact(object):
    """The artefact that is on its way over one connection."""

    def __init__(self, upload):
        """Raises OSError; ValueError or TypeError for an invalid path."""
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
