// gunzip(): the content of a gzip file. A pure function.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/status.h"

namespace mgtune {

bool is_gzip(std::string_view content);  // starts like one

// corrupt where `content` is damaged, cut short or followed by something else, and where it unpacks
// to more than `most_bytes`: a small file can stand for any number of zeros.
Result<std::string> gunzip(std::string_view content, std::size_t most_bytes);

}  // namespace mgtune
