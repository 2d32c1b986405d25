"""What is known of the notes of the open document."""

from . import preferences


def all_shown():
    """(notes, folder of their pictures) as they are now: none while the link is down, or while the
    scene is not shared: the server then does not know the document."""
    session = _session()
    return session.link.notes if session is not None and session.settings.scene else ([], None)


def why_none():
    """A sentence for a person who looks for notes."""
    if not is_connected():
        return "Not connected: notes are shown while the link is up."
    if not can_note():
        return "Notes need the scene and document, which are not shared: see the preferences."
    return "The server has told of no notes." if all_shown()[1] is None else "No notes"


def is_open(note):
    return note.get("state") not in ("accepted", "closed")


def name_now(target):
    """Of the object of a note: it may have another name by now, or be gone."""
    session, first = _session(), str(target.get("was") or target.get("name"))
    if session is None:
        return first
    told = target.get("id")
    now = session.identities.name(target.get("uid")) or told
    if session.lacks(now):
        return "%s (gone)" % first
    name = target.get("name") if now == told else now
    return name if name == first else "%s (was %s)" % (name, first)


def is_connected():
    session = _session()
    return session is not None and session.link.connected


def can_note():
    """The server knows the open document."""
    return is_connected() and _session().settings.scene


def _session():
    return preferences.RUNNING.session if preferences.RUNNING is not None else None
