"""What is said of one object: in the scene, in two levels of detail, and when a client reads
blender-object://<name>, percent-encoded UTF-8."""

import json

import bpy

from .values import Cleaner, attributes, name_of, names_of, short_text, without_nothing

MIME = "application/json"
SCHEME = "blender-object"
DESCRIPTION = ("An object of the open document: transform, geometry, materials, modifiers, constraints, "
               "custom properties. The name is percent-encoded.")

STANDARD, FULL = "standard", "full"
MAX_SLOTS = 32
MAX_PARTS = 64

# The words that all applications share; `native_type` says what the application calls it.
_TYPES = {each.upper(): each for each in (
    "mesh", "curve", "surface", "volume", "empty", "camera", "light", "armature", "lattice", "speaker")}
_TYPES.update(CURVES="curve", FONT="text", POINTCLOUD="points", GPENCIL="grease_pencil",
              GREASEPENCIL="grease_pencil")


_LIGHT = ("energy", "color", "shadow_soft_size", "angle", "spot_size", "spot_blend", "shape", "size",
          "size_y", "use_shadow")
_CAMERA = ("lens", "ortho_scale", "sensor_width", "shift_x", "shift_y", "clip_start", "clip_end")


# --- In the scene


def object_facts(item, name, uid, detail, cleaner, collections=None):
    """All but `selected`. `name` is its full name; `collections` maps a name to the collections it
    is in (full only).

    Nothing here asks for `children` or `users_collection`: both cost as much as the whole scene.
    """
    native = item.type
    parent = item.parent
    facts = {
        "id": name,
        "uid": uid,
        "name": name if item.library is None else name_of(item, "name"),
        "type": "instance" if native == "EMPTY" and item.instance_type == "COLLECTION"
        else _TYPES.get(native, "other"),
        "parent": name_of(parent) if parent is not None else None,
        "visible": item.visible_get(),
    }
    if facts["type"] == "other":
        facts["native_type"] = native.lower()
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
        angles = cleaner.degrees((angle,))
        _put(facts, "angle", angles and angles[0])
    else:
        _put(facts, "rotate", cleaner.degrees(item.rotation_euler))
    _put(facts, "scale", cleaner.numbers(item.scale))


def _add_full(facts, item, cleaner, collections):
    matrix = item.matrix_world
    _put(facts, "matrix_world", cleaner.numbers([value for row in matrix for value in row]))
    _put(facts, "bbox", _bounds(item, matrix, cleaner))
    materials = names_of([slot.material for slot in item.material_slots[:MAX_SLOTS] if slot.material])
    _put(facts, "materials", materials or None)
    _put(facts, "collections", collections.get(facts["id"], [])[:MAX_SLOTS] or None)
    _put(facts, "geometry", _geometry(item))
    _put(facts, "modifiers", [{"name": name_of(each, "name"), "type": each.type.lower()}
                              for each in item.modifiers[:MAX_SLOTS]] or None)
    animation = item.animation_data
    facts["animated"] = animation is not None and (
        animation.action is not None or len(animation.drivers) > 0)


def _geometry(item):
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


def _put(facts, name, value):
    if value is not None:
        facts[name] = value


# --- When a client reads it


def read(name, identities):
    """The JSON text of one object; None when there is no such object."""
    item = _find(name) if name else None
    if item is None:
        return None
    facts = _detail(item, name, identities.uid(item, name))
    return json.dumps(facts, allow_nan=False, ensure_ascii=False)


def _find(name):
    item = bpy.data.objects.get(name)
    if item is not None and item.name_full == name:
        return item
    # A linked one is called "Cube [library.blend]".
    return next((each for each in bpy.data.objects if name_of(each) == name), None)


