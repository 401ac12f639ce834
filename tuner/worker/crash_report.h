// Which part of a dead worker's standard error goes into its variant's message. Pure.

#pragma once

#include <string>

namespace mgtune {

// `end` is ChildProcess::end_description(). From a sanitizer's report the message takes the
// finding, the access, the first frames and the SUMMARY line, and the device's lines about block,
// thread and buffer. From any other output it takes the last lines.
std::string crash_message(const std::string& end, const std::string& error_output);

}  // namespace mgtune
