"""A page for each JSON schema of configs/schema: the keys of each object, with their types and descriptions."""
import json

FOLDER = "reference/schemas/"


def _cell(text):
    return str(text).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("\n", " ")


def _code(value):
    return "`" + json.dumps(value, ensure_ascii=False).replace("|", "\\|") + "`"


def type_text(schema):
    """What a value may be, in a few words."""
    if not isinstance(schema, dict):
        return "any" if schema else "nothing"
    if "$ref" in schema:
        file, _, pointer = schema["$ref"].partition("#")  # no file: of this schema
        name = pointer.rpartition("/")[2]
        page = file.removesuffix(".schema.json") + ".md" if file else ""
        return f"[{name}]({page}#{name.lower()})"
    if "const" in schema:
        return _code(schema["const"])
    if "enum" in schema:
        return ", ".join(_code(value) for value in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(type_text(each) for each in schema[key]))
    kind = schema.get("type", "array" if "items" in schema else "any")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    if "array" in kind and isinstance(schema.get("items"), dict):
        kind += f" of {type_text(schema['items'])}"
    limits = [f"{words} {schema[key]}" for key, words in (
        ("minimum", "at least"), ("exclusiveMinimum", "above"), ("maximum", "at most"), ("minItems", "items: at least"),
        ("maxItems", "items: at most")) if key in schema]
    if "pattern" in schema:
        limits.append("like " + _code(schema["pattern"]))
    return kind + (", " + ", ".join(limits) if limits else "")


def _rows(schema, before=""):
    """A row for each key of an object, those of objects inside of it included."""
    required = set(schema.get("required", []))
    for name, value in schema.get("properties", {}).items():
        described = value.get("description", "") if isinstance(value, dict) else ""
        yield before + name, type_text(value), name in required, described
        yield from _inner(value, before + name)
    for pattern, value in schema.get("patternProperties", {}).items():
        yield f"{before}{pattern}", type_text(value), False, value.get("description", "")
        yield from _inner(value, before + "NAME")
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        yield before + "NAME", type_text(extra), False, extra.get("description", "")
        yield from _inner(extra, before + "NAME")


def _inner(value, name):
    if not isinstance(value, dict):
        return
    for each in (value, *value.get("anyOf", []), *value.get("oneOf", [])):
        if isinstance(each, dict):
            yield from _rows(each, name + ".")
            if isinstance(each.get("items"), dict):
                yield from _inner(each["items"], name + "[]")


def _object(schema):
    parts = [_cell(schema["description"])] if "description" in schema else []
    rows = [(name.removeprefix("."), *rest) for name, *rest in _inner(schema, "")]
    if rows:
        parts.append("\n".join(["| key | value | | |", "|---|---|---|---|", *(
            f"| `{name.replace('|', chr(92) + '|')}` | {kind} | {'required' if required else ''} | {_cell(text)} |"
            for name, kind, required, text in rows)]))
    if "properties" not in schema and "additionalProperties" not in schema:
        parts.insert(0, "Value: " + type_text(schema))
    return "\n\n".join(parts)


def page(name, schema):
    title, _, documents = schema["title"].partition(": ")
    parts = [f"# {title}", f"The schema is `configs/schema/{name}`." + (f" It is that of {_cell(documents)}." if documents else "")]
    if "properties" in schema:
        parts.append(_object({**schema}))
    elif "description" in schema:
        parts.append(_cell(schema["description"]))
    for key, definition in schema.get("$defs", {}).items():
        parts += [f"## {key}", _object(definition)]
    return "\n\n".join(parts) + "\n"


def pages(root):
    """Page -> text."""
    result, lines = {}, []
    for path in sorted((root / "configs/schema").glob("*.schema.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        name = path.name.removesuffix(".schema.json")
        result[f"{FOLDER}{name}.md"] = page(path.name, schema)
        lines.append(f"| [{name}]({name}.md) | {_cell(schema['title'])} |")
    result[FOLDER + "README.md"] = ("# JSON documents\n\nThese pages are made from the schemas in `configs/schema`. What a command prints with "
                                    "`--json` is described in [tuner/cli](../../tuner/cli/README.md).\n\n| schema | documents |\n|---|---|\n"
                                    + "\n".join(lines) + "\n")
    return result