def _detail(item, name, uid):
    cleaner = Cleaner()
    layer = bpy.context.view_layer
    # One object may ask for its own collections; for thousands this would be slow.
    facts = object_facts(item, name, uid, FULL, cleaner, {name: names_of(item.users_collection)})
    if item.select_get():
        facts["selected"] = True
    slots = [slot.material for slot in item.material_slots[:MAX_SLOTS] if slot.material]
    facts.update(
        schema="dcc-object/1",
        active=layer.objects.active == item,
        data=_data(item, cleaner),
        materials=[_material(each, cleaner) for each in slots],
        modifiers=[_modifier(each, cleaner) for each in item.modifiers[:MAX_PARTS]],
        constraints=[_constraint(each, cleaner) for each in item.constraints[:MAX_PARTS]],
        shape_keys=_shape_keys(item, cleaner),
        dimensions=cleaner.numbers(item.dimensions),
        renders=not item.hide_render,
        selectable=not item.hide_select,
        custom_properties=_custom_properties(item, cleaner),
        library=short_text(item.library.filepath, 4096) if item.library else None,
    )
    if cleaner.dropped:
        facts["warnings"] = [{"code": "number_not_finite", "count": cleaner.dropped}]
    return dict(without_nothing(facts), parent=facts["parent"])


def _data(item, cleaner):
    data = item.data
    if data is None:
        return None
    facts = {"name": name_of(data), "users": data.users}
    if item.type == "MESH":
        facts["uv_layers"] = [name_of(each, "name") for each in data.uv_layers]
        facts["vertex_groups"] = [name_of(each, "name") for each in item.vertex_groups[:MAX_PARTS]]
    elif item.type == "CAMERA":
        facts["projection"] = data.type.lower()
        facts.update(attributes(data, _CAMERA, cleaner))
    elif item.type == "LIGHT":
        facts["light"] = data.type.lower()
        facts.update(attributes(data, _LIGHT, cleaner))
    elif item.type == "ARMATURE":
        facts["bones"] = [name_of(bone, "name") for bone in data.bones[:200]]
    return facts


def _material(material, cleaner):
    """Its colour in solid shading, and the values of its shaders; of a linked one the node it is from."""
    facts = {"name": name_of(material), "viewport_color": cleaner.value(material.diffuse_color)}
    for node in material.node_tree.nodes if material.use_nodes and material.node_tree else ():
        if any(each.type == "SHADER" for each in node.outputs):
            facts[name_of(node, "name")] = {
                name_of(each, "name"): cleaner.value(each.default_value) if not each.is_linked
                else name_of(each.links[0].from_node, "name")
                for each in node.inputs if hasattr(each, "default_value")}
    return facts


def _modifier(modifier, cleaner):
    names = [each.identifier for each in modifier.bl_rna.properties
             if each.type not in ("POINTER", "COLLECTION")
             and not each.identifier.startswith(("show_", "is_", "name", "type"))
             and not each.identifier.endswith("_pct")]  # the same as the one without it
    return dict(
        attributes(modifier, names, cleaner),
        name=name_of(modifier, "name"),
        type=modifier.type.lower(),
        viewport=modifier.show_viewport,
        render=modifier.show_render,
    )


def _constraint(constraint, cleaner):
    target = getattr(constraint, "target", None)
    return without_nothing({
        "name": name_of(constraint, "name"),
        "type": constraint.type.lower(),
        "enabled": not constraint.mute,
        "influence": cleaner.number(constraint.influence),
        "target": name_of(target) if target is not None else None,
    })


def _shape_keys(item, cleaner):
    keys = getattr(item.data, "shape_keys", None)
    return keys and [{"name": name_of(each, "name"), "value": cleaner.number(each.value)}
                     for each in keys.key_blocks[:MAX_PARTS]]


def _custom_properties(item, cleaner):
    try:
        # Blender's own add-ons keep theirs in here too, under names that begin with an underscore.
        return cleaner.members({name: item[name] for name in item.keys() if not name.startswith("_")})
    except UnicodeDecodeError:
        return None  # Blender lists all names of them or none
