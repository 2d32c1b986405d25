"""Where a picture of the scene is taken from: a camera, objects to look at, or a view of before.

A view is a dict for the server to keep: {"view_matrix", "projection_matrix": 16 numbers each, row
by row, "width", "height": pixels of the 3D view}.
"""

import math

import bpy
from mathutils import Matrix, Vector

from .service_host_link import NoPicture
from .values import name_of

_UP = Vector((0, 0, 1))
# To the eye.
_SIDES = {
    "front": Vector((0, -1, 0)),
    "right": Vector((1, 0, 0)),
    "top": Vector((0, 0, 1)),
    "three-quarter": Vector((1, -1, 0.8)).normalized(),
}
# Of the picture's height.
_ANGLE = math.radians(40)
_MARGIN = 1.1
# Drawn as an icon around their origin, of this radius.
_ICONS = ("LIGHT", "CAMERA", "EMPTY", "SPEAKER", "LIGHT_PROBE")
_ICON_PIXELS = 16


def view_of(shot, window, size):
    """The view of a shot as the server sends it; raises NoPicture for what is not there."""
    if isinstance(shot.get("view"), dict):
        return _checked(shot["view"])
    if "camera" in shot:
        return _checked(_through(_object(window, shot["camera"]), window, size))
    objects = [_object(window, each) for each in shot.get("of") or []]
    if not objects:
        raise NoPicture("not_found", "no object is named")
    return _checked(_framing(objects, shot.get("from"), size))


def on_screen(region_3d, size):
    """The view that a person sees."""
    return _view(region_3d.view_matrix, region_3d.window_matrix, size)


def matrices(view):
    return tuple(
        Matrix([view[name][row : row + 4] for row in (0, 4, 8, 12)])
        for name in ("view_matrix", "projection_matrix")
    )


def under(view, pin, has_icons):
    """(object, place) of what a picture shows there; (None, None): nothing. `pin`: shares of its
    width and height, from the top left. `has_icons`: lamps, cameras and empties are drawn, too."""
    view_matrix, projection = matrices(view)
    whole = projection @ view_matrix
    x, y = 2 * pin[0] - 1, 1 - 2 * pin[1]
    ends = [whole.inverted_safe() @ Vector((x, y, z, 1)) for z in (-1, 1)]
    near, far = [end.xyz / end.w for end in ends]
    context = bpy.context
    hit, place, _, _, item, _ = context.scene.ray_cast(
        context.evaluated_depsgraph_get(), near, (far - near).normalized(), distance=(far - near).length)
    found, depth = ((item.original, place), _shown(whole, place)[2]) if hit else ((None, None), 1)
    nearest = _ICON_PIXELS
    for each in context.view_layer.objects if has_icons else ():
        if each.type not in _ICONS or not each.visible_get():
            continue
        place = each.matrix_world.translation
        left, up, far_off = _shown(whole, place)
        pixels = math.hypot((left - x) * view["width"] / 2, (up - y) * view["height"] / 2)
        if pixels < nearest and -1 < far_off < depth:
            found, nearest = (each, place), pixels
    return found


def _shown(whole, place):
    """Where a point is in a picture: -1 to 1 from left to right, from below, from near to far."""
    shown = whole @ place.to_4d()
    return shown.xyz / shown.w if shown.w > 0 else Vector((0, 0, 2))


def _view(view_matrix, projection_matrix, size):
    return {
        "view_matrix": [value for row in view_matrix for value in row],
        "projection_matrix": [value for row in projection_matrix for value in row],
        "width": int(size[0]),
        "height": int(size[1]),
    }


def _checked(view):
    """It went through other hands, or the scene has places that are not finite."""
    for name in ("view_matrix", "projection_matrix"):
        matrix = view.get(name)
        if not isinstance(matrix, list) or len(matrix) != 16 or not all(
                isinstance(value, (int, float)) and math.isfinite(value) for value in matrix):
            raise NoPicture("not_found", "%s must be 16 finite numbers" % name)
    for name in ("width", "height"):
        if not isinstance(view.get(name), int) or not 1 < view[name] <= 16384:
            raise NoPicture("not_found", "%s must be 2 to 16384 pixels" % name)
    return {name: view[name] for name in ("view_matrix", "projection_matrix", "width", "height")}


def _object(window, name):
    """By the id of the snapshot, which tells objects of libraries apart."""
    for each in window.scene.objects:
        if name_of(each) == name:
            return each
    raise NoPicture("not_found", "the scene has no object " + str(name)[:100])


def _through(camera, window, size):
    if camera.type != "CAMERA":
        raise NoPicture("not_found", camera.name + " is no camera")
    depsgraph = bpy.context.evaluated_depsgraph_get()
    render = window.scene.render
    shape = (render.resolution_x * render.pixel_aspect_x, render.resolution_y * render.pixel_aspect_y)
    width = size[0]
    height = max(2, min(16384, round(width * shape[1] / max(shape[0], 1))))
    projection = camera.calc_matrix_camera(depsgraph, x=width, y=height)
    # Without scale, which a camera may have and a lens has not.
    place, turn, _ = camera.matrix_world.decompose()
    matrix = Matrix.Translation(place) @ turn.to_matrix().to_4x4()
    return _view(matrix.inverted(), projection, (width, height))


def _framing(objects, side, size):
    corners = [each.matrix_world @ Vector(corner) for each in objects for corner in each.bound_box]
    low = Vector([min(corner[axis] for corner in corners) for axis in range(3)])
    high = Vector([max(corner[axis] for corner in corners) for axis in range(3)])
    middle = (low + high) / 2
    z = _SIDES.get(side, _SIDES["three-quarter"])
    up = Vector((0, 1, 0)) if side == "top" else _UP
    x = up.cross(z).normalized()
    y = z.cross(x)
    aspect = size[0] / size[1]
    tall = math.tan(_ANGLE / 2)
    wide = tall * aspect
    reach = max((high - low).length / 2, 0.01)
    distance = max(reach, max(
        q.dot(z) + _MARGIN * max(abs(q.dot(x)) / wide, abs(q.dot(y)) / tall)
        for q in (corner - middle for corner in corners)
    ))
    eye = middle + z * distance
    # What stands before the objects is cut away.
    near = max(distance - reach * 1.01, distance / 1000)
    place = Matrix((
        (x[0], y[0], z[0], eye[0]),
        (x[1], y[1], z[1], eye[1]),
        (x[2], y[2], z[2], eye[2]),
        (0, 0, 0, 1),
    ))
    return _view(place.inverted(), _lens(wide, tall, near, distance + reach * 1000), size)


def _lens(wide, tall, near, far):
    """The projection matrix of OpenGL."""
    return Matrix((
        (1 / wide, 0, 0, 0),
        (0, 1 / tall, 0, 0),
        (0, 0, (far + near) / (near - far), 2 * far * near / (near - far)),
        (0, 0, -1, 0),
    ))
