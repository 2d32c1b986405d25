"""What is new in Blender's list of operators that were run. The list is cut at its head."""


def new_entries(before, now):
    """The entries of `now` that were appended since it was `before`; both hold comparable keys."""
    if before[: len(now)] == now:
        return []  # some were taken back, or nothing happened
    for cut in range(len(before) + 1):
        kept = len(before) - cut
        if kept <= len(now) and before[cut:] == now[:kept]:
            return now[kept:]
    return now


def action_name(idname):
    """OBJECT_OT_delete, as Python calls it: object.delete."""
    head, found, tail = idname.partition("_OT_")
    return head.lower() + "." + tail if found else idname
