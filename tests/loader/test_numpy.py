"""numpy reads what weft writes, and weft what numpy writes, bit for bit: every shared type, shape
and order through .npy, .npz and .safetensors. Usage: test_numpy.py TENSOR_FILES [EMULATOR …]"""

import io
import json
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

program = sys.argv[2:] + [sys.argv[1]]
folder = tempfile.TemporaryDirectory()
root = Path(folder.name)
NAMES = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1",
         "U8": "u1", "BOOL": "?"}
n_checks = 0


def convert(source, target):
    run = subprocess.run(program + [str(source), str(target)], capture_output=True, text=True,
                         check=False)
    assert run.returncode == 0, f"{source.name} to {target.name}: {run.stderr}"


def refused(source, status, part):
    global n_checks
    run = subprocess.run(program + [str(source), str(root / "never.npz")], capture_output=True,
                         text=True, check=False)
    assert run.returncode == 1 and status in run.stderr and part in run.stderr, \
        f"{source.name}: {run.returncode} {run.stderr}, not {status} with '{part}'"
    assert not (root / "never.npz").exists()
    n_checks += 1


def same(want, got, what):
    global n_checks
    want = want.astype(want.dtype.newbyteorder("="))
    assert want.dtype == got.dtype and want.shape == got.shape, \
        f"{what}: {got.dtype} {got.shape}, not {want.dtype} {want.shape}"
    assert want.tobytes() == got.tobytes(), f"{what}: elements differ"
    n_checks += 1


def read_safetensors(path):
    data = path.read_bytes()
    n, = struct.unpack("<Q", data[:8])
    assert n % 8 == 0
    found, covered = {}, 0
    for name, entry in json.loads(data[8:8 + n]).items():
        begin, end = entry["data_offsets"]
        item = np.dtype(NAMES[entry["dtype"]])
        assert begin == covered and begin % item.itemsize == 0
        covered = end
        found[name] = np.frombuffer(data[8 + n + begin:8 + n + end], item).reshape(entry["shape"])
    assert covered == len(data) - 8 - n
    return found


def arrays():
    rng = np.random.default_rng(7)
    shapes = [(), (1,), (5,), (0,), (3, 4), (2, 3, 4), (3, 0, 2), (1, 2, 1, 2, 1, 2, 1, 2)]
    for spelling in NAMES.values():
        for shape in shapes:
            n = int(np.prod(shape))
            item = np.dtype(spelling)
            values = rng.integers(0, 2, n) if spelling == "?" else rng.integers(0, 256, n * 8)
            flat = (values.astype("?") if spelling == "?" else
                    np.frombuffer(values.astype("u1").tobytes(), item)[:n])
            yield f"{spelling.replace('?', 'b1')}_{'x'.join(map(str, shape))}", flat.reshape(shape)


whole = dict(arrays())
for name, array in whole.items():
    if "2x3x4" not in name and "3x4" not in name and name[:2] not in ("f4", "b1"):
        continue  # the others go through the archive below
    variants = {"c": array, "fortran": np.asfortranarray(array),
                "big": array.astype(array.dtype.newbyteorder(">"))}
    for label, variant in variants.items():
        for version in ((1, 0), (2, 0), (3, 0)) if label == "c" else ((1, 0),):
            source, target = root / "in.npy", root / "out.npy"
            with open(source, "wb") as file:
                np.lib.format.write_array(file, variant, version=version)
            convert(source, target)
            same(variant, np.load(target), f"{name} {label} {version}")

np.savez(root / "all.npz", **whole)
convert(root / "all.npz", root / "again.npz")
convert(root / "again.npz", root / "all.safetensors")
convert(root / "all.safetensors", root / "back.npz")
assert zipfile.ZipFile(root / "again.npz").testzip() is None
for path in ("again.npz", "back.npz"):
    with np.load(root / path) as got:
        assert set(got.files) == set(whole)
        for name, array in whole.items():
            same(array, got[name], f"{path} {name}")
got = read_safetensors(root / "all.safetensors")
for name, array in whole.items():
    same(array, got[name], f"safetensors {name}")

odd = {"a/b": np.arange(3.0), 'quote "\\\n': np.arange(2), "größe": np.ones((2, 2), "f4")}
np.savez(root / "odd.npz", **odd)
convert(root / "odd.npz", root / "odd.safetensors")
assert set(read_safetensors(root / "odd.safetensors")) == set(odd)
convert(root / "odd.safetensors", root / "odd2.npz")
with np.load(root / "odd2.npz") as got:
    for name, array in odd.items():
        same(array, got[name], name)
np.savez(root / "none.npz")
convert(root / "none.npz", root / "none2.npz")
assert np.load(root / "none2.npz").files == []

np.savez_compressed(root / "small.npz", a=np.zeros(100))
refused(root / "small.npz", "WEFT_E_UNSUPPORTED", "'a.npy' is compressed (method 8)")
for dtype, part in (("u2", "'<u2'"), ("c8", "'<c8'"), ("O", "Python objects"), ("V2", "raw bytes"),
                    ("M8[s]", "'<M8[s]'"), ([("x", "f4")], "records"), ("U3", "'<U3'")):
    np.save(root / "in.npy", np.zeros(2, dtype), allow_pickle=True)
    refused(root / "in.npy", "WEFT_E_UNSUPPORTED", part)
np.save(root / "in.npy", np.zeros((1,) * 9))
refused(root / "in.npy", "WEFT_E_UNSUPPORTED", "more than 8 dims")
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w") as archive:
    archive.writestr("readme.txt", "text")
(root / "text.npz").write_bytes(buffer.getvalue())
refused(root / "text.npz", "WEFT_E_UNSUPPORTED", "'readme.txt' is no .npy file")
assert n_checks > 300, n_checks
print(f"{n_checks} arrays and refusals")
