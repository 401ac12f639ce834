// Checks every JSON file of configs/ and kernels/ against its JSON Schema in configs/schema/, and the
// exports of results/ and tests/golden/exchange/ against theirs: tuned tables against ours, recordings
// against what their formats require (*.schema.json here); reports of tests/golden/report/ against ours.
//
//   npm ci && node validate.mjs [FILE...]     a FILE is checked as an operator file
//
// Exit code 0: all are valid. 1: some are not; each finding is one line "file: /json/path: reason".
// 2: nothing could be checked (a schema is missing or is itself malformed).

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import Ajv2020 from "ajv/dist/2020.js";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

// `value` as an RFC 7386 merge patch changes it.
function merged(value, patch) {
  const isObject = (document) => document !== null && typeof document === "object" && !Array.isArray(document);
  if (!isObject(patch)) return patch;
  const result = isObject(value) ? { ...value } : {};
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) delete result[key];
    else result[key] = merged(result[key], change);
  }
  return result;
}

// An operator file as mgtune decodes it: merged over the file that it extends.
function readOperator(path) {
  const { extends: base, ...operator } = readJson(path);
  return base === undefined ? operator : merged(readOperator(join(dirname(path), base)), operator);
}

function jsonFilesBelow(folder, ending = ".json") {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => join(root, folder, name));
}

function exportsEndingIn(ending) {
  return [...jsonFilesBelow("tests/golden/exchange", ending), ...jsonFilesBelow("results", ending)];
}

// Schemas of recordings lie here and refer to each other and to that of tuned tables.
function compileSchema(name) {
  const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true });
  const path = join(root, "configs/schema", name);
  const tuned = "tuned.schema.json";
  if (name !== tuned) ajv.addSchema(readJson(join(root, "configs/schema", tuned)), tuned);
  if (existsSync(path)) return ajv.compile(readJson(path));
  ajv.addSchema(readJson(join(here, "recording-header.schema.json")));
  return ajv.compile(readJson(join(here, name)));
}

function named(path) {
  const inside = relative(root, path);
  return inside.startsWith("..") ? path : inside;
}

// What a person needs beside Ajv's sentence: the key that is too many, the values allowed.
function reason(error) {
  const { additionalProperty, unevaluatedProperty, allowedValue, allowedValues } = error.params;
  const detail = additionalProperty ?? unevaluatedProperty ?? allowedValue ?? allowedValues;
  return detail === undefined ? error.message : `${error.message}: ${JSON.stringify(detail)}`;
}

// An extension is checked as it is and merged.
function findings(path, validate) {
  let documents;
  try {
    const document = readJson(path);
    documents = document.extends === undefined ? [document] : [document, readOperator(path)];
  } catch (error) {
    return [`/: ${error.message}`];
  }
  if (documents.every((document) => validate(document))) return [];
  const errors = validate.errors.filter((error) => error.keyword !== "if");
  return errors.map((error) => `${error.instancePath || "/"}: ${reason(error)}`);
}

// A schema that accepts everything would pass every file: each must refuse these.
function selfCheck(name, validate, path) {
  const good = readJson(path);
  const version = good.format === undefined ? "schema_version" : "format";
  const bad = [{}, { ...good, [version]: good[version] + 1 }, { ...good, no_such_key: 1 }];
  for (const document of bad) {
    if (validate(document)) throw new Error(`${name} accepts ${JSON.stringify(document)}`);
  }
}

function duplicateNames(paths) {
  const seen = new Map();
  const found = [];
  for (const path of paths) {
    const { name } = readJson(path);
    if (seen.has(name)) found.push([path, `/name: "${name}" is also the name of ${seen.get(name)}`]);
    seen.set(name, relative(root, path));
  }
  return found;
}

function main(operatorFiles) {
  const operators = operatorFiles.length ? operatorFiles : jsonFilesBelow("kernels");
  const others = [
    ["gpu.schema.json", jsonFilesBelow("configs/gpus")],
    ["shapes.schema.json", jsonFilesBelow("configs/shapes")],
    ["tuned.schema.json", exportsEndingIn(".tuned.json")],
    ["rules.schema.json", [...jsonFilesBelow("tests/golden/rules"), ...jsonFilesBelow("results", ".rules.json")]],
    ["t4.schema.json", exportsEndingIn(".t4.json")],
    ["kernel-tuner-cache.schema.json", exportsEndingIn(".cache.json")],
    ["report.schema.json", jsonFilesBelow("tests/golden/report")],
  ];
  const groups = [...(operatorFiles.length ? [] : others), ["operator.schema.json", operators]];

  const failures = [];
  let checked = 0;
  for (const [schema, paths] of groups) {
    if (paths.length === 0) continue;
    const validate = compileSchema(schema);
    const before = failures.length;
    for (const path of paths) {
      failures.push(...findings(path, validate).map((finding) => [path, finding]));
      ++checked;
    }
    if (failures.length > before) continue;
    selfCheck(schema, validate, paths[0]);
    const isNamed = schema === "gpu.schema.json" || schema === "shapes.schema.json";
    if (isNamed) failures.push(...duplicateNames(paths));
  }

  for (const [path, finding] of failures) console.error(`${named(path)}: ${finding}`);
  const files = new Set(failures.map(([path]) => path)).size;
  console.log(`${checked} files checked, ${files} invalid`);
  return failures.length === 0 ? 0 : 1;
}

try {
  process.exitCode = main(process.argv.slice(2).map((path) => resolve(path)));
} catch (error) {
  console.error(`validate.mjs: ${error.message}`);
  process.exitCode = 2;
}
