import os
import random
import struct
import unittest

from common import link


def server_frame(opcode, payload, final=True):
    first = (0x80 if final else 0) | opcode
    size = len(payload)
    if size < 126:
        return struct.pack("!BB", first, size) + payload
    if size < 65536:
        return struct.pack("!BBH", first, 126, size) + payload
    return struct.pack("!BBQ", first, 127, size) + payload


def unmask(frame):
    """(first byte, payload) of a client's frame, byte by byte."""
    size, start = frame[1] & 0x7F, 2
    if size == 126:
        size, start = struct.unpack("!H", frame[2:4])[0], 4
    elif size == 127:
        size, start = struct.unpack("!Q", frame[2:10])[0], 10
    key, data = frame[start:start + 4], frame[start + 4:]
    assert frame[1] & 0x80 and len(data) == size
    return frame[0], bytes(byte ^ key[i % 4] for i, byte in enumerate(data))


class Frames(unittest.TestCase):
    def test_masks_every_length_around_its_borders(self):
        for size in (0, 1, 3, 4, 5, 125, 126, 65535, 65536, 65537, 131072, 200001):
            data = os.urandom(size)
            self.assertEqual(unmask(link.encode_frame(link.BINARY, data)), (0x82, data))

    def test_masks_with_another_key_each_time(self):
        frames = {link.encode_frame(link.TEXT, b"same") for _ in range(20)}
        self.assertGreater(len(frames), 15)

    def test_puts_any_messages_together_from_any_pieces(self):
        for seed in range(60):
            chance = random.Random(seed)
            expected, wire = [], b""
            for _ in range(chance.randrange(1, 6)):
                opcode = chance.choice([link.TEXT, link.BINARY])
                text = "".join(chance.choice("aü€😀") for _ in range(chance.choice([0, 1, 90, 9000])))
                data, fragments = text.encode("utf-8"), chance.choice([1, 1, 2, 7])
                cuts = sorted(chance.randrange(len(data) + 1) for _ in range(fragments - 1))
                parts = [data[a:b] for a, b in zip([0] + cuts, cuts + [len(data)])]
                for index, part in enumerate(parts):
                    last = index == len(parts) - 1
                    wire += server_frame(0 if index else opcode, part, last)
                    if not last and chance.random() < 0.5:
                        wire += server_frame(link.PING, b"p%d" % index)
                        expected.append((link.PING, b"p%d" % index))
                expected.append((opcode, text if opcode == link.TEXT else data))
            reader, found = link.FrameReader(), []
            while wire:
                size = chance.choice([1, 2, 5, 1000, 100000])
                reader.feed(wire[:size])
                wire = wire[size:]
                frame = reader.next()
                while frame is not None:
                    found.append(frame)
                    frame = reader.next()
            self.assertEqual(found, expected, "seed %d" % seed)

    def test_ends_on_any_bytes_with_a_message_or_a_protocol_error(self):
        for seed in range(2000):
            chance = random.Random(seed)
            reader = link.FrameReader(1000)
            reader.feed(bytes(chance.randrange(256) for _ in range(chance.randrange(60))))
            try:
                while reader.next() is not None:
                    pass
            except link.ProtocolError as error:
                self.assertIn(error.code, (1002, 1007, 1009))

    def test_refuses_a_message_over_its_bound_before_its_bytes_come(self):
        for frames in ([server_frame(link.TEXT, b"x" * 1001)[:4]],
                       [server_frame(link.TEXT, b"x" * 600, False), server_frame(0, b"x" * 600)]):
            reader = link.FrameReader(1000)
            with self.assertRaises(link.ProtocolError) as caught:
                for frame in frames:
                    reader.feed(frame)
                    reader.next()
            self.assertEqual(caught.exception.code, 1009)

    def test_takes_close_frames_apart(self):
        self.assertEqual(link.decode_close(b""), (1005, ""))
        self.assertEqual(link.decode_close(link.encode_close(4423, "ä" * 100)), (4423, "ä" * 61))
        for payload, code in ((b"\x03", 1002), (struct.pack("!H", 1005), 1002),
                              (struct.pack("!H", 999), 1002), (b"\x03\xe8\xff", 1007)):
            with self.assertRaises(link.ProtocolError) as caught:
                link.decode_close(payload)
            self.assertEqual(caught.exception.code, code)


class Handshake(unittest.TestCase):
    KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
    GOOD = {"upgrade": "WebSocket", "connection": "keep-alive, Upgrade",
            "sec-websocket-accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
            "sec-websocket-protocol": "dcc-host.v1"}

    def test_takes_the_answer_to_its_own_key(self):
        link.check_upgrade(self.GOOD, self.KEY)

    def test_refuses_every_other_answer(self):
        for name, value in (("upgrade", "h2c"), ("connection", "close"),
                            ("sec-websocket-accept", "x"), ("sec-websocket-protocol", "other"),
                            ("sec-websocket-protocol", None),
                            ("sec-websocket-extensions", "permessage-deflate")):
            headers = dict(self.GOOD)
            headers.pop(name, None)
            if value is not None:
                headers[name] = value
            with self.assertRaises(link.ProtocolError, msg=name):
                link.check_upgrade(headers, self.KEY)

    def test_reads_the_head_of_an_answer(self):
        self.assertEqual(link.parse_head(b"HTTP/1.1 401 No\r\nA: 1\r\na:2"), (401, {"a": "1,2"}))
        for head in (b"", b"SSH-2.0", b"HTTP/1.1 20", b"HTTP/1.1 200 OK\r\nnothing"):
            with self.assertRaises(link.ProtocolError):
                link.parse_head(head)


if __name__ == "__main__":
    unittest.main()
