"""PNG files made and measured with nothing but the standard library."""

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Faster than zlib's default, and hardly larger for what a 3D view shows.
LEVEL = 4
# What does not pack that well has more than one colour.
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


def most_bytes(width, height):
    """No file of `encode` is larger: zlib adds 5 bytes to each 16 KiB that do not pack."""
    rows = height * (3 * width + 1)
    return rows + rows // 2048 + 200


def is_blank(png):
    """Is all of it of one colour? For files that Blender or `encode` wrote."""
    width, height = size(png)
    # A flat background packs as well, with something small before it: then the pixels decide.
    return 4 * width * height > BLANK_RATIO * len(png) and _is_of_one_colour(png, width, height)


def _is_of_one_colour(png, width, height):
    colours = {2: 3, 6: 4}.get(png[25])
    if png[24] != 8 or png[28] != 0 or colours is None:
        return False  # No form that is written here.
    data = zlib.decompress(b"".join(_pieces(png)))
    length = width * colours + 1
    rows = [data[at : at + length] for at in range(0, min(2, height) * length, length)]
    # What follows two rows of one colour in the same words as the second is the same again.
    if height > 2 and data[2 * length :] != rows[1] * (height - 2):
        return False
    before = bytes(length - 1)
    first = None
    for row in rows:
        before = _unfiltered(row, before, colours)
        first = first or before[:colours]
        if before != first * width:
            return False
    return True


def _pieces(png):
    at = len(SIGNATURE)
    while at + 12 <= len(png):
        (length,) = struct.unpack_from(">I", png, at)
        if png[at + 4 : at + 8] == b"IDAT":
            yield png[at + 8 : at + 8 + length]
        at += 12 + length


def _unfiltered(row, above, step):
    """The bytes of a row (PNG specification, section 9)."""
    kind, out = row[0], bytearray(row[1:])
    for at, value in enumerate(out):
        left = out[at - step] if at >= step else 0
        corner = above[at - step] if at >= step else 0
        up = above[at]
        guess = (0, left, up, (left + up) // 2, _paeth(left, up, corner))[kind]
        out[at] = (value + guess) & 255
    return bytes(out)


def _paeth(left, up, corner):
    base = left + up - corner
    return min((left, up, corner), key=lambda each: abs(base - each))


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
