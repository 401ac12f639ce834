#include "header_text/header_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <sstream>

#include "core/dtype.h"

namespace mgtune {
namespace {

constexpr std::size_t kColumns = 100;

std::string list(const std::vector<Expression>& expressions) {
  std::vector<std::string> texts;
  texts.reserve(expressions.size());
  for (const Expression& expression : expressions) texts.push_back(expression.text());
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

}  // namespace

std::string wrapped(const std::string& head, const std::vector<std::string>& items,
                    const std::string& indent) {
  std::string lines;
  std::string line = head;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0 && line.size() + 1 + items[i].size() > kColumns) {
      lines += line + "\n";
      line = indent + items[i];
    } else {
      line += (i > 0 ? " " : "") + items[i];
    }
  }
  return lines + line + "\n";
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::string wrapped_list(const std::string& head, std::vector<std::string> items,
                         const std::string& tail) {
  for (std::size_t i = 0; i < items.size(); ++i) items[i] += i + 1 < items.size() ? "," : tail;
  return wrapped(head, items, "    ");
}

std::string dtype_text(const Operator& op, const DTypeRef& dtype) {
  for (const DTypeVariable& variable : op.dtypes) {
    if (variable.slot == dtype.slot) return variable.name;
  }
  return std::string(to_string(dtype.fixed));
}

std::string plan_text(const Operator& op) {
  std::vector<std::string> words;
  for (const Dim& dim : op.dims) {
    if (dim.kind == DimKind::fixed) words.push_back(dim.name);
  }
  for (const DTypeVariable& variable : op.dtypes) {
    std::vector<std::string> dtypes;
    for (const DType dtype : variable.values) dtypes.emplace_back(to_string(dtype));
    words.push_back(fmt::format("{} ({})", variable.name, fmt::join(dtypes, ", ")));
  }
  for (const Flag& flag : op.flags) words.push_back(flag.name + " (true or false)");
  for (const Tensor& tensor : op.tensors) {
    if (tensor.optional) words.push_back(tensor.name + " (true where it is passed)");
  }
  return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", "));
}

std::string tensor_text(const Operator& op, const Tensor& tensor) {
  static constexpr const char* kRoles[] = {"read", "written", "read and written"};
  std::string text = fmt::format("{}: {} {}, {}", tensor.name, dtype_text(op, tensor.dtype),
                                 list(tensor.shape), kRoles[static_cast<std::size_t>(tensor.role)]);
  text += tensor.strides.empty() ? ", contiguous" : ", strides " + list(tensor.strides);
  if (tensor.align > 0) text += fmt::format(", aligned to {} bytes", tensor.align);
  if (tensor.optional) text += ", null in a plan without it";
  if (tensor.when) text += ", null unless " + tensor.when->text();
  return text;
}

}  // namespace mgtune
