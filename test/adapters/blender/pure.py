"""What needs no scene: numbers, lines of the panel, lists of operators, names of secrets, pictures."""

import ast
import os
import sys
import tempfile
import unittest
from types import SimpleNamespace
from unittest import mock

import bpy

sys.path.insert(0, os.path.dirname(__file__))
import harness

harness.enable()
import service_cli_link
from service_cli_link import operator_watch, panels, pictures, values
from service_cli_link.service_host_link import NoPicture
from service_cli_link.values import is_sensitive_name

FOLDER = os.path.dirname(service_cli_link.__file__)
RED, BLUE = b"\xff\0\0\x80", b"\0\0\xff\xff"
ALLOWED = set(
    "atexit base64 binascii bpy collections contextlib datetime errno gc functools hashlib hmac itertools json"
    " math mathutils mimetypes os queue random re select shutil socket ssl stat string struct sys"
    " tempfile textwrap threading time traceback urllib uuid logging heapq zlib"
    " gpu imbuf blf bpy_extras gpu_extras getpass calendar glob subprocess".split()
)


class PanelLines(unittest.TestCase):
    def test_are_broken_between_words(self):
        import blf

        text = "No server running; start one: service-cli serve --dcc-type blender"
        for width in (150, 350):
            lines = panels.wrapped(text, width)
            self.assertEqual(" ".join(lines), text)
            widths = [blf.dimensions(0, line)[0] for line in lines]
            self.assertLessEqual(max(widths), width)
            self.assertGreater(max(widths), 0.75 * width)

    def test_that_are_too_many_end_with_an_ellipsis(self):
        words = ["word%02d" % number for number in range(60)]
        lines = panels.wrapped(" ".join(words), 180)
        self.assertEqual((len(lines), lines[-1][-2:]), (8, " …"))
        whole = panels.wrapped(" ".join(words), 180, most=60)
        self.assertEqual(" ".join(whole).split(), words)
        letters = panels.wrapped("x" * 4000, 180, most=24)
        self.assertEqual((len(letters), letters[-1][-2:]), (24, " …"))

    def test_say_which_ai_read_what_last(self):
        clients = [
            {"name": "claude-code", "last_read": {"at": "2026-03-04T05:06:07.000Z", "uri": "scene://current"},
             "last_call": {"at": "2026-03-04T05:06:08.000Z", "tool": "look"}},
            {"name": "service-page"}, {"name": "service-cli"}, {"name": "cursor"},
        ]
        (name, act), cursor = panels.client_lines(clients)
        self.assertEqual(name, "claude-code")
        self.assertRegex(act, r"^\d\d:\d\d look$")
        self.assertEqual(cursor, ("cursor", "nothing read yet"))


class Sources(unittest.TestCase):
    def test_are_python_3_7_and_import_nothing_from_outside(self):
        files = [name for name in os.listdir(FOLDER) if name.endswith(".py")]
        self.assertIn("service_host_link", os.listdir(FOLDER))
        for name in files:
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                tree = ast.parse(file.read(), name, feature_version=(3, 7))
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    roots = [each.name.split(".")[0] for each in node.names]
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    roots = [node.module.split(".")[0]]
                else:
                    continue
                self.assertLessEqual(set(roots), ALLOWED, name)


class Numbers(unittest.TestCase):
    def test_are_rounded_to_six_digits(self):
        table = [
            (0.1234564, 0.123456),
            (0.1234566, 0.123457),
            (-0.1234566, -0.123457),
            (1e20, 1e20),
            (123456.5, 123456.5),
        ]
        for given, expected in table:
            self.assertEqual(values.Cleaner().number(given), expected)

    def test_that_are_not_finite_are_left_out_and_counted(self):
        cleaner = values.Cleaner()
        for bad in (float("nan"), float("inf"), float("-inf")):
            self.assertIsNone(cleaner.numbers([1.0, bad, 2.0]))
        self.assertEqual(cleaner.dropped, 3)


class Values(unittest.TestCase):
    def test_are_bounded(self):
        value = values.Cleaner().value({"long": "x" * 5000, "many": list(range(5000))})
        self.assertEqual(len(value["long"]), values.MAX_TEXT)
        self.assertEqual(len(value["many"]), values.MAX_ITEMS)

    def test_with_lone_surrogates_become_text(self):
        self.assertEqual(values.short_text("a\udcff"), "a?")

class SecretNames(unittest.TestCase):
    def test_are_told_from_others(self):
        for name in "apiKey api_key X-Api-Key key token accessToken password api_keys".split():
            self.assertTrue(is_sensitive_name(name), name)
        for name in "keyframe key_frame monkey keys author passes tokenizer_size".split():
            self.assertFalse(is_sensitive_name(name), name)


class OperatorLists(unittest.TestCase):
    def test_tell_what_was_appended(self):
        table = [
            ([], [1], [1]),
            ([1, 2], [1, 2], []),
            ([1, 2], [1, 2, 3], [3]),
            ([1, 2, 3], [2, 3, 4, 5], [4, 5]),
            ([1, 2, 3], [], []),
            ([1, 2, 3], [7, 8], [7, 8]),
            ([1, 2, 3], [1, 2], []),
        ]
        for before, now, expected in table:
            self.assertEqual(operator_watch.new_entries(before, now), expected, (before, now))

class PictureFiles(unittest.TestCase):
    def test_are_read_by_blender_as_they_were_meant(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "two.png")
            with open(path, "wb") as file:
                file.write(pictures.encode(3, 2, RED * 3 + BLUE * 3))
            image = bpy.data.images.load(path)
            self.assertEqual(tuple(image.size), (3, 2))
            self.assertEqual(list(image.pixels[:4]), [1.0, 0.0, 0.0, 1.0])
            self.assertEqual(list(image.pixels[-4:]), [0.0, 0.0, 1.0, 1.0])
            bpy.data.images.remove(image)


class Scaling(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "whole.png")
        with open(self.path, "wb") as file:
            file.write(pictures.encode(400, 200, os.urandom(4 * 400 * 200)))

    def tearDown(self):
        self.folder.cleanup()

    def test_meets_the_width_and_the_bytes(self):
        before = set(bpy.data.user_map())
        png = pictures._scaled(self.path, 100, 10 ** 6)
        self.assertEqual(pictures.png_size(png), (100, 50))
        small = pictures._scaled(self.path, 100, 5000)
        self.assertLessEqual(len(small), 5000)
        width, height = pictures.png_size(small)
        self.assertTrue(10 < width < 100 and abs(width - 2 * height) <= 2, (width, height))
        self.assertEqual(set(bpy.data.user_map()), before)

    def test_gives_up_what_cannot_be_met(self):
        with self.assertRaises(RuntimeError):
            pictures._scaled(self.path, 400, 20)


class Windows(unittest.TestCase):
    """With a Blender in place of this one, which has no window."""

    def main_window(self, *windows):
        made = [SimpleNamespace(width=width, height=400, screen=SimpleNamespace(areas=[], is_temporary=temporary))
                for width, temporary in windows]
        context = SimpleNamespace(window_manager=SimpleNamespace(windows=made))
        with mock.patch.object(pictures, "bpy", SimpleNamespace(context=context)):
            return pictures._main_window().width

    def test_of_which_the_largest_is_shown_and_never_the_preferences(self):
        self.assertEqual(self.main_window((100, False), (640, False), (900, True)), 640)
        with self.assertRaises(NoPicture) as caught:
            self.main_window((900, True))
        self.assertEqual(caught.exception.code, "no_window")


harness.main(__name__)
