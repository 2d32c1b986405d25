"""The number of each open note in the 3D view, at the place that it is about. Never in renders."""

import math

import bpy

from . import notes, preferences

MAX_PINS = 100  # of the newest notes: each takes a tenth of a millisecond of every drawing
RADIUS = 11
STEPS = 24
_COLOURS = {
    "open": (0.9, 0.5, 0.1, 1.0),
    "reopened": (0.85, 0.2, 0.15, 1.0),
    "answered": (0.2, 0.6, 0.25, 1.0),
}
_WHITE = (1.0, 1.0, 1.0, 1.0)
_handle = None
_shader = None
_circle = None  # of radius 1


def pins(shown):
    """(number, place, colour) of the notes that have a place and wait for somebody."""
    found = []
    for note in shown:
        place = note.get("position")
        colour = _COLOURS.get(note.get("state"))
        if colour is not None and isinstance(place, list) and len(place) == 3:
            found.append((str(note.get("number")), place, colour))
    return found[-MAX_PINS:]


def register():
    global _handle
    if not bpy.app.background:
        _handle = bpy.types.SpaceView3D.draw_handler_add(_draw, (), "WINDOW", "POST_PIXEL")


def unregister():
    global _handle, _shader, _circle
    if _handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_handle, "WINDOW")
    _handle = _shader = _circle = None


def _draw():
    chosen = preferences.current()
    if chosen is None or not chosen.show_pins or not bpy.context.space_data.overlay.show_overlays:
        return
    placed = pins(notes.all_shown()[0])
    if not placed:
        return
    from bpy_extras.view3d_utils import location_3d_to_region_2d

    context = bpy.context
    scale = context.preferences.system.ui_scale
    for number, place, colour in placed:
        at = location_3d_to_region_2d(context.region, context.region_data, place)
        if at is not None:
            _disc(at, (RADIUS + 2) * scale, _WHITE)
            _disc(at, RADIUS * scale, colour)
            _write(number, at, scale)


def _disc(at, radius, colour):
    import gpu

    shader, circle = _flat(), _unit_circle()
    with gpu.matrix.push_pop():
        gpu.matrix.translate(at)
        gpu.matrix.scale_uniform(radius)
        shader.bind()
        shader.uniform_float("color", colour)
        circle.draw(shader)


def _unit_circle():
    """Made once: that takes longer than drawing it."""
    global _circle
    if _circle is None:
        from gpu_extras.batch import batch_for_shader

        angles = [2 * math.pi * step / STEPS for step in range(STEPS + 1)]
        points = [(0.0, 0.0)] + [(math.cos(angle), math.sin(angle)) for angle in angles]
        _circle = batch_for_shader(_flat(), "TRI_FAN", {"pos": points})
    return _circle


def _flat():
    global _shader
    if _shader is None:
        import gpu

        _shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    return _shader


def _write(number, at, scale):
    import blf

    blf.size(0, 12 * scale)
    width, height = blf.dimensions(0, number)
    blf.color(0, *_WHITE)
    blf.position(0, at[0] - width / 2, at[1] - height / 2, 0)
    blf.draw(0, number)
