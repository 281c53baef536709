"""Writes schemas.json: schemas of the kinds that tools and structured output use.
Usage: make_schemas.py > schemas.json"""

import json

LIST = []


def add(name, schema):
    LIST.append({"name": name, "schema": schema})


def tool(name, properties, required=None, **more):
    schema = {"type": "object", "properties": properties}
    if required is not None:
        schema["required"] = required
    schema.update(more)
    add(name, schema)


STRING, INTEGER, NUMBER, BOOLEAN = ({"type": t} for t in ("string", "integer", "number", "boolean"))

# Single types and values.
for kind in ("null", "boolean", "object", "array", "string", "number", "integer"):
    add(f"type {kind}", {"type": kind})
add("any", True)
add("empty", {})
add("two types", {"type": ["string", "null"]})
add("many types", {"type": ["integer", "boolean", "array", "null"], "items": INTEGER})
add("nullable", {"type": "string", "nullable": True, "maxLength": 5})
add("annotations", {"type": "integer", "title": "A", "description": "n", "default": 3,
                    "examples": [1], "$comment": "c", "readOnly": True, "x-order": 1})
for value in (None, True, 0, -12, 3.25, "text", "q\"u\\o\n", "日本 é", [], {}, [1, "a", None],
              {"a": {"b": [1, 2]}, "c": 0.5}):
    add(f"const {value!r}", {"const": value})
add("enum strings", {"enum": ["red", "green", "blue"]})
add("enum mixed", {"enum": ["a", 1, None, False, [1], {"k": "v"}, 2.5]})
add("enum typed", {"type": "string", "enum": ["a", 1, "b", None]})
add("enum prefixes", {"enum": ["a", "ab", "abc", "abcd", "b"]})
add("enum large", {"type": "string", "enum": [f"value_{i:03d}" for i in range(300)]})

# Numbers.
for low, high in ((0, 9), (1, 100), (-5, 5), (10, 10), (-100, -7), (37, 4711), (0, 255),
                  (-2147483648, 2147483647), (99, 101), (1000000, 20000001),
                  (0, 10), (5, 15), (190, 210), (-11, 0), (8, 1234)):
    add(f"integer {low}..{high}", {"type": "integer", "minimum": low, "maximum": high})
for low in (-17, 0, 1, 18, 123456789):
    add(f"integer from {low}", {"type": "integer", "minimum": low})
    add(f"integer to {low}", {"type": "integer", "maximum": low})
add("integer exclusive", {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 12})
add("integer real bounds", {"type": "integer", "minimum": 0.5, "maximum": 7.5})
add("integer multiple of one", {"type": "integer", "multipleOf": 1})
for low, high in ((0, 1), (-1, 1), (0.25, 0.75), (-90, 90), (-0.5, 12.125), (3.14, 3.15),
                  (0.001, 0.01), (-7.5, -7.25), (100, 1000.5), (2, 2), (0.05, 0.5),
                  (9.99, 10.01)):
    add(f"number {low}..{high}", {"type": "number", "minimum": low, "maximum": high})
    if low != high:
        add(f"number above {low}, below {high}",
            {"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": high})
for low in (-3.5, 0, 99.9):
    add(f"number from {low}", {"type": "number", "minimum": low})
    add(f"number to {low}", {"type": "number", "maximum": low})

# Strings.
for low, high in ((0, 0), (1, 1), (0, 5), (3, 8), (20, 40), (64, 64), (2, 200)):
    add(f"string of {low}..{high}", {"type": "string", "minLength": low, "maxLength": high})
add("string of 5 up", {"type": "string", "minLength": 5})
for pattern in ("^[A-Z]{3}-\\d{4}$", "^(yes|no|maybe)$", "[a-f]", "^\\d+(\\.\\d+)?$", "d$",
                "^start", "^[^\"\\\\]*$", "^\"quoted\"$", "^[\\w.+-]+@[\\w-]+\\.[a-z]{2,3}$",
                "^a?b+c*$", "^\\s*$", "^[\\u00e0-\\u00ff]+$", "x|^y$",
                "^#([0-9a-fA-F]{2}){3}$", "^.{2,4}$", "^[^a-z]+$", "\\S", "^(?:\\w{2,3} ?){1,4}$", "^-?[1-9]\\d*$",
                "^\\\\[a-z]+$", "^[a-z]{1,8}(-[a-z0-9]{1,4})*$", "^$"):
    add(f"pattern {pattern}", {"type": "string", "pattern": pattern})
