"""After any changes, the scene that was told is the one that a fresh look finds."""

import os
import random
import sys
import unittest
from itertools import product

import bpy

sys.path.insert(0, os.path.dirname(__file__))
import harness

harness.enable()
from service_cli_link import changes

OPERATIONS = 2000
MAX_TOUCHED = changes.MAX_TOUCHED


class Told(unittest.TestCase):
    def setUp(self):
        harness.empty_scene()
        self.clock = harness.Clock()
        self.session = harness.session(self.clock, detail="full")
        self.link = self.session.link
        self.addCleanup(self.session.stop, "test")
        self.serials = {}  # what only the test writes into an object -> its uid
        self.tick()

    def tick(self):
        self.clock.now += 1.0
        self.session.tick()

    def look(self):
        """Time enough to tell what moved, and then to read everything."""
        for _ in range(3):
            self.tick()

    def told(self):
        """Without what is new in each."""
        scene = dict(self.link.scenes()[-1])
        del scene["change_count"], scene["captured_at"]
        return scene

    def fresh(self):
        from service_cli_link import scene_facts

        bpy.context.view_layer.update()
        document = scene_facts.open_document()
        return harness.collect("full", None, document, self.session.identities)

    def assert_fresh(self, when=""):
        told, fresh = self.told(), self.fresh()
        for scene in (told, fresh):  # told in the order in which they came
            scene["objects"].sort(key=lambda each: each["id"])
        self.assertEqual(told, fresh, when)
        for each in told["objects"]:
            serial = bpy.data.objects[each["id"]].get("serial")
            if serial is not None:
                self.assertEqual(self.serials.setdefault(serial, each["uid"]), each["uid"], when)
        self.assertEqual(len(set(self.serials.values())), len(self.serials))

    def test_only_what_moved_is_read_again(self):
        items = [harness.add("Prop.%d" % number) for number in range(50)]
        items[7].parent = items[3]
        self.tick()
        self.tick()
        self.clock.now += 1.0
        del self.link.said[:]
        items[3].location.x = 5
        bpy.context.view_layer.update()  # told in the handler, without a tick
        members, objects, _ = self.link.patches[-1]
        self.assertEqual(sorted(objects), ["Prop.3", "Prop.7"])
        self.assertNotIn("collections", members)
        self.assert_fresh()
        self.assertEqual(self.link.of("updated"), [
            ("blender-object://Prop.3",), ("blender-object://Prop.7",)])
        self.assertEqual(self.link.of("register"), [])

    def test_more_changes_than_can_be_read_are_told_while_they_go_on(self):
        items = [harness.add("Prop.%d" % number) for number in range(600)]
        # Blender's whole list of changes is read, or only its objects.
        for count in (300, 200):
            self.look()
            told, self.clock.step = len(self.link.patches), 0.0005
            for frame in range(300):
                for item in items[:count]:
                    item.location.x += 1
                bpy.context.view_layer.update()
                self.clock.now += 0.01
                self.session.tick()
            self.assertGreater(len(self.link.patches), told + 2, count)
            self.clock.step = 0.0
            self.look()
            self.assert_fresh(count)

    def whole(self, begin):
        """Asserts that members and objects of each scene since then are of one moment."""
        for scene in self.link.scenes()[begin:]:
            names = {each["id"] for each in scene["objects"]}
            selected = {each["id"] for each in scene["objects"] if each.get("selected")}
            selection = scene["selection"]
            self.assertEqual(set(selection["ids"]), selected)
            self.assertEqual(scene["counts"]["objects"], len(names))
            self.assertLessEqual({scene.get("camera"), selection.get("active")}, names | {None})

    def test_a_removal_in_the_midst_of_a_walk_is_one_scene(self):
        for walk, turns in product(("names", "everything"), range(6)):
            self.setUp()
            for number in range(5):
                harness.add("Prop.%d" % number)
            camera = harness.add("Camera", bpy.data.cameras.new("Camera"))
            bpy.context.scene.camera = bpy.context.view_layer.objects.active = camera
            self.look()
            begin, self.clock.step = len(self.link.scenes()), 0.01  # one step in each turn
            bpy.ops.object.select_all(action="SELECT")
            if walk == "everything":
                self.session.mark()
            for _ in range(turns):
                self.tick()
            bpy.ops.object.delete()
            for _ in range(50):
                self.tick()
                if self.session.settled and len(self.link.scenes()) > begin:
                    break
            self.clock.step = 0.0
            self.whole(begin)
            for scene in self.link.scenes()[begin:]:  # each object is in one collection
                told = sum(each["objects"] for each in scene["collections"])
                self.assertEqual(told, len(scene["objects"]))
            self.assertEqual(self.told()["objects"], [], (walk, turns))

    def found_by_comparing(self):
        """Names of shown objects whose change Blender has not told, from now on."""
        reader = self.session._watch._reader
        read, advance, found = reader._read, reader._advance, []

        def shown():
            return reader._kinds.keys() - reader._hidden

        def watched_read(name, item):
            before, text = shown(), reader.texts.get(name)
            read(name, item)
            if reader.texts[name] != text and reader.verifying and name in before | shown():
                found.append(name)

        def watched_advance(scan):
            before = shown()
            goes_on = advance(scan)
            if scan.verifies and not goes_on:
                found.extend(before - scan.seen)
            return goes_on

        reader._read, reader._advance = watched_read, watched_advance
        return found

    def test_2000_changes_of_all_kinds_leave_no_difference(self):
        chance = random.Random(11)
        mesh = bpy.data.meshes.new("Shared")
        mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
        operations = Operations(chance, mesh)
        for number in range(20):
            operations.add()
        bpy.ops.ed.undo_push(message="start")
        self.addCleanup(setattr, changes, "MAX_TOUCHED", MAX_TOUCHED)
        names, begin = [], len(self.link.scenes())
        found = self.found_by_comparing()
        for number in range(OPERATIONS):
            changes.MAX_TOUCHED = chance.choice((MAX_TOUCHED, 4))
            names.append(operations.any())
            if chance.random() < 0.3:
                continue  # several changes between two looks
            del found[:]
            self.look()
            when = "after %d: %s" % (number, ", ".join(names))
            # A change right before one of the frame is not told apart from it.
            if "frame" not in names:
                self.assertEqual(found, [], when)
            self.whole(begin)
            names, begin = [], len(self.link.scenes())
            if number % 5 == 0:
                self.assert_fresh(when)
        self.look()
        self.assert_fresh()


