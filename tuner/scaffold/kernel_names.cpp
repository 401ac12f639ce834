#include "scaffold/kernel_names.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/text.h"

namespace mgtune {
namespace {

using NameSet = std::set<std::string, std::less<>>;

// Names of the language, of CUDA and of the C library that stand for values or types.
bool is_known_name(const std::string& name) {
  static const NameSet kNames = {"alignas",
                                 "alignof",
                                 "auto",
                                 "bool",
                                 "break",
                                 "case",
                                 "char",
                                 "class",
                                 "const",
                                 "const_cast",
                                 "constexpr",
                                 "continue",
                                 "decltype",
                                 "default",
                                 "delete",
                                 "do",
                                 "double",
                                 "dynamic_cast",
                                 "else",
                                 "enum",
                                 "explicit",
                                 "extern",
                                 "false",
                                 "float",
                                 "for",
                                 "goto",
                                 "if",
                                 "inline",
                                 "int",
                                 "long",
                                 "namespace",
                                 "new",
                                 "noexcept",
                                 "nullptr",
                                 "operator",
                                 "private",
                                 "public",
                                 "register",
                                 "reinterpret_cast",
                                 "restrict",
                                 "return",
                                 "short",
                                 "signed",
                                 "sizeof",
                                 "static",
                                 "static_assert",
                                 "static_cast",
                                 "struct",
                                 "switch",
                                 "template",
                                 "this",
                                 "true",
                                 "typedef",
                                 "typename",
                                 "union",
                                 "unsigned",
                                 "using",
                                 "void",
                                 "volatile",
                                 "while",
                                 "threadIdx",
                                 "blockIdx",
                                 "blockDim",
                                 "gridDim",
                                 "warpSize",
                                 "INFINITY",
                                 "NAN",
                                 "NULL",
                                 "FLT_MAX",
                                 "FLT_MIN",
                                 "FLT_EPSILON",
                                 "DBL_MAX",
                                 "DBL_MIN",
                                 "INT_MAX",
                                 "INT_MIN",
                                 "UINT_MAX",
                                 "LONG_MAX",
                                 "M_PI",
                                 "HUGE_VALF",
                                 "size_t",
                                 "half",
                                 "half2",
                                 "uint",
                                 "uchar",
                                 "dim3",
                                 "asm",
                                 "std",
                                 "mg"};
  return kNames.contains(name) || name.starts_with("__") || name.starts_with("CUDART_") ||
         name.starts_with("cuda") || name.ends_with("_t");
}

bool is_mark(const CudaSource& source, std::size_t token) {
  return token < source.tokens.size() && source.tokens[token].kind == CudaToken::Kind::mark;
}

// Keywords after which a name is used, not declared.
bool is_use_keyword(const std::string& word) {
  static const NameSet kUses = {"return", "else", "case", "goto", "sizeof", "do", "throw", "new"};
  return kUses.contains(word);
}

bool begins_type(const std::string& word) {
  static const NameSet kTypes = {"int",    "float", "double", "char",   "bool",      "unsigned",
                                 "long",   "short", "signed", "size_t", "auto",      "const",
                                 "half",   "half2", "uint",   "uchar",  "constexpr", "float2",
                                 "float4", "int2",  "int4",   "enum"};
  return kTypes.contains(word) || word.ends_with("_t");
}

// A name after a type, or in a list such as int i = 0, j = 1;
void add_declared_names(const CudaSource& source, NameSet& names) {
  for (std::size_t i = 0; i + 1 < source.tokens.size(); ++i) {
    const CudaToken& token = source.tokens[i];
    if (!source.is_word(i)) continue;
    if (i > 0 && source.is_word(i - 1) && !is_use_keyword(source.tokens[i - 1].text)) {
      names.insert(token.text);  // float x, struct Point
    }
    // A word before a word is a type, unless it is a keyword.
    if (source.is_word(i + 1) && !is_use_keyword(token.text)) names.insert(token.text);
    if (!begins_type(token.text)) continue;
    bool expected = true;  // a name would be declared here
    for (std::size_t j = i + 1; j + 1 < source.tokens.size(); ++j) {
      if (source.is(j, ";") || source.is(j, ")") || source.is(j, "}")) break;
      if (source.is(j, ",")) expected = true;
      if (expected && source.is_word(j) && !source.is_word(j + 1)) {
        names.insert(source.tokens[j].text);
        expected = false;
      }
      const bool list = source.is(j, "{") || source.is(j, "(") || source.is(j, "[");
      if (list) j = source.after_bracket(j) - 1;
    }
  }
  // The values of an enum.
  for (std::size_t i = 0; i + 1 < source.tokens.size(); ++i) {
    if (!source.is(i, "enum")) continue;
    while (i + 1 < source.tokens.size() && !source.is(i, "{") && !source.is(i, ";")) ++i;
    if (!source.is(i, "{")) continue;
    for (const std::size_t end = source.after_bracket(i); i < end; ++i) {
      if (source.is_word(i)) names.insert(source.tokens[i].text);
    }
  }
}

struct Macro {
  OpenName open;
  bool function = false;  // #define SQUARE(x)
};

std::vector<Macro> find_macros(const CudaSource& source) {
  std::vector<Macro> macros;
  std::string guard;  // of the #ifndef before
  for (const CudaDirective& directive : source.directives) {
    std::istringstream words(directive.rest);
    std::string name;
    words >> name;
    if (directive.name == "ifndef") {
      guard = name;
      continue;
    }
    if (directive.name == "if" && directive.rest.starts_with("!defined")) {
      guard = directive.rest.substr(8);
      std::erase_if(guard, [](char c) { return c == '(' || c == ')' || c == ' '; });
      continue;
    }
    if (directive.name == "define") {
      Macro macro;
      macro.function = name.find('(') != std::string::npos;
      macro.open.name = name.substr(0, name.find('('));
      macro.open.origin =
          guard == macro.open.name ? OpenName::Origin::guarded : OpenName::Origin::fixed;
      std::string value;
      std::getline(words >> std::ws, value);
      if (value.size() > 2 && value.front() == '(' && value.back() == ')') {
        value = value.substr(1, value.size() - 2);
      }
      macro.open.value = whole_number(value);
      macro.open.line = directive.line;
      macros.push_back(std::move(macro));
    }
    guard.clear();
  }
  return macros;
}

bool in_capitals(const std::string& name) {
  return std::ranges::none_of(name, [](unsigned char c) { return std::islower(c) != 0; }) &&
         std::ranges::any_of(name, [](unsigned char c) { return std::isupper(c) != 0; });
}

// Finds the first use of each name that nothing declares. Names in capitals are searched in the
// whole file, because the kernel may call functions of the file; other names only in the kernel.
void add_undefined_names(const CudaSource& source, const KernelPlace& place,
                         const NameSet& declared, std::vector<OpenName>& names) {
  NameSet seen;
  for (std::size_t i = 0; i + 1 < source.tokens.size(); ++i) {
    const CudaToken& token = source.tokens[i];
    const bool inside = i > place.body && i < place.end;
    if (!source.is_word(i) || declared.contains(token.text) || is_known_name(token.text)) continue;
    if (!inside && !in_capitals(token.text)) continue;
    if (source.is(i + 1, "(") || source.is(i + 1, "::") || source.is(i + 1, "<")) {
      // name(...) and name<...>(...) are functions, and name:: is a scope. A name before "<" counts
      // only if there is a mark other than ";" before it. So a comparison `BLOCK < n` may be
      // missed, which matters only if it is the only use of the name.
      if (!source.is(i + 1, "<") || !is_mark(source, i - 1) || source.is(i - 1, ";")) continue;
    }
    if (i > 0 && (source.is(i - 1, ".") || source.is(i - 1, "->") || source.is(i - 1, "::")))
      continue;
    if (seen.insert(token.text).second) {
      names.push_back({token.text, OpenName::Origin::undefined, std::nullopt, token.line});
    }
  }
}

// A macro may use other names: #define TILE_SIZE (BLOCK * WORK).
void add_names_in_macros(const CudaSource& source, const NameSet& declared,
                         std::vector<OpenName>& names) {
  for (const CudaDirective& directive : source.directives) {
    const bool condition = directive.name == "if" || directive.name == "elif";
    if (directive.name != "define" && !condition) continue;
    const CudaSource content = read_cuda_source("", directive.rest);
    for (std::size_t i = condition ? 0 : 1; i + 1 < content.tokens.size(); ++i) {
      const std::string& word = content.tokens[i].text;
      if (!content.is_word(i) || !in_capitals(word) || content.is(i + 1, "(")) continue;
      if (declared.contains(word) || is_known_name(word) || word == "defined") continue;
      if (std::ranges::find(names, word, &OpenName::name) != names.end()) continue;
      names.push_back({word, OpenName::Origin::undefined, std::nullopt, directive.line});
    }
  }
}

bool uses(const CudaSource& source, const std::string& name) {
  for (std::size_t i = 0; i + 1 < source.tokens.size(); ++i) {
    if (source.is_word(i) && source.tokens[i].text == name) return true;
  }
  return std::ranges::any_of(source.directives, [&](const CudaDirective& directive) {
    if (directive.name == "ifndef") return false;
    const CudaSource content = read_cuda_source("", directive.rest);
    for (std::size_t i = directive.name == "define" ? 1 : 0; i + 1 < content.tokens.size(); ++i) {
      if (content.is_word(i) && content.tokens[i].text == name) return true;
    }
    return false;
  });
}

bool is_assignment(const CudaSource& source, std::size_t token, bool& reads) {
  static const NameSet kCompound = {"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--"};
  if (source.is(token, "=")) return true;
  reads = is_mark(source, token) && kCompound.contains(source.tokens[token].text);
  return reads;
}

bool is_axis(const CudaSource& source, std::size_t i, std::string_view variable, char axis) {
  return source.is(i, variable) && source.is(i + 1, ".") &&
         source.is(i + 2, std::string_view(&axis, 1));
}

}  // namespace

std::vector<OpenName> find_open_names(const CudaSource& source, const KernelPlace& place,
                                      const KernelSignature& signature) {
  NameSet declared;
  std::vector<OpenName> names;
  for (const Macro& macro : find_macros(source)) {
    declared.insert(macro.open.name);
    if (macro.function || !macro.open.value || !uses(source, macro.open.name)) continue;
    names.push_back(macro.open);
  }
  for (const TemplateParameter& parameter : signature.template_parameters) {
    declared.insert(parameter.name);
  }
  for (const KernelParameter& parameter : signature.parameters) declared.insert(parameter.name);
  add_declared_names(source, declared);
  add_undefined_names(source, place, declared, names);
  add_names_in_macros(source, declared, names);
  std::ranges::stable_sort(names, {}, &OpenName::line);
  return names;
}

std::vector<std::int64_t> compared_values(const CudaSource& source, const std::string& name) {
  std::set<std::int64_t> values;
  const auto add_from = [&](const CudaSource& text) {
    bool found = false;
    for (std::size_t i = 0; i + 2 < text.tokens.size(); ++i) {
      if (!text.is_word(i) || text.tokens[i].text != name || !text.is(i + 1, "==")) continue;
      const std::optional<std::int64_t> value = whole_number(text.tokens[i + 2].text);
      if (!value) continue;
      values.insert(*value);
      found = true;
    }
    return found;
  };
  add_from(source);
  bool compares = false;  // the last condition before an #else
  bool has_rest = false;
  for (const CudaDirective& directive : source.directives) {
    if (directive.name == "if" || directive.name == "elif") {
      compares = add_from(read_cuda_source("", directive.rest));
    } else if (directive.name == "else") {
      has_rest = has_rest || compares;
    }
  }
  if (has_rest) values.insert(*values.rbegin() + 1);
  return {values.begin(), values.end()};
}

PointerUse find_use(const CudaSource& source, const KernelPlace& place,
                    const std::string& pointer) {
  bool reads = false, writes = false, reads_first = false, unknown = false;
  for (std::size_t i = place.body; i < place.end; ++i) {
    if (!source.is_word(i) || source.tokens[i].text != pointer) continue;
    if (source.is(i - 1, ".") || source.is(i - 1, "->")) continue;
    bool read = false, write = false;
    if (source.is(i + 1, "[")) {
      bool compound = false;
      std::size_t after = source.after_bracket(i + 1);
      if (source.is(after, ".")) after += 2;  // float4: out[i].x = ...
      write = is_assignment(source, after, compound);
      read = !write || compound;
      if (source.is(i - 1, "&")) {  // atomicAdd(&out[i], ...)
        const bool atomic = i > 2 && source.tokens[i - 3].text.starts_with("atomic");
        write = atomic;
        read = atomic;
        unknown = unknown || !atomic;
      }
    } else if (source.is(i - 1, "*") && source.is(i + 1, "=")) {  // *out = ...
      write = true;
    } else if (source.is(i - 1, "(") && i > 1 && source.tokens[i - 2].text.starts_with("atomic")) {
      read = write = true;
    } else {
      unknown = true;
    }
    reads_first = reads_first || (read && !writes);
    reads = reads || read;
    writes = writes || write;
  }
  if (unknown) return PointerUse::unknown;
  if (!reads && !writes) return PointerUse::unused;
  if (!writes) return PointerUse::read;
  return reads_first ? PointerUse::read_and_written : PointerUse::written;
}

AxisUse find_axis_use(const CudaSource& source, const KernelPlace& place, char axis,
                      const std::vector<std::string>& block_sizes) {
  AxisUse use;
  const auto is_block_size = [&](std::size_t i) {
    return is_axis(source, i, "blockDim", axis) ||
           (source.is_word(i) &&
            std::ranges::find(block_sizes, source.tokens[i].text) != block_sizes.end());
  };
  for (std::size_t i = place.body; i < place.end; ++i) {
    use.threads = use.threads || is_axis(source, i, "threadIdx", axis) ||
                  is_axis(source, i, "blockDim", axis);
    if (is_axis(source, i, "gridDim", axis)) use.elements = true;
    if (!is_axis(source, i, "blockIdx", axis)) continue;
    use.blocks = true;
    // blockIdx.x * blockDim.x, BLOCK * blockIdx.x, blockDim.x * blockIdx.x, casts around them
    const bool before = source.is(i - 1, "*") && (is_block_size(i - 2) || is_block_size(i - 4));
    std::size_t after = i + 3;
    while (source.is(after, ")") || source.is(after, "}")) ++after;
    if (before || (source.is(after, "*") && is_block_size(after + 1))) use.elements = true;
  }
  return use;
}

}  // namespace mgtune
