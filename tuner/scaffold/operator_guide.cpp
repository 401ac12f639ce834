#include "scaffold/operator_guide.h"

#include <fmt/format.h>

#include <string_view>

#include "core/text.h"
#include "json/json.h"
#include "json/json_value.h"

namespace mgtune {
namespace {

struct Explained {
  std::string_view key, meaning;
};

constexpr Explained kOperatorKeys[] = {
    {"format", "The version of this format."},
    {"dims",
     "The dims of a problem. A `dynamic` dim is passed with every launch. A `static` dim is "
     "compiled "
     "in, so that each of its values makes another build."},
    {"dtypes",
     "Each variable and the dtypes that it can have. The sources get it as a template argument."},
    {"scalars",
     "Numbers that a launch passes to the kernel. `check` is the value that checks and "
     "measurements "
     "pass; without it they pass 1."},
    {"constraints", "Conditions that every problem fulfils."},
    {"tensors",
     "`role` is `in`, `out` or `inout`. `shape` is in elements, and the last dim is the fastest. "
     "`fill` says what random values checks and measurements put in."},
    {"cost",
     "The bytes that must move and the operations. `mgtune show best` computes GB/s and flop/s "
     "from "
     "them."},
    {"check",
     "`reference` names a kernel of reference.cu. With `relative_l2` the norm of an output's "
     "error, "
     "divided by the norm of the output, may be at most the `tolerance` of the output's dtype."},
    {"problems",
     "What is tuned if you name no problem: `default` on a GPU, `emulation` (small ones) on the "
     "cpu "
     "device."},
};

constexpr Explained kDesignKeys[] = {
    {"source", "The file with the kernel."},
    {"params",
     "The tunables and the values to try. Together they are the space; its size is their product."},
    {"defines",
     "Macros that the source is compiled with, as by `-DNAME=value`, and the expressions that give "
     "their values."},
    {"constraints",
     "Variants for which a condition is false do not serve the problem. They are left out."},
    {"align", "The alignment in bytes that the design needs of a tensor's pointer."},
    {"launches",
     "What is launched, in order. `kernel` is the function with its template arguments, `grid` and "
     "`block` are its geometry, and `args` are its arguments in order. \"n:i64\" passes n as a "
     "64-bit "
     "integer."},
    {"defaults",
     "What runs for a problem that was never tuned: the first entry whose constraints hold. "
     "Together "
     "they must serve every problem."},
};

std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text;
}

Json json_of(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::boolean:
      return value.boolean;
    case JsonValue::Kind::integer:
      return value.integer;
    case JsonValue::Kind::number:
      return value.number;
    case JsonValue::Kind::string:
      return value.string;
    case JsonValue::Kind::array:
      return Json::array(value.items, json_of);
    case JsonValue::Kind::object: {
      Json object = Json::object();
      for (std::size_t i = 0; i < value.keys.size(); ++i)
        object[value.keys[i]] = json_of(value.items[i]);
      return object;
    }
    case JsonValue::Kind::null:
      break;
  }
  return nullptr;
}

template <std::size_t kCount>
std::string table(const JsonValue& object, const Explained (&keys)[kCount]) {
  std::string text = "| key | here | meaning |\n|---|---|---|\n";
  for (const auto& [key, meaning] : keys) {
    const JsonValue* const value = object.find(key);
    if (value == nullptr) continue;
    text += fmt::format("| `{}` | `{}` | {} |\n", key, cell(json_of(*value).line_text()), meaning);
  }
  return text;
}

}  // namespace

Result<std::string> operator_guide(const std::string& folder, const NewFamily& family) {
  const NewFile& file = family.files.front();
  MGTUNE_ASSIGN(const JsonValue op, parse_json(file.content));
  std::string text = fmt::format(
      "# The operator file {} key by key\n\n"
      "JSON has no comments, so this page explains the file. You may delete the page; mgtune does "
      "not "
      "read it.\n`kernels/README.md` of mgtune describes all keys.\n\n",
      file.name);
  text += table(op, kOperatorKeys);
  if (const JsonValue* const designs = op.find("designs")) {
    for (std::size_t i = 0; i < designs->keys.size(); ++i) {
      text += fmt::format(
          "\n`designs` has one entry per way to compute the operator. The design `{}`:\n\n",
          designs->keys[i]);
      text += table(designs->items[i], kDesignKeys);
    }
  }
  const std::string word = shell_word(folder);
  text += fmt::format(
      "\n## What to do with it\n\n```sh\n"
      "mgtune check {0}             # are the files right, and is the result?\n"
      "mgtune sweep --kernel {0}    # tries the space, and finds the fastest variant of each "
      "problem\n"
      "mgtune header {0} -o ops.h   # typed functions for a C or C++ program\n```\n",
      word);
  return text;
}

}  // namespace mgtune
