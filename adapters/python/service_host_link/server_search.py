"""Where the server is."""

import json
import os
import re
import time

from .addresses import Candidate, check_token, parse_url
from .limits import MAX_RECORDS, MAX_RECORD_BYTES, MAX_TOKEN_BYTES, RECORD_SECONDS
from .own_files import RecordSkipped, os_reason, read_own_file, unsafe_folder


def find_server(dcc_type, registry_dir=None, env=os.environ, reasons=None):
    """(url, token) of the server to link to, or None.

    Into the list `reasons` go sentences on why each one that was seen is not it; when there is
    none at all, the last one says so and what to do."""
    found = find_candidates(dcc_type, registry_dir, env, [] if reasons is None else reasons)
    return (found[0].address.url, found[0].reveal()) if found else None


def find_candidates(dcc_type, registry_dir, env, reasons, own_server=None):
    """All of them, best first. `own_server`: id of the instance that this application was linked
    to, whose record may still show that connection."""
    url, token = env.get("SERVICE_HOST_URL"), env.get("SERVICE_HOST_TOKEN")
    if url and token:
        try:
            address = parse_url(url)
            check_token(token)
        except ValueError as error:
            reasons.append("no usable server: in the environment, %s" % error)
            return []
        if not address.loopback:
            reasons.append("no usable server: SERVICE_HOST_URL does not lead to this machine")
            return []
        return [Candidate(address, token, "environment")]
    return _from_records(dcc_type, registry_dir or registry_folder(env), token, reasons, own_server)


def registry_folder(env=os.environ):
    """Where servers of this user leave their records."""
    chosen = env.get("SERVICE_REGISTRY_DIR")
    if chosen:
        return os.path.abspath(chosen)
    if os.name == "nt":
        # A packaged program has a temporary folder of its own, the profile is the same for all.
        profile = env.get("USERPROFILE") or os.path.expanduser("~")
        return os.path.join(profile, ".service-cli")
    # As Node.js looks for it, which knows other variables than Python.
    base = env.get("TMPDIR") or env.get("TMP") or env.get("TEMP") or "/tmp"
    return os.path.join(base, "service-cli-%d" % os.geteuid())


def _from_records(dcc_type, registry_dir, env_token, reasons, own_server):
    none_running = "no server running; start one: service-cli serve --dcc-type %s" % dcc_type
    folder = os.path.join(registry_dir, "instances")
    for path in (registry_dir, folder):
        if not os.path.lexists(path):
            reasons.append(none_running)
            return []
        problem = unsafe_folder(path)
        if problem is not None:
            reasons.append("no usable server: %s" % problem)
            return []
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError as error:
        reasons.append("no usable server: %s cannot be listed (%s)" % (folder, os_reason(error)))
        return []
    ranked, troubles, taken_by = [], [], []
    for name in names[:MAX_RECORDS]:
        try:
            beat, candidate, own_type = _from_record(
                os.path.join(folder, name), dcc_type, env_token, own_server)
            ranked.append(((own_type, beat), candidate))
        except _Taken as taken:
            taken_by.append("taken: %s; start another server: service-cli serve --port 0" % taken)
        except _Unrelated as passed:
            reasons.append("%s: %s" % (name, passed))
        except RecordSkipped as passed:
            troubles.append("%s: %s" % (name, passed))
    # The last one is shown: what the user can do something about.
    if not ranked and troubles and not taken_by:
        troubles[-1] = "no usable server: " + troubles[-1]
    reasons.extend(troubles + taken_by)
    if not ranked and not troubles and not taken_by:
        reasons.append(none_running)
    ranked.sort(key=lambda each: each[0], reverse=True)
    return [candidate for _, candidate in ranked]


class _Unrelated(RecordSkipped):
    """It is for another kind of application, or of a server that is gone."""


class _Taken(RecordSkipped):
    """It would fit, but another application is linked to its server."""


def _from_record(path, dcc_type, env_token, own_server):
    data, beat = read_own_file(path, MAX_RECORD_BYTES)
    age = time.time() - beat
    if age > RECORD_SECONDS:
        raise _Unrelated("its server has not been heard of for %d s" % age)
    try:
        record = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise RecordSkipped("it is not JSON")
    if not isinstance(record, dict):
        raise RecordSkipped("it is not a record")
    kind, token_file = record.get("dcc_type"), record.get("host_token_file")
    if not isinstance(kind, str):
        raise RecordSkipped("it is not a record")
    if kind not in (dcc_type, "unknown"):
        raise _Unrelated("it is for another kind of application")
    try:
        address = parse_url(record.get("host_url"))
    except ValueError as error:
        raise RecordSkipped(str(error))
    if not address.loopback:
        raise RecordSkipped("its address is not on this machine")
    host = record.get("host")
    instance_id = record.get("instance_id")
    if isinstance(host, dict) and host.get("connected") is True:
        if own_server is None or instance_id != own_server:
            raise _Taken("another application is linked to %s" % address.url)
    if token_file is None:
        if not env_token:
            raise RecordSkipped(
                "its token is in the environment of the server: set SERVICE_HOST_TOKEN")
        token, origin = env_token, "environment"
    elif isinstance(token_file, str) and os.path.isabs(token_file):
        try:
            text, _ = read_own_file(token_file, MAX_TOKEN_BYTES)
        except RecordSkipped as passed:
            raise RecordSkipped("its token file %s" % passed)
        token = re.sub(r"\r?\n\Z", "", text.decode("ascii", "replace"))
        origin = token_file
    else:
        raise RecordSkipped("it names no token file")
    try:
        check_token(token)
    except ValueError as error:
        raise RecordSkipped(str(error))
    return beat, Candidate(address, token, origin, instance_id), kind == dcc_type
