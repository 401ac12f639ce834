#include "header/typed_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "header/typed_operator.h"

namespace mgtune {
namespace {

constexpr std::string_view kShared = R"(
/* What all headers of this kind share. */
#ifndef MGR_TYPED_HEADERS_
#define MGR_TYPED_HEADERS_
#ifdef __cplusplus
#define MGR_DEFAULT(value) = value /* of a member that an initializer leaves out */
#else
#define MGR_DEFAULT(value)
#endif
/* The bits of a half and of a bfloat16. A __half* or __nv_bfloat16* is cast to a pointer to these. */
typedef struct mgr_f16_t {
  uint16_t bits;
} mgr_f16_t;
typedef struct mgr_bf16_t {
  uint16_t bits;
} mgr_bf16_t;
#endif
)";

// Only for C++: functions with which the launches with spans compute lengths. They are the
// functions that the expressions of operator files may use.
constexpr std::string_view kSpans = R"(
#if defined(__cplusplus) && __cplusplus >= 202002L
#ifndef MGR_TYPED_SPANS_
#define MGR_TYPED_SPANS_
#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <span>
#include <string>

#include <mgruntime/mgruntime.hpp>

namespace mgr::typed {

template <class... Values>
constexpr int64_t min(Values... values) {
  return std::min({static_cast<int64_t>(values)...});
}
template <class... Values>
constexpr int64_t max(Values... values) {
  return std::max({static_cast<int64_t>(values)...});
}
constexpr int64_t gcd(int64_t a, int64_t b) { return std::gcd(a, b); }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }
constexpr bool is_pow2(int64_t a) { return a > 0 && (a & (a - 1)) == 0; }

// The elements from the first to the last one of a tensor. No strides: it is contiguous.
inline int64_t extent(std::initializer_list<int64_t> shape, std::initializer_list<int64_t> strides) {
  int64_t product = 1, last = 0;
  const int64_t* stride = strides.begin();
  for (const int64_t size : shape) {
    if (size == 0) return 0;
    product *= size;
    if (strides.size() > 0) last += (size - 1) * *stride++;
  }
  return strides.size() > 0 ? last + 1 : product;
}

inline Status too_short(const char* tensor, std::size_t size, int64_t needed) {
  return Status(Error{MGR_INVALID_ARGUMENT, std::string(tensor) + " has " + std::to_string(size) +
                                                " elements, but these dims need " +
                                                std::to_string(needed)});
}

}  // namespace mgr::typed
#endif
)";

std::string guard_of(const std::string& file) {
  std::string guard;
  for (const char c : file) {
    const auto byte = static_cast<unsigned char>(c);
    guard += std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return "MGTUNE_" + guard + "_";
}

}  // namespace

Result<std::string> typed_header(std::span<const Operator* const> operators,
                                 const std::string& file, const std::string& command) {
  const std::string guard = guard_of(file);
  std::string c, cpp;
  for (const Operator* op : operators) {
    MGTUNE_ASSIGN(const TypedOperator typed, typed_operator(*op));
    c += typed.c;
    cpp += typed.cpp;
  }
  return fmt::format(
             "/* Typed functions for operators of mgtune, made by\n *   {}\n *\n"
             " * A program opens a context with mgr_open, and names the family's folder in "
             "family_folders. It makes\n * a plan once, launches it any number of times, and frees "
             "it "
             "with mgr_plan_free(plan.handle). If\n * mgr_workspace_bytes(plan.handle) is not 0, a "
             "launch needs a workspace. mgruntime.h says which\n * statuses there are, and what "
             "threads "
             "may do. Tensors are pointers to device memory.\n */\n\n"
             "#ifndef {}\n#define {}\n\n#include <mgruntime/mgruntime.h>\n#include <stdbool.h>\n"
             "#include <stdio.h>\n#include <string.h>\n",
             command, guard, guard) +
         std::string(kShared) + "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n" + c +
         "\n#ifdef __cplusplus\n}\n#endif\n" + std::string(kSpans) + cpp + "\n#endif\n\n" +
         fmt::format("#endif /* {} */\n", guard);
}

}  // namespace mgtune
