"""The build refuses an include from a layer that the design does not allow, and allows the others.
Usage: test_layers.py SOURCE_FOLDER BUILD_FOLDER

Takes the compile command of one file of each layer and gives it, instead of that file, one line
that includes a header of another layer."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ALLOWED = {
    "base": [],
    "tensor": ["base"],
    "loader": ["base", "tensor"],
    "text": ["base"],
    "model": ["base", "tensor"],
    "engine": ["base", "tensor", "loader", "text", "model"],
    "tools": [],
}
HEADERS = {"base": "base/alloc.h", "tensor": "tensor/weights.h", "loader": "loader/loader.h",
           "text": "text/text.h", "model": "model/cache.h", "engine": "engine/impl.h"}

source, build = sys.argv[1:3]
failures = []


def fail(text):
    failures.append(text)
    print("FAILED:", text)


def folder_of(file):
    parts = os.path.relpath(file, source).split(os.sep)
    return parts[1] if parts[0] == "src" else parts[0]


def compiles(entry, line):
    """Whether `line` compiles with the flags of `entry`."""
    words = shlex.split(entry["command"])
    kept, skip = [], False
    for word in words:
        if skip or word in ("-c", entry["file"]):
            skip = False
        elif word == "-o":
            skip = True
        else:
            kept.append(word)
    with tempfile.NamedTemporaryFile("w", suffix=".c", dir=build) as file:
        file.write(line + "\nextern int weft_one;\n")
        file.flush()
        run = subprocess.run(kept + ["-fsyntax-only", file.name], cwd=entry["directory"],
                             capture_output=True, text=True, check=False)
        return run.returncode == 0, run.stderr


with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
    entries = {}
    for entry in json.load(commands):
        entries.setdefault(folder_of(entry["file"]), entry)

for layer, allowed in ALLOWED.items():
    if layer not in entries:
        print(f"skipped: nothing of {layer} is built here")
        continue
    for other, header in HEADERS.items():
        if other == layer or not os.path.exists(os.path.join(source, "src", header)):
            continue
        done, errors = compiles(entries[layer], f'#include "{header}"')
        if done and other not in allowed:
            fail(f"{layer} can include {header}")
        if not done and other in allowed:
            fail(f"{layer} cannot include {header}: {errors[:300]}")
    if not compiles(entries[layer], "#include <weft/weft.h>")[0]:
        fail(f"{layer} cannot include weft/weft.h")

# The spelling: a file reaches another layer by "layer/file.h" only, never by a relative path.
pattern = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
for top in ("src", "tools", "include"):
    for base, _, files in os.walk(os.path.join(source, top)):
        for name in files:
            path = os.path.join(base, name)
            if not name.endswith((".c", ".h", ".inc")):
                continue
            layer = folder_of(path)
            with open(path, encoding="utf-8") as file:
                for mark, header in pattern.findall(file.read()):
                    first = header.split("/")[0]
                    where = os.path.relpath(path, source)
                    if ".." in header.split("/"):
                        fail(f"{where}: {header} goes through ..")
                    elif top == "include" and (mark == '"' or first in ALLOWED):
                        fail(f"{where}: public headers include <weft/…> and the standard's only")
                    elif first in HEADERS and first not in (layer, *ALLOWED.get(layer, [])):
                        fail(f"{where}: {layer} must not include {header}")

if not failures:
    print("the include direction holds")
sys.exit(bool(failures))
