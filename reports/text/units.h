// Numbers in the form in which people read them, the same in the terminal and in the HTML report.
// Pure.

#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace mgtune {

// The note that is shown wherever times of the cpu device are shown.
inline constexpr std::string_view kEmulationNote =
    "Times marked emulation are those of the cpu device: they exercise the pipeline and say "
    "nothing about a GPU.";

// The command that produces results for an empty report.
inline constexpr std::string_view kSweepCommand = "mgtune sweep --kernel rmsnorm --gpu auto";

std::string time_text(double time_ns);      // four digits: "812.4 ns", "17.23 us", "2.000 s"
std::string duration_text(double seconds);  // "8 s", "1:05", "2:03:10"
std::string ratio_text(double ratio);       // "1.22x", to the thousandth near 1: "1.013x"
std::string percent_text(double part);      // "97.3 %" for 0.973
std::string bandwidth_text(double gbps);    // "3412", "0.52"; the unit is in the head of the column
std::string metric_text(double value);      // of a user's metric: "812.4", "0.01234", "1.234e+09"
std::string energy_text(double joules);     // "812.4 uJ", "17.23 mJ", "2.000 J"
std::string error_text(double error);       // "1.3e-04"
std::string bytes_text(std::int64_t bytes);  // "141 GiB"

// "1 variant", "2 variants".
std::string counted(std::integral auto count, std::string_view noun) {
  return std::to_string(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

}  // namespace mgtune
