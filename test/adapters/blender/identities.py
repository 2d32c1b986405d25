"""An object keeps its uid whatever name it has, also across undo and redo."""

import os
import sys
import unittest

import bpy

sys.path.insert(0, os.path.dirname(__file__))
import harness

harness.enable()
FOLDER = sys.argv[sys.argv.index("--") + 1]


def push(message):
    bpy.ops.ed.undo_push(message=message)


class Kept(unittest.TestCase):
    def setUp(self):
        harness.empty_scene()
        self.clock = harness.Clock()
        mesh = bpy.data.meshes.new("Mesh")
        mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
        for name in ("A", "B", "C"):
            harness.add(name, mesh if name == "C" else bpy.data.meshes.new(name))
        harness.add("Lamp", bpy.data.lights.new("Lamp", "POINT"))
        harness.add("Empty")
        push("start")
        self.session = harness.session(self.clock)
        self.addCleanup(self.session.stop, "test")
        self.first = self.uids()

    def uids(self):
        """By name, as they are told."""
        for _ in range(3):
            self.clock.now += 1.0
            self.session.tick()
        told = {each["name"]: each["uid"] for each in self.session.link.scenes()[-1]["objects"]}
        self.assertEqual(len(set(told.values())), len(told))
        self.assertEqual(sorted(told), sorted(each.name for each in bpy.context.scene.objects))
        return told

    def delete(self, *names):
        bpy.ops.object.select_all(action="DESELECT")
        for name in names:
            bpy.data.objects[name].select_set(True)
        bpy.ops.object.delete()
        push("delete")

    def test_when_names_are_exchanged_between_two_looks(self):
        one, two = bpy.data.objects["A"], bpy.data.objects["B"]
        one.name, two.name, one.name = "away", "A", "B"
        told = self.uids()
        self.assertEqual((told["A"], told["B"]), (self.first["B"], self.first["A"]))

    def test_when_its_deletion_is_undone_and_done_again(self):
        for names in (("A",), ("Empty", "Lamp"), ("A", "B", "C")):
            self.delete(*names)
            left = self.uids()
            self.assertFalse(set(names) & set(left))
            bpy.ops.ed.undo()
            self.assertEqual(self.uids(), self.first)
            bpy.ops.ed.redo()
            self.assertEqual(self.uids(), left)
            bpy.ops.ed.undo()
            self.assertEqual(self.uids(), self.first)

    def test_when_another_took_its_place_before_the_undo(self):
        self.delete("A")
        harness.add("Other", bpy.data.meshes.new("Other"))
        push("add")
        other = self.uids()
        self.assertNotIn(other["Other"], self.first.values())
        bpy.ops.ed.undo()
        bpy.ops.ed.undo()
        self.assertEqual(self.uids(), self.first)
        bpy.ops.ed.redo()
        bpy.ops.ed.redo()
        self.assertEqual(self.uids(), other)

    def test_when_it_is_edited_joined_and_separated(self):
        bpy.data.meshes["A"].from_pydata([(5, 0, 0), (6, 0, 0), (5, 1, 0)], [], [(0, 1, 2)])
        bpy.ops.object.select_all(action="DESELECT")
        for name in ("A", "C"):
            bpy.data.objects[name].select_set(True)
        bpy.context.view_layer.objects.active = bpy.data.objects["A"]
        bpy.ops.object.join()
        push("join")
        joined = self.uids()
        self.assertEqual(joined, {name: uid for name, uid in self.first.items() if name != "C"})
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.separate(type="LOOSE")
        bpy.ops.object.mode_set(mode="OBJECT")
        push("separate")
        parts = self.uids()
        self.assertEqual({name: parts[name] for name in joined}, joined)
        [new] = set(parts) - set(joined)
        self.assertNotIn(parts[new], self.first.values())

    def test_and_a_copy_or_one_that_is_added_again_has_its_own(self):
        item = bpy.data.objects["A"]
        copy = item.copy()
        bpy.context.scene.collection.objects.link(copy)
        self.assertNotIn(self.uids()["A.001"], self.first.values())
        for _ in range(20):  # the next object takes the place in memory of the one before
            mesh = bpy.data.objects["A"].data
            bpy.data.objects.remove(bpy.data.objects["A"])
            harness.add("A", mesh)
            told = self.uids()["A"]
            self.assertNotIn(told, self.first.values())

    def test_until_another_file_is_opened(self):
        path = os.path.join(FOLDER, "kept.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        self.assertEqual(self.uids(), self.first)
        bpy.ops.wm.open_mainfile(filepath=path)
        told = self.uids()
        self.assertEqual(set(told), set(self.first))
        self.assertFalse(set(told.values()) & set(self.first.values()))

harness.main(__name__)
