// The files of tuner/scaffold/templates, embedded in the program. There is one folder for each word
// that `mgtune new --like` takes; it has an operator file, a source and reference.cu.

#pragma once

#include <span>

#include "core/embedded.h"

namespace mgtune {

// Sorted by path: "tuner/scaffold/templates/elementwise/add.cu".
std::span<const EmbeddedFile> template_files();

}  // namespace mgtune
