#include "scaffold/device_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "scaffold/dynamic_shared.h"

namespace mgtune {
namespace {

// Headers for device code that NVRTC finds in a CUDA Toolkit.
bool is_device_header(std::string_view name) {
  constexpr std::array<std::string_view, 4> kHeaders = {"cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h",
                                                        "mma.h"};
  return name.starts_with("mg/") || std::ranges::find(kHeaders, name) != kHeaders.end();
}

constexpr const char* kLimits = "#include <mg/limits.cuh>";
constexpr const char* kSharedInclude = "#include <mg/shared.cuh>";

// Whether <mg/limits.cuh> defines the name.
bool is_of_limits(const CudaToken& token) {
  static const std::set<std::string, std::less<>> kNames = {
      "INFINITY",  "NAN",       "M_PI",        "FLT_MAX", "FLT_MIN",  "FLT_EPSILON",
      "DBL_MAX",   "DBL_MIN",   "DBL_EPSILON", "INT_MAX", "INT_MIN",  "UINT_MAX",
      "LLONG_MAX", "LLONG_MIN", "ULLONG_MAX",  "int8_t",  "uint8_t",  "int16_t",
      "uint16_t",  "int32_t",   "uint32_t",    "int64_t", "uint64_t", "uintptr_t"};
  return token.kind == CudaToken::Kind::word && kNames.contains(token.text);
}

constexpr char kRemoved = '\0';  // marks what is taken out at the end

class HostParts {
 public:
  HostParts(const CudaSource& source, const std::set<std::string>& macros)
      : source_(source), macros_(macros), part_{source.text, {}, {}} {}

  DevicePart remove() {
    for (const CudaDirective& directive : source_.directives) {
      remove_include(directive);
      const std::string name = directive.rest.substr(0, directive.rest.find_first_of(" \t"));
      if (directive.name == "define" && macros_.contains(name))
        blank(directive.begin, directive.end);
    }
    for (std::size_t i = 0; i + 1 < source_.tokens.size();) i = after_declaration(i);
    for (const DynamicShared& array : find_dynamic_shared(source_)) {
      replace(array.begin, array.end, array.replacement());
    }
    add_includes();
    std::erase(part_.text, kRemoved);
    part_.text.erase(part_.text.find_last_not_of(" \t\r\n") + 1);
    part_.text += '\n';
    return std::move(part_);
  }

 private:
  void remove_include(const CudaDirective& directive) {
    if (directive.name != "include" || directive.rest.size() < 3) return;
    const std::string name = directive.rest.substr(1, directive.rest.size() - 2);
    if (directive.rest.front() == '"') {
      if (!is_device_header(name)) part_.included.push_back(name);
    } else if (!is_device_header(name)) {
      blank(directive.begin, directive.end);
      part_.removed.push_back(fmt::format("#include <{}> (line {})", name, directive.line));
    }
  }

  // Each new include takes the line of a removed include. If there are not enough such lines, the
  // rest comes first in the file.
  void add_includes() {
    std::vector<std::string> missing;
    if (!find_dynamic_shared(source_).empty()) missing.emplace_back(kSharedInclude);
    if (std::ranges::any_of(source_.tokens, is_of_limits)) missing.emplace_back(kLimits);
    std::erase_if(missing, [this](const std::string& include) {
      return source_.text.find(include) != std::string::npos;
    });
    for (const CudaDirective& directive : source_.directives) {
      if (missing.empty()) break;
      if (directive.name != "include" || part_.text[directive.begin] != kRemoved) continue;
      insertions_.push_back({directive.begin, missing.back()});
      missing.pop_back();
    }
    std::string in_front;
    for (const std::string& include : missing) in_front += include + "\n";
    if (!in_front.empty()) insertions_.push_back({0, in_front});
    // Inserts from the end, so that the places of the other insertions stay right.
    std::ranges::stable_sort(insertions_, std::ranges::greater{}, &Insertion::at);
    for (const Insertion& insertion : insertions_) part_.text.insert(insertion.at, insertion.text);
  }

  void replace(std::size_t begin, std::size_t end, std::string text) {
    blank(begin, end);
    insertions_.push_back({begin, std::move(text)});
  }

  // Line breaks stay, so that compiler messages name the lines of the original file.
  void blank(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && i < part_.text.size(); ++i) {
      if (part_.text[i] != '\n') part_.text[i] = kRemoved;
    }
  }

  // The token behind the declaration or the definition that begins at `first`.
  std::size_t after_declaration(std::size_t first) {
    std::size_t name = 0;  // of a function: the word before the first "("
    bool device = false, value = false;
    std::size_t i = first;
    while (i + 1 < source_.tokens.size()) {
      const std::string& text = source_.tokens[i].text;
      if (source_.is(i, ";") || source_.is(i, "}")) return i + 1;
      device = device || text == "__global__" || text == "__device__" || text == "constexpr";
      value = value || source_.is(i, "=");
      if (source_.is(i, "(")) {
        if (name == 0 && i > first) name = i - 1;
        i = source_.after_bracket(i);
      } else if (source_.is(i, "{")) {
        const bool scope = source_.is(first, "namespace") || source_.is(first, "extern");
        if (scope && name == 0) return i + 1;  // its content is looked at too
        const std::size_t end = source_.after_bracket(i);
        if (name != 0 && !value) {
          if (!device) remove_function(first, name, end);
          return end;
        }
        i = end;
      } else {
        ++i;
      }
    }
    return i;
  }

  void remove_function(std::size_t first, std::size_t name, std::size_t end) {
    const CudaToken& last = source_.tokens[end - 1];
    blank(source_.tokens[first].offset, last.offset + last.text.size());
    part_.removed.push_back(
        fmt::format("{}() (line {})", source_.tokens[name].text, source_.tokens[name].line));
  }

  struct Insertion {
    std::size_t at;  // in the text before all insertions
    std::string text;
  };

  const CudaSource& source_;
  const std::set<std::string>& macros_;
  std::vector<Insertion> insertions_;
  DevicePart part_;
};

}  // namespace

DevicePart device_part(const CudaSource& source, const std::set<std::string>& macros) {
  return HostParts(source, macros).remove();
}

}  // namespace mgtune
