// fmt 9, compiled once for programs that link everything statically: distributions ship it as a
// shared library, and header-only, where every file that formats would compile all of it again
// (3.4 s instead of 0.9 s each). What is instantiated here is what <fmt/format.h> leaves out.

#include <fmt/format-inl.h>

namespace fmt {
inline namespace v9 {
namespace detail {

template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;

template locale_ref::locale_ref(const std::locale&);
template std::locale locale_ref::get<std::locale>() const;

template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);

template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, basic_string_view<char>,
                         basic_format_args<buffer_context<char>>, locale_ref);

}  // namespace detail
}  // namespace v9
}  // namespace fmt
