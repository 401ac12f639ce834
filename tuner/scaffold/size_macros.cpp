#include "scaffold/size_macros.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <utility>

namespace mgtune {
namespace {

constexpr int kMaxMacroDepth = 8;  // macros may name each other in a circle
constexpr std::size_t kMaxSizeText = 200;

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The macros without parameters: their names and what they stand for.
std::map<std::string, std::string> plain_macros(const CudaSource& source) {
  std::map<std::string, std::string> macros;
  for (const CudaDirective& directive : source.directives) {
    if (directive.name != "define") continue;
    std::istringstream words(directive.rest);
    std::string name, value;
    words >> name;
    std::getline(words >> std::ws, value);
    if (!value.empty() && name.find('(') == std::string::npos) macros[name] = value;
  }
  return macros;
}

// Whether one pair of brackets encloses the whole text: "(a + b)", but not "(a) + (b)".
bool is_in_brackets(const std::string& text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return i > 0 && i + 1 == text.size();
  }
  return false;
}

// The text with its macros replaced; nullopt if it has anything but dims, integers and arithmetic.
std::optional<std::string> expanded(const std::string& text,
                                    const std::map<std::string, std::string>& macros,
                                    const std::vector<std::string>& dims, int depth = 0) {
  if (depth > kMaxMacroDepth || text.size() > kMaxSizeText) return std::nullopt;
  const CudaSource content = read_cuda_source("", text);
  std::string result;
  for (const CudaToken& token : content.tokens) {
    if (token.kind == CudaToken::Kind::end) break;
    const bool is_dim = std::ranges::find(dims, token.text) != dims.end();
    if (token.kind == CudaToken::Kind::word && !is_dim) {
      const auto macro = macros.find(token.text);
      if (macro == macros.end()) return std::nullopt;
      const auto inner = expanded(macro->second, macros, dims, depth + 1);
      if (!inner) return std::nullopt;
      result += is_in_brackets(*inner) ? *inner : "(" + *inner + ")";
      continue;
    }
    if (token.kind == CudaToken::Kind::mark &&
        std::string("+-*/%()").find(token.text) == std::string::npos) {
      return std::nullopt;
    }
    if (token.kind == CudaToken::Kind::text) return std::nullopt;
    const bool is_binary = token.text == "+" || token.text == "-";
    result += is_binary ? " " + token.text + " " : token.text;
  }
  if (result.empty() || result.size() > kMaxSizeText) return std::nullopt;
  return result;
}

}  // namespace

std::optional<std::vector<std::string>> macro_shape(const CudaSource& source,
                                                    const std::string& name,
                                                    const std::vector<std::string>& dims) {
  const std::map<std::string, std::string> macros = plain_macros(source);
  const auto size_of = [&](const std::string& ending) -> std::optional<std::string> {
    for (const auto& [macro, value] : macros) {
      if (in_lower_case(macro) == in_lower_case(name) + ending) {
        return expanded(value, macros, dims);
      }
    }
    return std::nullopt;
  };
  for (const auto& [rows, columns] :
       {std::pair("_height", "_width"), std::pair("_rows", "_cols")}) {
    const std::optional<std::string> height = size_of(rows), width = size_of(columns);
    if (height && width) return std::vector<std::string>{*height, *width};
  }
  return std::nullopt;
}

}  // namespace mgtune
