"""PNG files made and measured with nothing but the standard library."""

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Faster than zlib's default, and hardly larger for what a 3D view shows.
LEVEL = 4
# What Blender draws never packs that well: then all of it has one colour.
BLANK_RATIO = 150


def size(png):
    """(width, height) of a file that Blender wrote."""
    return struct.unpack(">II", png[16:24])


def encode(width, height, pixels):
    """Of RGBA bytes that begin with the lowest row, as graphics cards give them."""
    count = width * height
    colours = bytearray(3 * count)
    for channel in range(3):
        colours[channel::3] = pixels[channel::4]
    line = 3 * width
    rows = b"".join(
        b"\0" + colours[row * line : (row + 1) * line] for row in range(height - 1, -1, -1)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(rows, LEVEL)
    return SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def is_blank(png):
    """Is there nothing on it? For pictures of windows, not for tiny ones."""
    width, height = size(png)
    return 4 * width * height > BLANK_RATIO * len(png)


def fitting(width, height, max_width):
    """The size at which it is no wider, in its own proportions."""
    if width <= max_width:
        return width, height
    return max_width, max(1, round(height * max_width / width))


def smaller(width, byte_count, max_bytes):
    """The next width to try when the file was too large; always less than before."""
    share = (max_bytes / byte_count) ** 0.5
    return max(1, int(width * min(0.9, 0.95 * share)))


def _chunk(kind, data):
    checksum = struct.pack(">I", zlib.crc32(kind + data) & 0xFFFFFFFF)
    return struct.pack(">I", len(data)) + kind + data + checksum
