"""What a snapshot says about one object, in three levels of detail."""

SKELETON, STANDARD, FULL = "skeleton", "standard", "full"
LEVELS = (SKELETON, STANDARD, FULL)
MAX_SLOTS = 32

# The words that all applications share; `native_type` says what the application calls it.
_TYPES = {
    "MESH": "mesh",
    "CURVE": "curve",
    "CURVES": "curve",
    "SURFACE": "surface",
    "FONT": "text",
    "VOLUME": "volume",
    "EMPTY": "empty",
    "CAMERA": "camera",
    "LIGHT": "light",
    "ARMATURE": "armature",
    "LATTICE": "lattice",
    "POINTCLOUD": "points",
    "GPENCIL": "grease_pencil",
    "GREASEPENCIL": "grease_pencil",
    "SPEAKER": "speaker",
}


def common_type(native, instances_collection=False):
    if native == "EMPTY" and instances_collection:
        return "instance"
    return _TYPES.get(native, "other")


def object_facts(item, uid, detail, cleaner, collections=None):
    """All but `selected`. `collections` maps a name to the collections it is in (full only).

    Nothing here asks for `children` or `users_collection`: both cost as much as the whole scene.
    """
    name = item.name_full
    native = item.type
    parent = item.parent
    facts = {
        "id": name,
        "uid": uid,
        "name": item.name,
        "type": common_type(native, item.instance_type == "COLLECTION"),
        "parent": parent.name_full if parent is not None else None,
        "visible": item.visible_get(),
    }
    if facts["type"] == "other":
        facts["native_type"] = native.lower()
    if detail == SKELETON:
        return facts
    _add_transform(facts, item, cleaner)
    if parent is not None:
        # Parents move their children: where it really is cannot be told from `translate`.
        _put(facts, "world_translate", cleaner.numbers(item.matrix_world.translation))
    if detail == FULL:
        _add_full(facts, item, cleaner, collections or {})
    return facts


def _add_transform(facts, item, cleaner):
    _put(facts, "translate", cleaner.numbers(item.location))
    order = item.rotation_mode
    facts["rotate_order"] = order.lower()
    if order == "QUATERNION":
        _put(facts, "quaternion", cleaner.numbers(item.rotation_quaternion))
    elif order == "AXIS_ANGLE":
        angle, x, y, z = item.rotation_axis_angle
        _put(facts, "axis", cleaner.numbers((x, y, z)))
        _put(facts, "angle", _only(cleaner.degrees((angle,))))
    else:
        _put(facts, "rotate", cleaner.degrees(item.rotation_euler))
    _put(facts, "scale", cleaner.numbers(item.scale))


def _add_full(facts, item, cleaner, collections):
    matrix = item.matrix_world
    _put(facts, "matrix_world", cleaner.numbers([value for row in matrix for value in row]))
    _put(facts, "bbox", _bounds(item, matrix, cleaner))
    materials = [slot.material.name_full for slot in item.material_slots[:MAX_SLOTS] if slot.material]
    if materials:
        facts["materials"] = materials
    if facts["id"] in collections:
        facts["collections"] = collections[facts["id"]][:MAX_SLOTS]
    geometry = geometry_of(item)
    if geometry:
        facts["geometry"] = geometry
    modifiers = [{"name": each.name, "type": each.type.lower()} for each in item.modifiers[:MAX_SLOTS]]
    if modifiers:
        facts["modifiers"] = modifiers
    facts["animated"] = is_animated(item)


def geometry_of(item):
    """Counts of the data itself, before modifiers."""
    data = item.data
    if item.type == "MESH" and data is not None:
        return {
            "vertices": len(data.vertices),
            "edges": len(data.edges),
            "polygons": len(data.polygons),
        }
    if item.type in ("CURVE", "SURFACE") and data is not None:
        return {"splines": len(data.splines)}
    if item.type == "ARMATURE" and data is not None:
        return {"bones": len(data.bones)}
    return None


def is_animated(item):
    animation = item.animation_data
    return animation is not None and (animation.action is not None or len(animation.drivers) > 0)


def _bounds(item, matrix, cleaner):
    """The corners of the box in the world, not of the shape: an upper bound when it is turned."""
    if item.data is None or item.type in ("CAMERA", "LIGHT", "SPEAKER"):
        return None
    rows = [tuple(row) for row in matrix][:3]
    corners = [tuple(corner) for corner in item.bound_box]
    low, high = [], []
    for a, b, c, d in rows:
        values = [a * x + b * y + c * z + d for x, y, z in corners]
        low.append(min(values))
        high.append(max(values))
    low, high = cleaner.numbers(low), cleaner.numbers(high)
    return {"min": low, "max": high} if low and high else None


def _only(values):
    return values[0] if values else None


def _put(facts, name, value):
    if value is not None:
        facts[name] = value