add("pattern and length", {"type": "string", "pattern": "^[a-z]+$", "minLength": 3,
                           "maxLength": 6})
add("search and length", {"type": "string", "pattern": "[0-9]", "maxLength": 4})
for form in ("date", "time", "date-time", "uuid", "email", "ipv4", "ipv6", "hostname", "uri",
             "duration", "json-pointer", "password"):
    add(f"format {form}", {"type": "string", "format": form})
add("format and length", {"type": "string", "format": "email", "maxLength": 12})

# Arrays.
add("array of integers", {"type": "array", "items": INTEGER})
for low, high in ((0, 0), (1, 1), (0, 3), (2, 5), (4, 4)):
    add(f"array of {low}..{high}", {"type": "array", "items": BOOLEAN, "minItems": low,
                                    "maxItems": high})
add("array of 2 up", {"type": "array", "items": STRING, "minItems": 2})
add("tuple", {"type": "array", "prefixItems": [STRING, INTEGER, BOOLEAN], "items": False})
add("tuple full", {"type": "array", "prefixItems": [STRING, INTEGER], "items": False,
                   "minItems": 2})
add("tuple and rest", {"type": "array", "prefixItems": [INTEGER], "items": STRING, "minItems": 1,
                       "maxItems": 4})
add("matrix", {"type": "array", "items": {"type": "array", "items": NUMBER, "minItems": 2,
                                          "maxItems": 2}, "maxItems": 3})
add("array of anything", {"type": "array", "maxItems": 2})

# Objects.
tool("closed", {"a": STRING, "b": INTEGER}, ["a"], additionalProperties=False)
tool("all required", {"x": NUMBER, "y": NUMBER, "z": NUMBER}, ["x", "y", "z"])
tool("none required", {"p": BOOLEAN, "q": BOOLEAN, "r": BOOLEAN})
tool("last required", {"p": BOOLEAN, "q": BOOLEAN, "r": BOOLEAN}, ["r"])
tool("middle required", {"p": BOOLEAN, "q": BOOLEAN, "r": BOOLEAN}, ["q"])
tool("required unknown", {"a": INTEGER}, ["a", "extra"])
tool("open", {"name": STRING}, ["name"], additionalProperties=True)
tool("map", {}, additionalProperties=INTEGER)
tool("map and members", {"ab": INTEGER, "a": INTEGER, "日": INTEGER}, ["a"],
     additionalProperties=STRING)
tool("bounded map", {}, additionalProperties=BOOLEAN, maxProperties=2)
tool("odd names", {"a b": INTEGER, "q\"": INTEGER, "\\": INTEGER, "é": INTEGER, "": INTEGER},
     ["q\"", ""])
tool("twenty members", {f"field_{i}": STRING if i % 3 else INTEGER for i in range(20)},
     [f"field_{i}" for i in range(0, 20, 4)])
add("empty closed", {"type": "object", "additionalProperties": False})
add("unevaluated", {"type": "object", "properties": {"a": INTEGER},
                    "unevaluatedProperties": False})
add("no type", {"properties": {"a": {"minimum": 3}}, "required": ["a"]})

