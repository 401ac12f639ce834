// The words that C headers made from operator files share: comments that describe tensors and
// plans, and lists that are broken into lines. Pure functions.

#pragma once

#include <string>
#include <vector>

#include "family/operator.h"

namespace mgtune {

// `head` and the items with blanks between them, broken into lines of 100 columns. All lines but
// the first start with `indent`. Ends with a newline.
std::string wrapped(const std::string& head, const std::vector<std::string>& items,
                    const std::string& indent);

std::vector<std::string> words_of(const std::string& text);

// `head`, the items with commas between them, `tail`.
std::string wrapped_list(const std::string& head, std::vector<std::string> items,
                         const std::string& tail);

// "T" for a dtype variable, "f32" for a dtype that is written out.
std::string dtype_text(const Operator& op, const DTypeRef& dtype);

// What a plan of the operator is made with: "hidden, T (f32, bf16), rstd (true where it is
// passed)".
std::string plan_text(const Operator& op);

// "x: T [rows, hidden], read, strides [x_stride, 1]"
std::string tensor_text(const Operator& op, const Tensor& tensor);

}  // namespace mgtune
