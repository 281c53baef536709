#!/usr/bin/env python3
"""Writes ops.h, docs/ops.md and extra/op_list.h from ops.table; needs clang-format.

Usage: make_ops.py ROOT [--check]"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
CHECK = "--check" in sys.argv[2:]
KINDS = ("create", "view", "op", "map1", "map2", "logic", "where", "reduce")


def read_table():
    sections = []
    for number, line in enumerate((ROOT / "src/tensor/ops.table").read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("== "):
            sections.append({"title": line[3:], "text": [], "ops": []})
        elif line.startswith("- "):
            sections[-1]["text"].append(line[2:])
        else:
            cells = [cell.strip() for cell in line.split("|", 6)]
            if len(cells) != 7 or cells[1] not in KINDS:
                sys.exit(f"ops.table:{number}: seven cells are needed: {cells}")
            keys = ("name", "kind", "params", "types", "shape", "sums", "words")
            sections[-1]["ops"].append(dict(zip(keys, cells)))
    return sections


def parameters(text):
    """C parameters after the scope; a bare word is a tensor."""
    out = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        out.append(part if " " in part else f"weft_tensor *{part.rstrip('?')}")
    return out


def functions(op):
    """(name, parameters) of each spelling."""
    name, extra = op["name"], parameters(op["params"])
    x, ab = ["weft_tensor *x"], ["weft_tensor *a", "weft_tensor *b"]
    if op["kind"] == "map1":
        return [(name, x)]
    if op["kind"] in ("map2", "logic"):
        out = [(name, ab), (f"broadcast_{name}", ab)]
        return out + ([(f"{name}_scalar", x + ["double value"])] if op["kind"] == "map2" else [])
    if op["kind"] == "where":
        return [(name, extra), (f"broadcast_{name}", extra)]
    if op["kind"] == "reduce":
        return [(name, x + extra + ["int axis", "bool keep"]),
                (f"{name}_dims", x + extra + ["const int *axes", "int n_axes", "bool keep"])]
    return [(name, extra)]


def result(params):
    writes = any("**" in p or p == "bool *out" for p in params)
    return "weft_status " if writes else "weft_tensor *"


def comment(text, indent=""):
    """A block comment of at most 100 columns."""
    words, lines, line = text.split(), [], ""
    for word in words:
        if len(line) + 1 + len(word) > 96 - len(indent) and line:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    lines.append(line)
    if len(lines) == 1:
        return f"{indent}/* {lines[0]} */"
    body = f"\n{indent} * ".join(lines)
    end = " */" if len(lines[-1]) < 94 else f"\n{indent} */"
    return f"{indent}/* {body}{end}"


HEADER_TOP = """\
/* Ops: each borrows its inputs, never changes them, and returns a fresh tensor owned by the scope,
 * or NULL with the scope's status set (those that give a status return it as well). Any strides are
 * accepted. Types: "float" is f64, f32, f16, bf16; "half" f32, f16, bf16; "number" these and i64,
 * i32, i16, i8, u8; "any" also bool. f16 and bf16 compute in f32 or wider and round once. Axes may
 * be negative. Shapes stand beside each op; B… are any leading dims.
 *
 * Written by src/tensor/make_ops.py from ops.table; docs/ops.md is the list. */
#ifndef WEFT_OPS_H
#define WEFT_OPS_H