# Tools as people write them.
tool("weather", {"location": {"type": "string", "description": "City"},
                 "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}}, ["location"])
tool("search", {"query": STRING, "limit": {"type": "integer", "minimum": 1, "maximum": 50},
                "filters": {"type": "object", "properties": {
                    "from": {"type": "string", "format": "date"},
                    "tags": {"type": "array", "items": STRING, "maxItems": 3}}}}, ["query"])
tool("mail", {"to": {"type": "array", "items": {"type": "string", "format": "email"},
                     "minItems": 1, "maxItems": 2}, "subject": {"type": "string", "maxLength": 30},
              "body": STRING, "urgent": BOOLEAN}, ["to", "subject"], additionalProperties=False)
tool("calendar", {"start": {"type": "string", "format": "date-time"},
                  "end": {"type": ["string", "null"], "format": "date-time"},
                  "repeat": {"enum": ["daily", "weekly", None]}}, ["start", "end"])
tool("calculator", {"operation": {"enum": ["+", "-", "*", "/"]},
                    "operands": {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 4}},
     ["operation", "operands"], additionalProperties=False)
tool("patch", {"path": {"type": "string", "pattern": "^/[a-z/]*$"},
               "op": {"enum": ["add", "remove"]}, "value": {}}, ["op", "path"])
tool("invoice", {"id": {"type": "string", "format": "uuid"}, "lines": {
    "type": "array", "minItems": 1, "maxItems": 3, "items": {
        "type": "object", "required": ["sku", "price"], "additionalProperties": False,
        "properties": {"sku": {"type": "string", "pattern": "^[A-Z]{2}\\d{3}$"},
                       "count": {"type": "integer", "minimum": 1},
                       "price": {"type": "number", "minimum": 0, "maximum": 999.99}}}}},
     ["id", "lines"])

# References.
add("definitions", {"$defs": {"size": {"enum": ["s", "m"]}}, "type": "array",
                    "items": {"$ref": "#/$defs/size"}, "maxItems": 3})
add("old definitions", {"definitions": {"n": INTEGER}, "$ref": "#/definitions/n"})
add("reference beside keywords", {"$defs": {"n": INTEGER}, "$ref": "#/$defs/n", "minimum": 3,
                                  "maximum": 5})
add("escaped reference", {"$defs": {"a/b~c d": BOOLEAN}, "$ref": "#/$defs/a~1b~0c%20d"})
add("tree", {"$defs": {"node": {"type": "object", "required": ["value"], "properties": {
    "value": INTEGER, "children": {"type": "array", "maxItems": 2, "items": {
        "$ref": "#/$defs/node"}}}, "additionalProperties": False}}, "$ref": "#/$defs/node"})
add("list", {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {
    "type": "null"}]}, "v": BOOLEAN}, "required": ["next", "v"]})
add("mutual", {"$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/b"}, "maxItems": 2},
                         "b": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}}},
               "$ref": "#/$defs/a"})
add("expression", {"$defs": {"e": {"anyOf": [NUMBER, {
    "type": "object", "required": ["op", "l", "r"], "properties": {
        "op": {"enum": ["+", "*"]}, "l": {"$ref": "#/$defs/e"}, "r": {"$ref": "#/$defs/e"}}}]}},
    "$ref": "#/$defs/e"})

# Choices and conjunctions.
add("anyOf types", {"anyOf": [STRING, INTEGER, {"type": "null"}]})
add("anyOf objects", {"anyOf": [
    {"type": "object", "properties": {"a": INTEGER}, "required": ["a"]},
    {"type": "object", "properties": {"b": STRING}, "required": ["b"]}]})
add("anyOf beside properties", {"type": "object", "properties": {"k": INTEGER, "v": STRING},
                                "anyOf": [{"required": ["k"]}, {"required": ["v"]}]})
add("anyOf ranges", {"type": "integer", "anyOf": [{"maximum": 3}, {"minimum": 1000}]})
add("oneOf types", {"oneOf": [STRING, {"type": "array", "items": INTEGER}]})
add("oneOf tags", {"oneOf": [
    {"type": "object", "properties": {"kind": {"const": k}, "value": v},
     "required": ["kind", "value"]}
    for k, v in (("s", STRING), ("i", INTEGER), ("b", BOOLEAN))]})
add("oneOf enums", {"oneOf": [{"enum": [1, 2]}, {"enum": ["a"]}, {"const": None}]})
add("oneOf references", {"$defs": {"c": {"type": "object", "properties": {
    "t": {"const": "c"}, "r": NUMBER}, "required": ["t", "r"]}, "q": {
        "type": "object", "properties": {"t": {"enum": ["q", "p"]}, "w": NUMBER},
        "required": ["t"]}}, "oneOf": [{"$ref": "#/$defs/c"}, {"$ref": "#/$defs/q"}]})
add("allOf objects", {"allOf": [
    {"type": "object", "properties": {"a": INTEGER}, "required": ["a"]},
    {"properties": {"b": STRING}, "required": ["b"]}]})