class Operations:
    """Changes such as artists and scripts make, by chance."""

    def __init__(self, chance, mesh):
        self.chance = chance
        self.mesh = mesh
        self.count = 0
        self.kinds = [self.move] * 6 + [
            self.add, self.remove, self.rename, self.parent, self.hide, self.select, self.material,
            self.modifier, self.frame, self.collection, self.keyframe, self.undo, self.redo,
            self.scale, self.camera,
        ]

    def any(self):
        kind = self.chance.choice(self.kinds)
        kind()
        return kind.__name__

    @property
    def items(self):
        return bpy.context.scene.objects[:]

    def one(self):
        items = self.items
        return self.chance.choice(items) if items else self.add()

    def add(self):
        self.count += 1
        mesh = bpy.data.meshes.get("Shared")
        item = harness.add("Thing.%d" % self.count, mesh if self.chance.random() < 0.7 else None)
        item["serial"] = self.count
        return item

    def remove(self):
        if len(self.items) > 5:
            bpy.data.objects.remove(self.one())

    def move(self):
        self.one().location = [self.chance.uniform(-9, 9) for _ in range(3)]

    def scale(self):
        item = self.one()
        item.scale.x = self.chance.uniform(0.1, 3)
        item.rotation_euler.z = self.chance.uniform(-3, 3)

    def rename(self):
        self.count += 1
        self.one().name = "Named.%d" % self.count

    def parent(self):
        child, parent = self.one(), self.one()
        above = parent
        while above is not None:
            if above == child:
                parent = None
                break
            above = above.parent
        child.parent = parent

    def hide(self):
        item = self.one()
        if self.chance.random() < 0.5:
            item.hide_viewport = not item.hide_viewport
        else:
            item.hide_set(not item.hide_get())

    def select(self):
        item = self.one()
        item.select_set(not item.select_get())
        bpy.context.view_layer.objects.active = item

    def material(self):
        item = self.one()
        if item.type == "MESH":
            name = "Paint.%d" % self.chance.randrange(5)
            material = bpy.data.materials.get(name) or bpy.data.materials.new(name)
            if len(item.data.materials) < 8:
                item.data.materials.append(material)

    def modifier(self):
        item = self.one()
        if item.type == "MESH":
            if item.modifiers and self.chance.random() < 0.5:
                item.modifiers.remove(item.modifiers[0])
            else:
                item.modifiers.new("Bevel", "BEVEL")

    def frame(self):
        bpy.context.scene.frame_set(self.chance.randrange(1, 100))

    def keyframe(self):
        self.one().keyframe_insert("location", frame=self.chance.randrange(1, 100))

    def collection(self):
        name = "Set.%d" % self.chance.randrange(4)
        found = bpy.data.collections.get(name)
        if found is None:
            found = bpy.data.collections.new(name)
            bpy.context.scene.collection.children.link(found)
        item = self.one()
        if item.name in found.objects:
            found.objects.unlink(item)
            if not item.users_collection:
                bpy.context.scene.collection.objects.link(item)
        else:
            found.objects.link(item)

    def camera(self):
        scene = bpy.context.scene
        if scene.camera is None:
            data = bpy.data.cameras.new("Camera")
            scene.camera = harness.add("Camera", data)
        scene.render.resolution_x = self.chance.randrange(100, 2000)

    def undo(self):
        bpy.ops.ed.undo_push(message="step")
        self.move()
        bpy.ops.ed.undo_push(message="moved")
        bpy.ops.ed.undo()

    def redo(self):
        """Right after the undo: with other changes in between Blender 3.4 crashes by itself."""
        self.undo()
        bpy.ops.ed.redo()


harness.main(__name__)
