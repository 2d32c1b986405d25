"""Pictures of this Blender: its window as it was drawn last, its 3D view drawn anew.

Nothing of it is an undo step, a change of the file or a new datablock.
"""

import os
import shutil
import struct
import tempfile
import zlib

import bpy

from . import shots
from .service_host_link import Busy, NoPicture, Picture
from .values import name_of

MAX_TRIES = 6
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Faster than zlib's default, and hardly larger for what a 3D view shows.
PNG_LEVEL = 4


def take(target, max_width, max_bytes, shot=None):
    """A Picture; raises NoPicture, Busy, or what Blender raises. Main thread, with a window."""
    _check_free()
    if shot is not None:
        return _take_shot(shot, max_width, max_bytes)
    take_one = _take_viewport if target == "viewport" else _take_window
    return take_one(max_width, max_bytes)


def _check_free():
    for job in ("RENDER", "RENDER_PREVIEW", "OBJECT_BAKE"):
        if bpy.app.is_job_running(job):
            raise Busy("Blender is at work: " + job.lower())


# --- The window


def _take_window(max_width, max_bytes):
    window = _main_window()
    folder = tempfile.mkdtemp(prefix="service-cli-picture-")  # of this user alone
    try:
        path = os.path.join(folder, "window.png")
        _screenshot(window, path)
        png = _read(path)
        width, height = png_size(png)
        if width > max_width or len(png) > max_bytes:
            png = _scaled(path, min(width, max_width), max_bytes)
        return Picture(png)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _main_window():
    """The largest: Blender tells no timer which one is used. Never a temporary one, such as the
    preferences."""
    windows = [each for each in bpy.context.window_manager.windows if not each.screen.is_temporary]
    if not windows:
        raise NoPicture("no_window", "Blender has no window")
    return max(windows, key=lambda window: window.width * window.height)


def _screenshot(window, path):
    with bpy.context.temp_override(window=window):
        bpy.ops.screen.screenshot(filepath=path, check_existing=False)


def _scaled(path, width, max_bytes):
    """By Blender's image buffers, which unlike its images belong to no file."""
    import imbuf

    whole = imbuf.load(path)

    def resized(width):
        part = whole.copy()
        try:
            part.resize(fitting(*whole.size, width), method="BILINEAR")
            imbuf.write(part, filepath=path)
        finally:
            part.free()
        return _read(path)

    try:
        return _small_enough(resized, width, max_bytes)
    finally:
        whole.free()


def _read(path):
    with open(path, "rb") as file:
        return file.read()


# --- The 3D view


def _take_viewport(max_width, max_bytes):
    window, space, region = current_view()
    view = space.region_3d
    matrices = (view.view_matrix, view.window_matrix)
    size = (region.width, region.height)
    png = _fitting(size, max_width, max_bytes,
                   lambda size: _drawn(window, space, region, size, matrices))
    return Picture(png, shots.on_screen(view, size))


def _take_shot(shot, max_width, max_bytes):
    """The scene alone, without grid, gizmos and selection: the same scene, the same pixels."""
    window, space, region = current_view()
    # Drawing does not evaluate what a script has just changed.
    window.view_layer.update()
    view = shots.view_of(shot, window, (region.width, region.height))
    size = (view["width"], view["height"])
    overlay = space.overlay
    shown = overlay.show_overlays
    pin = shot.get("view", {}).get("pin")
    item, _ = shots.under(view, pin, shown) if pin else (None, None)
    overlay.show_overlays = False
    try:
        png = _fitting(size, max_width, max_bytes,
                       lambda size: _drawn(window, space, region, size, shots.matrices(view)))
    finally:
        overlay.show_overlays = shown
    if item is not None:
        view["under"] = {"id": name_of(item), "name": name_of(item, "name")}
    return Picture(png, view)


def _fitting(whole, max_width, max_bytes, draw):
    """The file, or a function that makes it: the thread of the link calls that."""
    size = fitting(*whole, max_width)
    if most_bytes(*size) <= max_bytes:
        pixels = draw(size)
        return lambda: encode(*size, pixels)

    def drawn(width):
        size = fitting(*whole, width)
        return encode(*size, draw(size))

    return _small_enough(drawn, size[0], max_bytes)


def current_view():
    """The largest 3D view of the main window; of any other one when it has none."""
    main = _main_window()
    for window in [main] + [each for each in bpy.context.window_manager.windows if each != main]:
        areas = [area for area in window.screen.areas if area.type == "VIEW_3D"]
        if not areas:
            continue
        area = max(areas, key=lambda each: each.width * each.height)
        region = next(each for each in area.regions if each.type == "WINDOW")
        if region.width > 1 and region.height > 1:
            return window, area.spaces.active, region
    raise NoPicture("no_window", "there is no 3D view on the screen")


def _drawn(window, space, region, size, matrices):
    """Drawn beside the screen: nothing of the screen changes, and nothing covers it."""
    import gpu

    width, height = size
    buffer = gpu.types.GPUOffScreen(width, height)
    try:
        buffer.draw_view3d(
            window.scene,
            window.view_layer,
            space,
            region,
            matrices[0],
            matrices[1],
            do_color_management=True,
        )
        with buffer.bind():
            frame = gpu.state.active_framebuffer_get()
            pixels = frame.read_color(0, 0, width, height, 4, 0, "UBYTE")
    finally:
        buffer.free()
    pixels.dimensions = 4 * width * height
    return bytes(pixels)


# --- PNG files


def png_size(png):
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
    packed = zlib.compress(rows, PNG_LEVEL)
    return PNG_SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def most_bytes(width, height):
    """No file of `encode` is larger: zlib adds 5 bytes to each 16 KiB that do not pack."""
    rows = height * (3 * width + 1)
    return rows + rows // 2048 + 200


def fitting(width, height, max_width):
    """The size at which it is no wider, in its own proportions."""
    if width <= max_width:
        return width, height
    return max_width, max(1, round(height * max_width / width))


def _small_enough(make, width, max_bytes):
    """The first file of `make(width)` that has at most so many bytes, each narrower than the last."""
    for _ in range(MAX_TRIES):
        png = make(width)
        if len(png) <= max_bytes:
            return png
        width = max(1, int(width * min(0.9, 0.95 * (max_bytes / len(png)) ** 0.5)))
    raise RuntimeError("the picture does not become small enough")


def _chunk(kind, data):
    checksum = struct.pack(">I", zlib.crc32(kind + data) & 0xFFFFFFFF)
    return struct.pack(">I", len(data)) + kind + data + checksum
