"""Bounds, times and fixed texts of the client."""

PROTOCOL = "dcc-host.v1"
MiB = 1024 * 1024

# Bounds of this side. What the server takes is in its welcome.
MAX_RECEIVED_BYTES = 8 * MiB  # one message of the server
MAX_HEAD_BYTES = 16 * 1024  # its answer to the handshake
MAX_RECORD_BYTES = 64 * 1024  # an instance record
MAX_TOKEN_BYTES = 4096
MAX_RECORDS = 1000  # instance records looked at
MAX_BACKLOG = 1000  # audit records, and events, that were not taken yet
MAX_ITEM_BYTES = 256 * 1024  # one audit record or event
MAX_EVENT_CHARS = 65536  # the server keeps no longer message
MAX_METADATA_BYTES = 4096
MAX_BUFFERS = 100
MAX_SCHEMES = 16
MAX_GONE = 100  # schemes that were unregistered and not told yet
MAX_RESOURCES = 2000
MAX_UPDATED = 1000  # URIs whose change was not told yet
MAX_UPLOADS = 32  # artefacts waiting
MAX_UPLOAD_TRIES = 3
MAX_DEPTH = 60  # levels of a value; the server takes 64 of a message
MAX_NAME = 255
MAX_TEXT = 4096
HIGH_WATER = 512 * 1024  # bytes on their way beyond which nothing is added
CHUNK = 256 * 1024

LEVELS = ("trace", "debug", "info", "warning", "warn", "error")

CONNECT_SECONDS = 5.0
WELCOME_SECONDS = 10.0
SILENCE_SECONDS = 30.0
ANSWER_SECONDS = 30.0
UPLOAD_ANSWER_SECONDS = 300.0  # the server makes the bytes durable before it answers
CLOSE_SECONDS = 1.0
RETRY_SECONDS = 1.0
AWAY_SECONDS = 2.0  # the main thread counts as busy for the server when it was not here for longer
RECORD_SECONDS = 30.0  # a running server touches its record every 5
SEARCH_SECONDS = 2.0  # looking into a folder is cheap: do it more often than connecting
TAKEN_SECONDS = 10.0

OFF = "The link is off."
CLEARED = "Scene no longer shared. Files and history stay on the server."
NOT_TOLD = "The server could not be told: it keeps the last scene while it runs."

DEFAULT_LIMITS = {
    "max_message_bytes": 64 * MiB,
    "max_batch": 100,
    "max_in_flight": 8,
    "max_artefact_bytes": 0,
    "max_scene_objects": 2000,
    "max_patched_objects": 2000,
    "scene_min_interval_ms": 0,
}
