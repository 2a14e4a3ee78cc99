"""Numbers and lists in words, as the other tools print them."""


def count(value):
    return f"{value:,}" if isinstance(value, int) else str(value)


def size(value):
    """Bytes with a binary unit: 372.3 KiB."""
    value = float(value)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def seconds(value, digits=3):
    if value is None:
        return "unknown"
    if value >= 120:
        minutes, rest = divmod(round(value), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1 or unit == "µs":
            return f"{value * factor:.{digits}g} {unit}"
    return f"{value} s"


def percent(share):
    share *= 100
    if abs(share) < 0.05:
        return "< 0.1 %" if share else "0 %"
    return f"{share:.0f} %" if share >= 10 else f"{share:.1f} %"


def ranges(list_of_pairs, most=4):
    """Ranges of ranks: 0-7, 15; the first few."""
    parts = [str(a) if a == b else f"{a}-{b}" for a, b in list_of_pairs[:most]]
    if len(list_of_pairs) > most:
        more = len(list_of_pairs) - most
        parts.append(f"and {more} more range{'s' if more > 1 else ''}")
    return ", ".join(parts)


def ranks(list_of_pairs, most=4):
    one = len(list_of_pairs) == 1 and list_of_pairs[0][0] == list_of_pairs[0][1]
    return ("rank " if one else "ranks ") + ranges(list_of_pairs, most)


def place(item):
    """Where a call is: 'recv in receive_rim, lu.c:318'; its call site if the source is not known."""
    call = item.get("operation") or item.get("call") or ""
    function, file, line = (item.get(k) for k in ("function", "file", "line"))
    if file:
        where = f"{file.rsplit('/', 1)[-1]}:{line}"
        where = f"{function}, {where}" if function else where
    elif function:
        where = function
    else:
        where = site(item)
    return f"{call} in {where}" if where and call else call or where


def grouped(numbers):
    """A sorted list of numbers as ranges: [[0, 7], [15, 15]]."""
    out = []
    for n in numbers:
        if out and n == out[-1][1] + 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return out


def more(number, noun, share):
    """What a figure leaves out, and how much that holds; '' for nothing."""
    return f"{number:,} more {noun}{'s' * (number > 1)} hold{'s' * (number == 1)} {share}." if number > 0 else ""


def distinct(labelled):
    """The labels of (label, call) pairs; those that several calls share get the address of the call."""
    labels = [label for label, _ in labelled]
    return [f"{label} ({site(call)})" if labels.count(label) > 1 and site(call) else label
            for label, call in labelled]


def site(call):
    """The address of a call, without the program's build id."""
    return (call.get("site") or "").split(" [")[0]