#include <weft/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif
"""


def header(sections):
    out = [HEADER_TOP]
    for section in sections:
        ops = [op for op in section["ops"] if op["kind"] not in ("view", "create")]
        if not ops:
            continue
        out.append(comment(" ".join([f"---- {section['title']} ----"] + section["text"])) + "\n")
        for op in ops:
            notes = f"{op['words']}. {op['types'].capitalize()}"
            if op["shape"] not in ("as x", "equal", "without the axis", "dims"):
                notes += f"; {op['shape']}"
            out.append(comment(notes))
            for name, params in functions(op):
                returns = result(params)
                out.append(f"WEFT_API {returns}weft_{name}(weft_scope *s, {', '.join(params)});")
        out.append("")
    out.append("#ifdef __cplusplus\n}\n#endif\n#endif")
    return pretty("\n".join(out) + "\n")


def pretty(text):
    command = ["clang-format", "--assume-filename=ops.h", f"--style=file:{ROOT}/.clang-format"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout


def op_list(sections):
    out = ["/* Every op, as X(name, kind, types, sums): for lists that must not miss one (tests,",
           " * benchmarks, bindings). Kinds and types: src/tensor/ops.table, from which",
           " * make_ops.py writes this. Public, but not ABI-stable. */",
           "#ifndef WEFT_EXTRA_OP_LIST_H",
           "#define WEFT_EXTRA_OP_LIST_H", "",
           "#define WEFT_OP_LIST(X) \\"]
    rows = []
    for section in sections:
        for op in section["ops"]:
            kind = op["kind"].upper()
            rows.append(f"    X({op['name']}, {kind}, \"{op['types']}\", \"{op['sums']}\")")
    width = max(99, max(len(row) for row in rows))
    out += [row.ljust(width) + "\\" for row in rows[:-1]] + [rows[-1]]
    out += ["", "#endif"]
    return pretty("\n".join(out) + "\n")


def page(sections):
    count = sum(len(functions(op)) for s in sections for op in s["ops"])
    names = sum(len(s["ops"]) for s in sections)
    out = ["# Ops", "",
           "Written by `src/tensor/make_ops.py` from `src/tensor/ops.table`, as `weft/ops.h` is; "
           f"{names} ops in {count} spellings. Every one is in the property tests.", "",
           "Types: `float` is f64, f32, f16, bf16; `half` f32, f16, bf16; `number` these and i64,",
           "i32, i16, i8, u8; `any` also bool; `blocks` the block-quantised types. Shapes: B… are",
           "any leading dims. How to use them: [tensor.md](tensor.md); rounding, NaN, integers:",
           "[numerics.md](numerics.md).", ""]
    for section in sections:
        out += [f"## {section['title']}", ""]
        if section["text"]:
            out += [" ".join(section["text"]), ""]
        out += ["| op | gives | types | shape | adds up in |", "|---|---|---|---|---|"]
        for op in section["ops"]:
            spelled = [name for name, _ in functions(op)]
            call = f"`{spelled[0]}({', '.join(short(op))})`"
            if len(spelled) > 1:
                call += ", " + ", ".join(f"`{name}`" for name in spelled[1:])
            cells = [call, op["words"], op["types"], op["shape"], op["sums"]]
            out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        out.append("")
    out += [PHILOX]
    return "\n".join(out) + "\n"


PHILOX = """## Random numbers

The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
1, 2, 3", 2011): key = the 64-bit seed, counter = (block, 0), four 32-bit words a block. For f32,
f16 and bf16 element i is word i mod 4 of block i / 4, its upper 24 bits times 2^-24; for f64 it is
words 2 (i mod 2) and the next of block i / 2, 53 bits. `random_normal` takes block i for element
i: sqrt(-2 log u) cos(2 pi v) in double. `random_permutation` is Fisher and Yates' shuffle from the
end, a block a step, by the upper half of a 64-bit number times the range (Lemire 2019)."""


def short(op):
    params = functions(op)[0][1]
    return [re.sub(r".*[ *]", "", p) for p in params]


def main():
    if CHECK and not shutil.which("clang-format"):
        print("skipped: no clang-format")
        sys.exit(77)
    sections = read_table()
    declared = (ROOT / "include/weft/tensor.h").read_text()
    for op in (op for s in sections for op in s["ops"]):
        prefix = {"view": "weft_tensor_", "create": "weft_"}.get(op["kind"])
        if prefix and f"{prefix}{op['name']}(" not in declared:
            sys.exit(f"ops.table: tensor.h does not declare {prefix}{op['name']}")
    files = {"include/weft/ops.h": header(sections), "docs/ops.md": page(sections),
             "include/weft/extra/op_list.h": op_list(sections)}
    stale = [name for name, text in files.items()
             if not (ROOT / name).exists() or (ROOT / name).read_text() != text]
    if CHECK and stale:
        sys.exit("stale, run src/tensor/make_ops.py: " + ", ".join(stale))
    for name in stale:
        (ROOT / name).write_text(files[name])


main()
