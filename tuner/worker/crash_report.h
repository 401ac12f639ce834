// What of a dead worker's standard error goes into its variant's message. Pure.

#pragma once

#include <string>

namespace mgtune {

// `end` is ChildProcess::end_description(). Of a sanitizer's report: what it found, the access, the
// first frames and the SUMMARY line, besides what the device printed about block, thread and
// buffer. Of anything else: its last lines.
std::string crash_message(const std::string& end, const std::string& error_output);

}  // namespace mgtune
