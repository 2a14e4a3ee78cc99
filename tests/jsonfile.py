"""JSON in tests written in shell.  tests/cli/json-lib.bash has a function for it:
    json FILE KEYPATH             print the value; of a list that `*` made, one a line
    json FILE KEYPATH=JSON...     fail, and say which, unless each value is as given
    json -w FILE KEYPATH=JSON...  change the file: set each value

KEYPATH is keys of objects and indices of lists (-1 is the last), separated by dots: nodes.0.name.
`*` stands for all members: nodes.*.name is the list of all names, and with -w each is set.
In changes, KEYPATH= removes the key, and KEYPATH=@KEY copies KEY of the same object.
The JSON of a bundle (.tib) is its MANIFEST.json.

Checks that need more than comparing values are Python functions in tests/cli/*_checks.py:
    check gather FUNCTION ARGUMENT...
"""
import json
import os
import sys
import zipfile

MANIFEST = "MANIFEST.json"


def read(path):
    if path.endswith(".tib"):
        with zipfile.ZipFile(path) as bundle:
            return json.loads(bundle.read(MANIFEST))
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write(path, content):
    """Changes a bundle by writing it anew: its members cannot be replaced."""
    text = json.dumps(content)
    if not path.endswith(".tib"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(path + ".new", "w") as new:
        for name in old.namelist():
            new.writestr(name, text if name == MANIFEST else old.read(name))
    os.rename(path + ".new", path)


def step(value, key):
    return value[int(key)] if isinstance(value, list) else value[key]


def find(value, keys):
    """The value at these keys; of `*` the list of all."""
    for i, key in enumerate(keys):
        if key == "*":
            members = value if isinstance(value, list) else value.values()
            return [find(member, keys[i + 1:]) for member in members]
        value = step(value, key)
    return value


def change(value, keys, text):
    """Sets the value at these keys to what TEXT stands for."""
    if keys[0] == "*":
        for key in range(len(value)) if isinstance(value, list) else list(value):
            change(value, [str(key)] + keys[1:], text)
    elif len(keys) > 1:
        change(step(value, keys[0]), keys[1:], text)
    elif not text:
        del value[keys[0]]
    else:
        new = value[text[1:]] if text[0] == "@" else json.loads(text)
        value[int(keys[0]) if isinstance(value, list) else keys[0]] = new


def run_function(functions):
    """For the modules of checks: calls the function that the command line names."""
    functions[sys.argv[1]](*sys.argv[2:])


def same(value, expected):
    """In Python True == 1, in JSON it is not."""
    return value == expected and isinstance(value, bool) == isinstance(expected, bool)


def show(value):
    return value if isinstance(value, str) else json.dumps(value)


def main(arguments):
    writes = arguments[0] == "-w"
    path, *rest = arguments[writes:]
    content = read(path)
    differences = []
    for argument in rest:
        keypath, equals, text = argument.partition("=")
        keys = keypath.split(".")
        if writes:
            change(content, keys, text)
            continue
        try:
            value = find(content, keys)
        except (KeyError, IndexError, TypeError):
            differences.append("there is no %s" % keypath)
            continue
        if not equals:
            print(*(map(show, value) if "*" in keys else [show(value)]), sep="\n")
        elif not same(value, json.loads(text)):
            differences.append("%s is %s, not %s" % (keypath, show(value), text))
    if writes:
        write(path, content)
    for difference in differences:
        print("%s: %s" % (path, difference), file=sys.stderr)
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
