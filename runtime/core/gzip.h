// gzip() and gunzip(): the content of a gzip file. Pure functions.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/status.h"

namespace mgtune {

bool is_gzip(std::string_view content);  // starts like one

// corrupt if `content` is damaged, cut short or followed by something else, or if it unpacks to
// more than `max_bytes`: a small file can stand for any number of zeros.
Result<std::string> gunzip(std::string_view content, std::size_t max_bytes);

// The same content always gives the same bytes: the header has no name, time or system.
Result<std::string> gzip(std::string_view content);

}  // namespace mgtune
