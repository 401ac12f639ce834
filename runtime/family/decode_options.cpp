// Reads the options that a design adds to those of the compiler.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "family/decode.h"

namespace mgtune {
namespace {

using OptionKind = CompileOption::Kind;

// These options change how fast or how exact a kernel is, or what is known about it. They change
// nothing that a launch depends on.
constexpr std::array<std::pair<std::string_view, OptionKind>, 9> kOptions = {
    {{"--extra-device-vectorization", OptionKind::flag},
     {"--fmad", OptionKind::boolean},
     {"--ftz", OptionKind::boolean},
     {"--generate-line-info", OptionKind::flag},
     {"--maxrregcount", OptionKind::number},
     {"--prec-div", OptionKind::boolean},
     {"--prec-sqrt", OptionKind::boolean},
     {"--restrict", OptionKind::flag},
     {"--use_fast_math", OptionKind::flag}}};

// nvcc and NVRTC also take "-lineinfo", and most options with one dash.
std::string long_name(std::string_view word) {
  if (word == "-lineinfo" || word == "--lineinfo") return "--generate-line-info";
  if (word.starts_with('-') && !word.starts_with("--")) return "-" + std::string(word);
  return std::string(word);
}

std::string allowed_options(std::string_view wrong) {
  std::vector<std::string> names;
  names.reserve(kOptions.size());
  for (const auto& [name, kind] : kOptions) names.emplace_back(name);
  return fmt::format("{}{}", fmt::join(names, " "), did_you_mean(wrong, names));
}

Result<CompileOption> decode_option(const JsonCursor& cursor, const Design& design) {
  MGTUNE_ASSIGN(const std::string text, cursor.string());
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string name = long_name(std::string_view(text).substr(0, equals));
  const auto* const found =
      std::ranges::find(kOptions, name, &decltype(kOptions)::value_type::first);
  if (found == kOptions.end()) {
    return cursor.error(fmt::format("'{}' is not an option that a design may have: {}", name,
                                    allowed_options(name)));
  }
  CompileOption option{name, found->second, Expression::boolean(true)};
  const bool is_number = option.kind == OptionKind::number;
  if (equals == text.size()) {
    if (option.kind == OptionKind::flag) return option;
    return cursor.error(
        fmt::format("'{}' needs a value, such as {}={}", name, name, is_number ? "64" : "false"));
  }
  MGTUNE_ASSIGN(option.value, cursor.located(Expression::parse(
                                  text.substr(equals + 1), design.scope,
                                  is_number ? ValueType::integer : ValueType::boolean)));
  MGTUNE_TRY(check_known(cursor, option.value, design.scope, Known::compiling));
  return option;
}

}  // namespace

Status decode_options(const JsonCursor& options, Design& design) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> elements, options.elements());
  for (const JsonCursor& element : elements) {
    MGTUNE_ASSIGN(CompileOption option, decode_option(element, design));
    const auto same = std::ranges::find(design.options, option.name, &CompileOption::name);
    if (same != design.options.end()) {
      return element.error(fmt::format("the option {} stands here twice", option.name));
    }
    design.options.push_back(std::move(option));
  }
  return {};
}

}  // namespace mgtune
