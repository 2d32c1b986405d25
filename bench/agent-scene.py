"""A scene for agent-budget.ts, in Blender: nested collections, lights, hidden and selected objects.

The number of objects is in OBJECTS, which includes the default cube, light and camera.
"""

import os

import bpy

scene = bpy.context.scene
scene.render.resolution_percentage = 10
mesh = bpy.data.meshes["Cube"]
lamp = bpy.data.lights["Light"]
bpy.context.view_layer.objects.active = None
for each in scene.objects:
    each.select_set(False)

folder = scene.collection
for at in range(1, int(os.environ["OBJECTS"]) - 2):
    if at % 100 == 1:
        folder = bpy.data.collections.new("Set %d" % at)
        scene.collection.children.link(folder)
    name = "Prop.%05d" % at
    prop = bpy.data.objects.new(name, lamp if at % 20 == 0 else mesh)
    prop.location = (at, at % 50, 0)
    folder.objects.link(prop)
    if at % 7 == 0:
        prop.hide_viewport = True
    if at in (2, 5):
        prop.select_set(True)
