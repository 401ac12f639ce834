// Reads the macros that a design's source is compiled with.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "family/decode.h"

namespace mgtune {
namespace {

// A macro with one of these names would change the language.
constexpr std::array<std::string_view, 97> kKeywords = {
    "alignas",       "alignof",     "and",
    "and_eq",        "asm",         "auto",
    "bitand",        "bitor",       "bool",
    "break",         "case",        "catch",
    "char",          "char8_t",     "char16_t",
    "char32_t",      "class",       "compl",
    "concept",       "const",       "consteval",
    "constexpr",     "constinit",   "const_cast",
    "continue",      "co_await",    "co_return",
    "co_yield",      "decltype",    "default",
    "delete",        "do",          "double",
    "dynamic_cast",  "else",        "enum",
    "explicit",      "export",      "extern",
    "false",         "float",       "for",
    "friend",        "goto",        "if",
    "inline",        "int",         "long",
    "mutable",       "namespace",   "new",
    "noexcept",      "not",         "not_eq",
    "nullptr",       "operator",    "or",
    "or_eq",         "private",     "protected",
    "public",        "register",    "reinterpret_cast",
    "requires",      "return",      "short",
    "signed",        "sizeof",      "static",
    "static_assert", "static_cast", "struct",
    "switch",        "template",    "this",
    "thread_local",  "throw",       "true",
    "try",           "typedef",     "typeid",
    "typename",      "union",       "unsigned",
    "using",         "virtual",     "void",
    "volatile",      "wchar_t",     "while",
    "xor",           "xor_eq",      "defined",
    "final",         "override"};

// Names of CUDA, of C, and of the headers that mgtune puts in front of a source.
constexpr std::array<std::string_view, 11> kTaken = {"threadIdx", "blockIdx", "blockDim", "gridDim",
                                                     "warpSize",  "assert",   "printf",   "NULL",
                                                     "NDEBUG",    "mg",       "mgcpu"};
constexpr std::array<std::string_view, 5> kPrefixes = {"MG_", "MGTUNE_", "MGCPU_", "CUDA_",
                                                       "NVRTC_"};

bool is_reserved(std::string_view name) {
  const bool upper = name.size() > 1 && name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z';
  return upper || name.find("__") != std::string_view::npos;
}

Status check_macro_name(const JsonCursor& cursor) {
  const std::string& name = cursor.key();
  const auto refuse = [&](std::string_view why) {
    return cursor.error(fmt::format("a macro cannot be called '{}': {}", name, why));
  };
  if (!is_identifier(name)) return refuse("it is not a C identifier");
  if (is_reserved(name)) {
    return refuse("names with '__', and with '_' before a capital, belong to the compiler");
  }
  if (std::ranges::find(kKeywords, name) != kKeywords.end()) return refuse("it is a word of C++");
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (std::ranges::find(kTaken, name) != kTaken.end() || std::ranges::any_of(kPrefixes, begins)) {
    return refuse("CUDA's headers or mgtune's use this name");
  }
  return {};
}

Result<Expression> decode_value(const JsonCursor& cursor, const Design& design) {
  if (cursor.value().kind == JsonValue::Kind::boolean) {
    return Expression::boolean(cursor.value().boolean);
  }
  if (cursor.value().kind == JsonValue::Kind::integer) {
    return Expression::integer(cursor.value().integer);
  }
  MGTUNE_ASSIGN(const std::string text, cursor.string());
  MGTUNE_ASSIGN(Expression value, cursor.located(Expression::parse(text, design.scope)));
  MGTUNE_TRY(check_known(cursor, value, design.scope, Known::compiling));
  return value;
}

}  // namespace

Status decode_defines(const JsonCursor& defines, Design& design) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, defines.members());
  for (const JsonCursor& member : members) {
    MGTUNE_TRY(check_macro_name(member));
    MGTUNE_ASSIGN(Expression value, decode_value(member, design));
    design.defines.push_back({member.key(), std::move(value)});
  }
  return {};
}

}  // namespace mgtune