add("allOf bounds", {"allOf": [{"type": "integer"}, {"minimum": 3}, {"maximum": 40},
                               {"exclusiveMaximum": 40}]})
add("allOf types", {"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "null"]}]})
add("allOf shared member", {"type": "object", "required": ["n"], "allOf": [
    {"properties": {"n": {"type": "integer"}}}, {"properties": {"n": {"minimum": 5}}}]})
add("allOf closed", {"allOf": [{"type": "object", "properties": {"a": INTEGER, "b": INTEGER}},
                               {"properties": {"a": {}}, "additionalProperties": False}]})
add("allOf and anyOf", {"allOf": [{"anyOf": [STRING, INTEGER]}, {"anyOf": [INTEGER, BOOLEAN]}]})
add("choices in choices", {"anyOf": [{"oneOf": [STRING, BOOLEAN]}, {"anyOf": [
    {"type": "array", "items": {"anyOf": [INTEGER, {"type": "null"}]}, "maxItems": 3}]}]})
add("impossible branch", {"anyOf": [False, {"type": "integer", "minimum": 3, "maximum": 2},
                                    {"enum": ["only"]}]})
add("optional impossible member", {"type": "object", "properties": {"no": False, "yes": BOOLEAN}})

# Names of the members and depth vary.
for depth in (2, 5, 9):
    inner = INTEGER
    for level in range(depth):
        inner = {"type": "object", "properties": {f"level{level}": inner},
                 "required": [f"level{level}"]}
    add(f"nested {depth}", inner)
for n in (1, 3, 7, 12):
    tool(f"{n} members", {chr(97 + i) * (i + 1): [STRING, INTEGER, BOOLEAN, NUMBER][i % 4]
                          for i in range(n)}, [chr(97 + i) * (i + 1) for i in range(0, n, 2)])
    add(f"array of objects of {n}", {"type": "array", "maxItems": 2, "items": {
        "type": "object", "properties": {f"k{i}": {"enum": [i, str(i)]} for i in range(n)},
        "required": [f"k{n - 1}"], "additionalProperties": False}})

# What is said by other keywords: conditions, exclusions, dependencies.
KIND = {"type": "object", "properties": {"kind": {"enum": ["a", "b", "c"]}, "x": INTEGER,
                                         "y": STRING}, "required": ["kind"]}
add("not type", {"not": {"type": "string"}})
add("not const", {"type": "string", "maxLength": 3, "not": {"const": "abc"}})
add("not enum of numbers", {"type": "integer", "minimum": 0, "maximum": 6,
                            "not": {"enum": [2, 5]}})
add("not number", {"type": "number", "minimum": 0, "maximum": 2, "not": {"const": 1}})
add("not range", {"type": "integer", "minimum": -9, "maximum": 9,
                  "not": {"minimum": -3, "maximum": 3}})
add("not pattern", {"type": "string", "maxLength": 6, "not": {"pattern": "[0-9]"}})
add("not required", {"type": "object", "properties": {"a": INTEGER, "b": INTEGER},
                     "not": {"required": ["a", "b"]}})
add("not a member's value", {**KIND, "not": {"properties": {"kind": {"const": "b"}},
                                             "required": ["kind"]}})
add("not anyOf", {"type": ["string", "integer", "null"], "not": {"anyOf": [
    {"type": "null"}, {"type": "integer", "minimum": 5}]}})
add("not allOf", {"type": "integer", "minimum": 0, "maximum": 20, "not": {"allOf": [
    {"minimum": 5}, {"maximum": 15}]}})
add("not among listed", {"enum": ["a", "bb", "ccc", 4], "not": {"minLength": 3}})
add("if then else", {**KIND, "if": {"properties": {"kind": {"const": "a"}}},
                     "then": {"required": ["x"]}, "else": {"required": ["y"]}})
add("if then", {**KIND, "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
                "then": {"properties": {"x": {"minimum": 10}}, "required": ["x"]}})
add("two conditions", {**KIND, "allOf": [
    {"if": {"properties": {"kind": {"const": k}}}, "then": {"required": [n]}}
    for k, n in (("a", "x"), ("b", "y"))]})
add("if of a number", {"type": "integer", "minimum": 0, "maximum": 100,
                       "if": {"minimum": 50}, "then": {"multipleOf": 10}})
add("oneOf overlapping ranges", {"type": "integer", "oneOf": [
    {"minimum": 0, "maximum": 10}, {"minimum": 8, "maximum": 20}]})
add("oneOf required", {"type": "object", "properties": {"a": INTEGER, "b": STRING, "c": BOOLEAN},
                       "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})
add("oneOf objects", {"oneOf": [
    {"type": "object", "properties": {"a": INTEGER}, "required": ["a"]},
    {"type": "object", "properties": {"b": STRING}, "required": ["b"]}]})
add("oneOf strings", {"oneOf": [{"type": "string", "maxLength": 3},
                                {"type": "string", "pattern": "^[a-c]+$", "maxLength": 6}]})
add("dependentRequired", {"type": "object", "properties": {"card": STRING, "address": STRING,
                                                           "name": STRING},
                          "dependentRequired": {"card": ["address"]}})
add("dependentSchemas", {"type": "object", "properties": {"n": INTEGER, "m": INTEGER},
                         "dependentSchemas": {"n": {"properties": {"m": {"minimum": 5}},
                                                    "required": ["m"]}}})
# Numbers, arrays and members by rule.
for step in (2, 3, 7, 10, 60, 1000):
    add(f"integer multipleOf {step}", {"type": "integer", "multipleOf": step})
add("integer multipleOf with bounds", {"type": "integer", "multipleOf": 5, "minimum": -12,
                                       "maximum": 33})
add("integer multipleOf from", {"type": "integer", "multipleOf": 250, "minimum": 1})
add("number multipleOf", {"type": "number", "multipleOf": 4, "exclusiveMaximum": 0})
add("integer multipleOf two", {"allOf": [{"type": "integer", "multipleOf": 4},
                                         {"multipleOf": 6}], "minimum": 0, "maximum": 99})
add("array unique enum", {"type": "array", "uniqueItems": True, "items": {
    "enum": ["red", "green", "blue", 1, 2]}, "minItems": 1})
add("array unique bounded", {"type": "array", "uniqueItems": True, "items": {
    "type": "string", "enum": ["a", "b", "c", "d", "e", "f", "g"]}, "minItems": 2, "maxItems": 3})
add("array unique of one", {"type": "array", "uniqueItems": True, "items": STRING, "maxItems": 1})
add("array contains", {"type": "array", "items": INTEGER, "contains": {"const": 7},
                       "maxItems": 5})
add("array contains between", {"type": "array", "items": {"enum": [1, 2, 3]}, "contains": {
    "minimum": 3}, "minContains": 2, "maxContains": 3, "maxItems": 6, "minItems": 3})
add("array contains at most", {"type": "array", "items": {"type": ["integer", "string"]},
                               "contains": STRING, "minContains": 0, "maxContains": 1,
                               "maxItems": 4})
add("patternProperties", {"type": "object", "patternProperties": {"^x-[a-z]+$": INTEGER}})
add("patternProperties and others", {"type": "object", "properties": {"id": INTEGER},
                                     "required": ["id"],
                                     "patternProperties": {"^s_": STRING, "^n_": NUMBER},
                                     "additionalProperties": BOOLEAN})
add("patternProperties closed", {"type": "object", "properties": {"xa": INTEGER},
                                 "patternProperties": {"^x": {"minimum": 3}, "y$": BOOLEAN},
                                 "additionalProperties": False, "required": ["xa"]})
add("propertyNames", {"type": "object", "propertyNames": {"pattern": "^[a-z]{1,4}$"},
                      "additionalProperties": INTEGER})
add("propertyNames by length", {"type": "object", "propertyNames": {"maxLength": 3},
                                "properties": {"abc": INTEGER, "abcd": INTEGER},
                                "additionalProperties": BOOLEAN})
add("pattern twice", {"allOf": [{"type": "string", "pattern": "^[a-f]+$"}, {"pattern": "ab"}],
                      "maxLength": 9})
add("pattern and format", {"type": "string", "format": "date", "pattern": "^20[0-4]"})
add("enum beside pattern", {"type": "string", "enum": ["ab", "cd", "abc"], "pattern": "^a"})

print("[")
print(",\n".join(json.dumps(entry, ensure_ascii=False) for entry in LIST))
print("]")
