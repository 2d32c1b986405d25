"""Files that only this user can have written."""

import errno
import os
import stat


class RecordSkipped(Exception):
    """Why a record is passed over."""


def unsafe_folder(path):
    """Why records in a folder must not be believed, or None: a user who can put one there would
    receive what this application shares."""
    try:
        found = os.lstat(path)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return "there is no folder %s: no server of this user has run" % path
        return "%s cannot be accessed (%s)" % (path, os_reason(error))
    if stat.S_ISLNK(found.st_mode) or not stat.S_ISDIR(found.st_mode):
        return "%s is not a folder" % path
    if not hasattr(os, "geteuid"):
        return None
    if found.st_uid != os.geteuid():
        return "%s belongs to another user" % path
    if found.st_mode & 0o022:
        return "%s can be written by other users: chmod 700" % path
    return None


def read_own_file(path, max_bytes):
    """(bytes, modification time) of a regular file of this user or root that others cannot
    write. Raises RecordSkipped."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            found = os.fstat(file.fileno())  # of what was opened, whatever the path leads to now
            if not stat.S_ISREG(found.st_mode):
                raise RecordSkipped("is not a regular file")
            if hasattr(os, "geteuid"):
                if found.st_uid not in (os.geteuid(), 0):
                    raise RecordSkipped("belongs to another user")
                if found.st_mode & 0o022:
                    raise RecordSkipped("can be written by other users")
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise RecordSkipped("cannot be read (%s)" % os_reason(error))
    except ValueError:  # a NUL, or half of a surrogate pair
        raise RecordSkipped("cannot be read (no path of this system)")
    if len(data) > max_bytes:
        raise RecordSkipped("is larger than %d bytes" % max_bytes)
    return data, found.st_mtime


def os_reason(error):
    """Without the file name that str() adds."""
    return error.strerror or type(error).__name__
