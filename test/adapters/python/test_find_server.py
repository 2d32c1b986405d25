import json
import os
import tempfile
import time
import unittest

from common import link
from service_host_link import search


class FindServer(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.registry = os.path.join(self._folder.name, "registry")
        self.instances = os.path.join(self.registry, "instances")
        os.makedirs(self.instances)
        for path in (self.registry, self.instances):
            os.chmod(path, 0o700)

    def write(self, path, text, mode=0o600):
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def record(self, name, age=0, token="token-of-", **members):
        """A record with its token file, `age` seconds old."""
        token_file = os.path.join(self.instances, name + ".token")
        if token is not None:
            self.write(token_file, token + name)
        record = dict({
            "instance_id": name, "dcc_type": "blender", "host": {"connected": False},
            "host_url": "http://127.0.0.1:1000/host", "host_token_file": token_file}, **members)
        path = self.write(os.path.join(self.instances, name + ".json"), json.dumps(record))
        beat = time.time() - age
        os.utime(path, (beat, beat))
        return path

    def find(self, env=None, dcc_type="blender"):
        self.reasons = []
        return link.find_server(dcc_type, self.registry, env or {}, self.reasons)

    def refused(self, words, env=None):
        self.assertIsNone(self.find(env))
        self.assertIn(words, " ".join(self.reasons))

    def test_takes_the_newest_record_of_its_kind(self):
        self.record("older", age=5)
        self.record("newer", age=1, host_url="http://127.0.0.1:2000/host")
        self.record("unknown", age=0, dcc_type="unknown")
        self.record("other", age=0, dcc_type="maya")
        self.assertEqual(self.find(), ("http://127.0.0.1:2000/host", "token-of-newer"))
        self.assertEqual(self.find(dcc_type="houdini")[1], "token-of-unknown")

    def test_passes_over_what_is_not_usable_and_says_why(self):
        no_address = "the host URL must be like"
        cases = [
            ({"host": {"connected": True}}, "taken: another application is linked"),
            ({"host_url": "http://192.168.1.2:1000/host"}, "not on this machine"),
            ({"host_url": "http://localhost.evil.example/host"}, "not on this machine"),
            ({"host_url": "https://127.0.0.1/host"}, no_address),
            ({"host_url": "http://u:secret@127.0.0.1/host"}, no_address),
            ({"token": None}, "one.token cannot be read (No such file or directory)"),
            ({"token": "two words "}, "header cannot carry"),
            ({"host_token_file": None}, "set SERVICE_HOST_TOKEN"),
        ]
        for members, words in cases:
            self.record("one", **members)
            self.refused(words)
            self.assertNotIn("secret", " ".join(self.reasons))
            for name in os.listdir(self.instances):
                os.unlink(os.path.join(self.instances, name))

    def test_takes_a_record_that_still_shows_its_own_connection(self):
        self.record("one", host={"connected": True})
        found = search.find_candidates("blender", self.registry, {}, [], own_server="one")
        self.assertEqual(len(found), 1)
        self.assertEqual(search.find_candidates("blender", self.registry, {}, [], "other"), [])

    def test_survives_records_of_any_content(self):
        for text in ("", "{", "[]", "7", "null", "\udcff", "{}", '{"dcc_type":"blender","host_url":{}}'):
            with open(os.path.join(self.instances, "odd.json"), "wb") as file:
                file.write(text.encode("utf-8", "surrogateescape"))
            self.assertIsNone(self.find(), text)
            self.assertIn("no usable server: odd.json", self.reasons[-1])

    def test_takes_the_token_of_the_environment_for_a_server_that_got_it_there(self):
        self.record("one", host_token_file=None)
        self.assertEqual(self.find({"SERVICE_HOST_TOKEN": "mine"})[1], "mine")
        self.record("two", age=3, host_url="http://127.0.0.1:3/host")
        self.assertEqual(self.find()[1], "token-of-two")

    def test_takes_the_environment_before_any_record(self):
        self.record("one")
        env = {"SERVICE_HOST_URL": "http://localhost:7/host", "SERVICE_HOST_TOKEN": "mine"}
        self.assertEqual(self.find(env), ("http://localhost:7/host", "mine"))
        self.assertEqual(self.find({"SERVICE_HOST_URL": env["SERVICE_HOST_URL"]})[1], "token-of-one")
        self.refused("does not lead to this machine", dict(env, SERVICE_HOST_URL="http://10.0.0.1/host"))
        self.refused("header cannot carry", dict(env, SERVICE_HOST_TOKEN="a\r\nX: 1"))

    @unittest.skipUnless(hasattr(os, "geteuid"), "no owners and modes here")
    def test_believes_no_folder_or_file_that_others_can_write(self):
        path = self.record("one")
        for name in (self.registry, self.instances):
            os.chmod(name, 0o770)
            self.refused("can be written by other users")
            os.chmod(name, 0o700)
        for name in (path, path[:-5] + ".token"):
            os.chmod(name, 0o620)
            self.refused("can be written by other users")
            os.chmod(name, 0o600)
        self.assertIsNotNone(self.find())

    @unittest.skipUnless(hasattr(os, "geteuid"), "no owners and modes here")
    def test_believes_no_folder_or_file_of_another_user(self):
        path = self.record("one")
        own = os.geteuid
        try:
            os.geteuid = lambda: own() + 1
            self.refused("belongs to another user")
        finally:
            os.geteuid = own
        if own() == 0:  # only root can give files away
            os.chown(path, 12345, 12345)
            self.refused("belongs to another user")

    @unittest.skipUnless(hasattr(os, "symlink"), "no links here")
    def test_follows_no_link_to_a_folder_and_waits_for_no_pipe(self):
        self.record("one")
        linked = os.path.join(self._folder.name, "linked")
        os.symlink(self.registry, linked)
        self.registry = linked
        self.refused("is not a folder")
        self.registry = os.path.dirname(self.instances)
        os.mkfifo(os.path.join(self.instances, "pipe.json"), 0o600)
        self.assertEqual(self.find()[1], "token-of-one")
        self.assertIn("pipe.json cannot be read (not a regular file)", self.reasons[-1])

    def test_says_that_nothing_is_there(self):
        words = "no server running; start one: service-cli serve --dcc-type blender"
        self.refused(words)
        self.record("other", dcc_type="maya")
        self.record("gone", age=31)
        self.refused(words)
        self.assertEqual(self.reasons[-1], words)
        self.registry = os.path.join(self._folder.name, "none")
        self.refused(words)

    def test_says_last_that_its_server_is_taken(self):
        self.record("a", host={"connected": True}, host_url="http://127.0.0.1:1/host")
        self.record("b", dcc_type="maya")
        self.record("c", token=None)
        self.refused("c.token cannot be read")
        self.assertEqual(self.reasons[-1], "taken: another application is linked to "
                         "http://127.0.0.1:1/host; start another server: service-cli serve --port 0")

    def test_looks_where_the_server_writes(self):
        self.assertEqual(search.registry_folder({"SERVICE_REGISTRY_DIR": "/a/b"}), "/a/b")
        if os.name == "nt":
            profile = search.registry_folder({"USERPROFILE": "C:\\Users\\ada"})
            self.assertEqual(profile, "C:\\Users\\ada\\.service-cli")
        else:
            name = "service-cli-%d" % os.geteuid()
            self.assertEqual(search.registry_folder({"TMPDIR": "/t/", "TEMP": "/x"}), "/t/" + name)
            self.assertEqual(search.registry_folder({}), "/tmp/" + name)


class Addresses(unittest.TestCase):
    def test_knows_this_machine(self):
        for host, own in (("127.0.0.1", True), ("127.9.9.9", True), ("localhost", True),
                          ("[::1]", True), ("127.0.0.256", False), ("127.0.0.1.example", False),
                          ("0.0.0.0", False), ("[::]", False), ("example.com", False)):
            address = search.parse_url("http://%s:1/host" % host)
            self.assertEqual(search.is_loopback(address.host), own, host)

    def test_refuses_without_repeating_the_address(self):
        for url in ("", "127.0.0.1:1", "ftp://h/secret", "http://", "http://h:99999/secret", None, 7,
                    "http://h/host?key=secret", "http://h/ho st", "http://h/\r\nsecret", "wss://h/"):
            with self.assertRaises(ValueError, msg=url) as caught:
                search.parse_url(url)
            self.assertNotIn("secret", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
