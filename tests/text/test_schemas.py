"""What grammars of JSON schemas generate validates by the Python package jsonschema.
Usage: test_schemas.py SAMPLE_SCHEMAS SCHEMAS.json N [SEED]; exit 77 without the package.
Prints a line for each text that fails, and the table of docs/sampling.md."""

import decimal
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: no Python package jsonschema")
    sys.exit(77)

program, path, n = sys.argv[1:4]
seed = sys.argv[4] if len(sys.argv) > 4 else "1"
with open(path, encoding="utf-8") as file:
    source = file.read()
entries = json.loads(source)


def standard(schema):
    """OpenAPI's nullable as 2020-12 says it, here and in all parts."""
    if isinstance(schema, list):
        return [standard(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {name: part if name in ("const", "enum") else standard(part)
             for name, part in schema.items()}
    if schema.get("nullable") is True and "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        parts["type"] = [*types, "null"]
    return parts


def has_decimal_step(schema):
    """Whether a multipleOf is no whole number: 0.07 is a multiple of 0.01, but not its double."""
    if isinstance(schema, list):
        return any(map(has_decimal_step, schema))
    return isinstance(schema, dict) and (isinstance(schema.get("multipleOf"), decimal.Decimal)
                                         or any(map(has_decimal_step, schema.values())))


def has_format(schema, formats):
    """Whether one of the formats stands anywhere in a schema."""
    if isinstance(schema, list):
        return any(has_format(part, formats) for part in schema)
    return isinstance(schema, dict) and (
        schema.get("format") in formats
        or any(has_format(part, formats) for part in schema.values()))


# Numbers are doubles, as most readers have them, and decimals where steps are.
exact = json.loads(source, parse_float=decimal.Decimal)
readers = [decimal.Decimal if has_decimal_step(e["schema"]) else float for e in exact]
Validator = jsonschema.Draft202012Validator
validators = [Validator(standard((e if reader is float else x)["schema"]),
                        format_checker=Validator.FORMAT_CHECKER)
              for e, x, reader in zip(entries, exact, readers)]
# Exactly one of several formats can be told only by a validator that knows them all.
EXTRA = {"date-time", "time", "duration", "hostname", "idn-hostname", "uri", "uri-reference", "iri",
         "iri-reference", "uri-template", "json-pointer", "relative-json-pointer"}
unknown = EXTRA - set(Validator.FORMAT_CHECKER.checkers)
known = [not (has_format(e["schema"], unknown) and {"oneOf", "not", "if"} & set(str(e).split("'")))
         for e in entries]
run = subprocess.run([program, path, n, seed], stdout=subprocess.PIPE, check=True)
counts = [0] * len(entries)
bad = 0
for line in run.stdout.decode("utf-8").split("\n")[:-1]:
    number, text, *why = json.loads(line)
    name = entries[number]["name"]
    if text is None:
        print(f"FAILED: {name}: refused: {why[0]}")
        bad += 1
        continue
    counts[number] += 1
    if not known[number]:
        continue
    try:
        validators[number].validate(json.loads(text, parse_float=readers[number]))
    except (ValueError, jsonschema.ValidationError) as error:
        print(f"FAILED: {name}: {text[:200]!r}: {str(error).splitlines()[0][:200]}")
        bad += 1
for entry, count in zip(entries, counts):
    if count < int(n) / 10:
        print(f"FAILED: {entry['name']}: only {count} of {n} texts came to an end")
        bad += 1

KINDS = {"type": "single types", "const": "values", "enum": "values", "integer": "integers",
         "number": "numbers", "string": "strings", "pattern": "patterns", "search": "patterns",
         "format": "formats", "array": "arrays", "tuple": "arrays", "matrix": "arrays",
         "anyOf": "anyOf", "oneOf": "oneOf", "allOf": "allOf"}
table = {}
for entry, count in zip(entries, counts):
    kind = KINDS.get(entry["name"].split()[0], "objects, tools, references, conditions, mixtures")
    schemas, texts = table.get(kind, (0, 0))
    table[kind] = schemas + 1, texts + count
print("| kind | schemas | texts, all valid |\n|---|---|---|")
for kind, (schemas, texts) in table.items():
    print(f"| {kind} | {schemas} | {texts} |")
print(f"{len(entries)} schemas, {sum(counts)} texts, {bad} failures")
sys.exit(bool(bad) or len(entries) < 200)
