"""A snapshot says what is in Blender."""

import json
import math
import os
import re
import sys
import unittest

import bpy
from mathutils import Matrix

sys.path.insert(0, os.path.dirname(__file__))
import harness

harness.enable()
from service_cli_link.identity import Identities

IDENTITIES = Identities()


def collect(detail="full", **limits):
    bpy.context.view_layer.update()
    scene = harness.collect(detail, limits, identities=IDENTITIES)
    # Servers keep the digits of numbers: 1.0 and 1 are two texts.
    assert not re.search(r"\d\.0[],} ]", json.dumps(scene, allow_nan=False)), scene
    return scene


def by_name(scene):
    return {each["name"]: each for each in scene["objects"]}


class Objects(unittest.TestCase):
    def setUp(self):
        harness.empty_scene()

    def test_have_their_parents_and_the_matrix_of_blender(self):
        rig = harness.add("Rig")
        rig.location = (1, 2, 3)
        rig.rotation_euler = (0, 0, math.radians(90))
        child = harness.add("Child", bpy.data.meshes.new("M"), rig)
        child.location = (2, 0, 0)
        facts = by_name(collect())
        self.assertIsNone(facts["Rig"]["parent"])
        self.assertEqual(facts["Child"]["parent"], "Rig")
        self.assertEqual(facts["Rig"]["rotate"], [0, 0, 90])
        self.assertEqual(facts["Child"]["translate"], [2, 0, 0])
        self.assertEqual(facts["Child"]["world_translate"], [1, 4, 3])
        said = facts["Child"]["matrix_world"]
        rows = Matrix([said[i : i + 4] for i in range(0, 16, 4)])
        for told, real in zip(rows, child.matrix_world):
            for a, b in zip(told, real):
                self.assertAlmostEqual(a, b, places=5)

    def test_have_their_collections_also_when_linked_twice(self):
        inner = bpy.data.collections.new("Inner")
        other = bpy.data.collections.new("Other")
        root = bpy.context.scene.collection
        root.children.link(inner)
        inner.children.link(other)
        root.children.link(other)
        item = bpy.data.objects.new("Both", None)
        inner.objects.link(item)
        other.objects.link(item)
        scene = collect()
        self.assertEqual(sorted(by_name(scene)["Both"]["collections"]), ["Inner", "Other"])
        listed = [(each["name"], each["parent"]) for each in scene["collections"]]
        self.assertIn(("Other", "Inner"), listed)
        self.assertIn(("Other", "Scene Collection"), listed)

    def test_that_share_a_mesh_are_counted_once_each(self):
        mesh = bpy.data.meshes.new("Shared")
        mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 2, 0)], [], [(0, 1, 2)])
        for index in range(3):
            harness.add("Copy%d" % index, mesh)
        scene = collect()
        self.assertEqual(scene["counts"]["objects"], 3)
        self.assertEqual(scene["counts"]["meshes"], 1)
        self.assertEqual(by_name(scene)["Copy2"]["geometry"]["vertices"], 3)
        self.assertEqual(by_name(scene)["Copy2"]["bbox"], {"min": [0, 0, 0], "max": [1, 2, 0]})

    def test_that_are_hidden_say_so(self):
        hidden = harness.add("Hidden")
        hidden.hide_set(True)
        harness.add("Off").hide_viewport = True
        harness.add("Shown")
        away = bpy.data.collections.new("Away")
        bpy.context.scene.collection.children.link(away)
        away.objects.link(bpy.data.objects.new("Excluded", None))
        bpy.context.view_layer.layer_collection.children["Away"].exclude = True
        visible = {name: each["visible"] for name, each in by_name(collect()).items()}
        self.assertEqual(
            visible, {"Hidden": False, "Off": False, "Shown": True, "Excluded": False}
        )

    def test_turn_as_their_rotation_mode_says(self):
        quaternion = harness.add("Q")
        quaternion.rotation_mode = "QUATERNION"
        quaternion.rotation_quaternion = (0, 0, 0, 1)
        axis = harness.add("A")
        axis.rotation_mode = "AXIS_ANGLE"
        axis.rotation_axis_angle = (math.pi, 0, 1, 0)
        facts = by_name(collect("standard"))
        self.assertEqual(facts["Q"]["quaternion"], [0, 0, 0, 1])
        self.assertEqual((facts["A"]["axis"], facts["A"]["angle"]), ([0, 1, 0], 180))
        self.assertNotIn("rotate", facts["Q"])

    def test_say_only_as_much_as_the_level_of_detail(self):
        harness.add("One", bpy.data.meshes.new("M"))
        levels = {name: set(collect(name)["objects"][0]) for name in ("standard", "full")}
        self.assertEqual(levels["standard"], {"id", "uid", "name", "type", "parent", "visible",
                                              "translate", "rotate", "rotate_order", "scale"})
        self.assertLessEqual(
            {"matrix_world", "bbox", "animated", "collections"}, levels["full"] - levels["standard"]
        )


class Scene(unittest.TestCase):
    def setUp(self):
        harness.empty_scene()

    def test_tells_selection_camera_time_and_render(self):
        camera = harness.add("Cam", bpy.data.cameras.new("C"))
        scene = bpy.context.scene
        scene.camera = camera
        scene.frame_end = 99
        scene.frame_set(7)
        scene.render.resolution_x = 320
        camera.select_set(True)
        bpy.context.view_layer.objects.active = camera
        said = collect("standard")
        self.assertEqual(
            said["selection"], {"ids": ["Cam"], "active": "Cam", "count": 1, "truncated": False}
        )
        self.assertEqual(said["camera"], "Cam")
        self.assertEqual(
            said["time"], {"frame": 7, "start": 1, "end": 99, "fps": 24.0, "playing": False}
        )
        self.assertEqual(said["render"]["width"], 320)
        self.assertTrue(said["objects"][0]["selected"])
        self.assertEqual(said["dcc"]["mode"], "background")

    def test_counts_all_also_when_it_shows_some(self):
        for index in range(30):
            harness.add("E%02d" % index)
        said = collect("standard", max_patched_objects=10)
        self.assertEqual(len(said["objects"]), 10)
        self.assertEqual(said["truncated"], {"objects": True, "total": 30, "limit": 10})
        self.assertEqual(said["counts"]["objects"], 30)
        self.assertEqual(said["counts"]["by_type"], {"empty": 30})

    def test_stays_within_the_bytes_of_a_scene(self):
        for index in range(500):
            harness.add("E%03d" % index)
        said = collect("full", max_message_bytes=100000)
        self.assertLess(len(json.dumps(said, separators=(",", ":"))), 100000)
        self.assertTrue(said["truncated"]["objects"])
        self.assertEqual(said["truncated"]["total"], 500)
        self.assertEqual(said["counts"]["by_type"], {"empty": 500})

    def test_names_what_is_an_instance_of_a_collection(self):
        item = harness.add("I")
        item.instance_type = "COLLECTION"
        item.instance_collection = bpy.data.collections.new("Prop")
        said = collect("standard")
        self.assertEqual(said["objects"][0]["type"], "instance")
        self.assertEqual(said["counts"]["by_type"], {"instance": 1})


harness.main(__name__)
