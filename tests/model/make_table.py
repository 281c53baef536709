#!/usr/bin/env python3
"""Puts the errors that test_architectures prints into the table of docs/models.md.

test_architectures | make_table.py docs/models.md"""

import re
import sys

BEGIN, END = "<!-- of make_table.py -->\n", "<!-- end -->\n"

rows = {}
for line in sys.stdin:
    found = re.match(r"\| (\w+) \| ([\w.-]+) \| (GGUF|folder) \| (\S+) \| (\w+) \|", line)
    if found:
        kind, name, form, error, greedy = found.groups()
        rows.setdefault((kind, name), {})[form] = (error, greedy)
if not rows:
    sys.exit("no row of test_architectures on standard input")

table = ["| model | GGUF | folder | greedy |", "|---|---|---|---|"]
for (kind, name), forms in sorted(rows.items(), key=lambda row: (row[0][1], row[0][0])):
    cells = [forms[f][0] if f in forms else "–" for f in ("GGUF", "folder")]
    greedy = "equal" if all(g == "equal" for _, g in forms.values()) else "differs"
    mark = "" if kind == "reference" else " ¹"
    table.append(f"| {name}{mark} | {cells[0]} | {cells[1]} | {greedy} |")

page = open(sys.argv[1], encoding="utf-8").read()
head, rest = page.split(BEGIN)
tail = rest.split(END)[1]
open(sys.argv[1], "w", encoding="utf-8").write(head + BEGIN + "\n".join(table) + "\n" + END + tail)
