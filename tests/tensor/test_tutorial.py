#!/usr/bin/env python3
"""docs/tensor.md's C code is that of docs/examples/tensor.c, mark by mark, and the program runs.

Usage: test_tutorial.py ROOT PROGRAM [EMULATOR]. With --write the page's code is replaced."""
import re
import subprocess
import sys
import textwrap
from pathlib import Path

root = Path(sys.argv[1])
source = (root / "docs/examples/tensor.c").read_text()
page_path = root / "docs/tensor.md"
page = page_path.read_text()
sections = {name: textwrap.dedent(code).strip("\n") for name, code in
            re.findall(r"    /\* \[(?!end)(\w+)\] \*/\n(.*?)    /\* \[end\] \*/", source, re.S)}
block = re.compile(r"<!-- (\w+) -->\n```c\n(.*?)\n```", re.S)
if "--write" in sys.argv:
    page_path.write_text(block.sub(
        lambda m: f"<!-- {m[1]} -->\n```c\n{sections[m[1]]}\n```", page))
    sys.exit()
shown = dict(block.findall(page))
if set(shown) != set(sections):
    sys.exit(f"sections differ: page {sorted(shown)}, program {sorted(sections)}")
for name, code in sections.items():
    if shown[name] != code:
        sys.exit(f"docs/tensor.md, section {name}, is not what docs/examples/tensor.c has")
subprocess.run([*sys.argv[3:], sys.argv[2]], check=True)
