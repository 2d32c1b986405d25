"""blender-object://<name>, percent-encoded UTF-8: all about one object, read when a client asks for it."""

import json
from urllib.parse import quote, unquote_to_bytes

import bpy

from . import finite, object_facts

MIME = "application/json"
SCHEME = "blender-object"
PREFIX = SCHEME + "://"
_LIGHT = ("energy", "color", "shadow_soft_size", "angle", "spot_size", "spot_blend", "shape", "size",
          "size_y", "use_shadow")
_CAMERA = ("lens", "ortho_scale", "sensor_width", "shift_x", "shift_y", "clip_start", "clip_end")
TEMPLATES = [
    {
        "uriTemplate": PREFIX + "{name}",
        "name": "One object",
        "description": "An object of the open document: transform, geometry, materials, modifiers, "
        "constraints, custom properties. The name is percent-encoded.",
        "mimeType": MIME,
    }
]


def descriptors(names):
    return [
        {"uri": object_uri(name), "name": name, "mimeType": MIME}
        for name in names
    ]


def read(uri, identities):
    """The JSON text of one object; None when there is no such object."""
    name = object_name(uri)
    item = find(name) if name else None
    if item is None:
        return None
    facts = detail(item, identities.uid(item, item.name_full))
    return json.dumps(facts, allow_nan=False, ensure_ascii=False)


def object_uri(name):
    return PREFIX + quote(name, safe="")


def object_name(uri):
    """The name in an address; None for an address of another form."""
    if uri[: len(PREFIX)].lower() != PREFIX:
        return None
    rest = uri[len(PREFIX) :].split("#", 1)[0].split("?", 1)[0]
    try:
        name = unquote_to_bytes(rest).decode("utf-8")
    except UnicodeDecodeError:
        return None
    return name or None


def find(name):
    item = bpy.data.objects.get(name)
    if item is not None and item.name_full == name:
        return item
    # A linked one is called "Cube [library.blend]".
    return next((each for each in bpy.data.objects if each.name_full == name), None)


def detail(item, uid):
    cleaner = finite.Cleaner()
    layer = bpy.context.view_layer
    name = item.name_full
    # One object may ask for its own collections; for thousands this would be slow.
    mine = {name: [each.name_full for each in item.users_collection]}
    facts = object_facts.object_facts(item, uid, object_facts.FULL, cleaner, mine)
    if item.name in layer.objects and item.select_get():
        facts["selected"] = True
    facts["schema"] = "dcc-object/1"
    facts["active"] = layer.objects.active == item
    facts["data"] = _data(item, cleaner)
    slots = [slot.material for slot in item.material_slots[: object_facts.MAX_SLOTS]]
    facts["materials"] = [_material(each, cleaner) for each in slots if each is not None]
    facts["modifiers"] = [_modifier(each, cleaner) for each in item.modifiers[:64]]
    facts["constraints"] = [_constraint(each, cleaner) for each in item.constraints[:64]]
    facts["shape_keys"] = _shape_keys(item, cleaner)
    facts["dimensions"] = cleaner.numbers(item.dimensions)
    facts["renders"], facts["selectable"] = not item.hide_render, not item.hide_select
    facts["custom_properties"] = _custom_properties(item, cleaner)
    facts["library"] = item.library.filepath if item.library else None
    if cleaner.dropped:
        facts["warnings"] = [{"code": "number_not_finite", "count": cleaner.dropped}]
    return dict(finite.without_nothing(facts), parent=facts["parent"])


def _data(item, cleaner):
    data = item.data
    if data is None:
        return None
    facts = {"name": data.name_full, "users": data.users}
    if item.type == "MESH":
        facts["uv_layers"] = [each.name for each in data.uv_layers]
        facts["vertex_groups"] = [each.name for each in item.vertex_groups[:64]]
    elif item.type == "CAMERA":
        facts["projection"] = data.type.lower()
        facts.update(_settings(data, cleaner, _CAMERA))
    elif item.type == "LIGHT":
        facts["light"] = data.type.lower()
        facts.update(_settings(data, cleaner, _LIGHT))
    elif item.type == "ARMATURE":
        facts["bones"] = [bone.name for bone in data.bones[:200]]
    return facts


def _material(material, cleaner):
    """Its colour in solid shading, and the values of its shaders; of a linked one the node it is from."""
    facts = {"name": material.name_full, "viewport_color": cleaner.value(material.diffuse_color)}
    for node in material.node_tree.nodes if material.use_nodes else ():
        if any(each.type == "SHADER" for each in node.outputs):
            facts[node.name] = {
                each.name: cleaner.value(each.default_value) if not each.is_linked
                else each.links[0].from_node.name
                for each in node.inputs if hasattr(each, "default_value")}
    return facts


def _modifier(modifier, cleaner):
    known = {
        "name": modifier.name,
        "type": modifier.type.lower(),
        "viewport": modifier.show_viewport,
        "render": modifier.show_render,
    }
    names = [each.identifier for each in modifier.bl_rna.properties
             if each.type not in ("POINTER", "COLLECTION")
             and not each.identifier.startswith(("show_", "is_", "name", "type"))
             and not each.identifier.endswith("_pct")]  # the same as the one without it
    return dict(_settings(modifier, cleaner, names), **known)


def _settings(thing, cleaner, names):
    """Those of these settings that it has: of lights, each kind has others."""
    return {name: cleaner.value(getattr(thing, name)) for name in names if hasattr(thing, name)}


def _constraint(constraint, cleaner):
    target = getattr(constraint, "target", None)
    return finite.without_nothing(
        {
            "name": constraint.name,
            "type": constraint.type.lower(),
            "enabled": not constraint.mute,
            "influence": cleaner.number(constraint.influence),
            "target": target.name_full if target is not None else None,
        }
    )


def _shape_keys(item, cleaner):
    keys = getattr(item.data, "shape_keys", None)
    if keys is None:
        return None
    return [
        {"name": each.name, "value": cleaner.number(each.value)} for each in keys.key_blocks[:64]
    ]


def _custom_properties(item, cleaner):
    # Blender's own add-ons keep theirs in here too, under names that begin with an underscore.
    own = {name: item[name] for name in item.keys() if not name.startswith("_")}
    return cleaner.value(own)
