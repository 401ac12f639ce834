#include "scaffold/device_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace mgtune {
namespace {

// Headers for device code that NVRTC finds in a CUDA Toolkit.
bool is_device_header(std::string_view name) {
  constexpr std::array<std::string_view, 4> kHeaders = {"cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h",
                                                        "mma.h"};
  return name.starts_with("mg/") || std::ranges::find(kHeaders, name) != kHeaders.end();
}

constexpr char kRemoved = '\0';  // marks what is taken out at the end

class HostParts {
 public:
  explicit HostParts(const CudaSource& source) : source_(source), part_{source.text, {}, {}} {}

  DevicePart remove() {
    for (const CudaDirective& directive : source_.directives) remove_include(directive);
    for (std::size_t i = 0; i + 1 < source_.tokens.size();) i = after_declaration(i);
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

  // Line breaks stay, so that messages of compilers name the lines of the original.
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
        if (scope && name == 0) return i + 1;  // what is in it is looked at too
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

  const CudaSource& source_;
  DevicePart part_;
};

}  // namespace

DevicePart device_part(const CudaSource& source) { return HostParts(source).remove(); }

}  // namespace mgtune
