"""Pictures of this Blender: its window as it was drawn last, its 3D view drawn anew.

Nothing of it is an undo step, a change of the file or a new datablock.
"""

import os
import shutil
import tempfile

import bpy

from . import png_file, shots
from .service_host_link import Busy, NoPicture, Picture
from .values import name_of

MAX_TRIES = 6
TITLE = "Blender"


def targets():
    """What this Blender can take pictures of."""
    if bpy.app.background:
        return ()
    import gpu

    # Before 3.0 there is no reading back what was drawn.
    readable = hasattr(getattr(gpu, "state", None), "active_framebuffer_get")
    return ("window", "viewport") if readable else ("window",)


def take(target, max_width, max_bytes, shot=None):
    """A Picture; raises NoPicture, Busy, or what Blender raises. Main thread, with a window."""
    _check_free()
    if shot is not None:
        return _take_shot(shot, max_width, max_bytes)
    take_one = _take_viewport if target == "viewport" else _take_window
    return take_one(max_width, max_bytes)


def _check_free():
    is_running = getattr(bpy.app, "is_job_running", None)  # from 3.3 on
    if is_running is not None:
        for job in ("RENDER", "RENDER_PREVIEW", "OBJECT_BAKE"):
            if is_running(job):
                raise Busy("Blender is at work: " + job.lower())


def _blank():
    return NoPicture("blank", "nothing was drawn")


# --- The window


def _take_window(max_width, max_bytes):
    window = _current_window()
    folder = tempfile.mkdtemp(prefix="service-cli-picture-")  # of this user alone
    try:
        path = os.path.join(folder, "window.png")
        _screenshot(window, path)
        png = _read(path)
        width, height = png_file.size(png)
        if width > max_width or len(png) > max_bytes:
            png = _scaled(path, min(width, max_width), max_bytes)
        if png_file.is_blank(png):
            raise _blank()
        return Picture(png, TITLE, width, height)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _current_window():
    """The one that was used last, as far as Blender tells; else the largest."""
    used = bpy.context.window
    if used is not None:
        return used
    windows = bpy.context.window_manager.windows
    if len(windows) == 0:
        raise NoPicture("no_window", "Blender has no window")
    return max(windows, key=lambda window: window.width * window.height)


def _screenshot(window, path):
    if hasattr(bpy.context, "temp_override"):
        with bpy.context.temp_override(window=window):
            bpy.ops.screen.screenshot(filepath=path, check_existing=False)
    else:  # before 3.2
        context = dict(bpy.context.copy(), window=window, screen=window.screen)
        bpy.ops.screen.screenshot(context, filepath=path, check_existing=False)


def _scaled(path, width, max_bytes):
    """By Blender's image buffers, which unlike its images belong to no file."""
    import imbuf

    whole = imbuf.load(path)
    try:
        for _ in range(MAX_TRIES):
            part = whole.copy()
            try:
                part.resize(png_file.fitting(*whole.size, width), method="BILINEAR")
                imbuf.write(part, filepath=path)
            finally:
                part.free()
            png = _read(path)
            if len(png) <= max_bytes:
                return png
            width = png_file.smaller(width, len(png), max_bytes)
    finally:
        whole.free()
    raise RuntimeError("the picture of the window does not become small enough")


def _read(path):
    with open(path, "rb") as file:
        return file.read()


# --- The 3D view


def _take_viewport(max_width, max_bytes):
    window, space, region = current_view()
    view = space.region_3d
    matrices = (view.view_matrix, view.window_matrix)

    def draw(size):
        pixels = _drawn(window, space, region, size, matrices)
        if pixels == pixels[:4] * (len(pixels) // 4):
            raise _blank()
        return pixels

    size = (region.width, region.height)
    png = _fitting(size, max_width, max_bytes, draw)
    return Picture(png, TITLE, *size, shots.on_screen(view, size))


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
    return Picture(png, TITLE, size[0], size[1], view)


def _fitting(whole, max_width, max_bytes, draw):
    """The file, or a function that makes it: the thread of the link calls that."""
    width = max_width
    for _ in range(MAX_TRIES):
        size = png_file.fitting(whole[0], whole[1], width)
        pixels = draw(size)
        if png_file.most_bytes(*size) <= max_bytes:
            return lambda: png_file.encode(*size, pixels)
        png = png_file.encode(*size, pixels)
        if len(png) <= max_bytes:
            return png
        width = png_file.smaller(size[0], len(png), max_bytes)
    raise RuntimeError("the picture of the 3D view does not become small enough")


def current_view():
    """The largest 3D view of the current window; of any other one when it has none."""
    current = _current_window()
    others = [each for each in bpy.context.window_manager.windows if each != current]
    for window in [current] + others:
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
