#include "core/version.h"

namespace mgtune {

std::string_view mgtune_version() { return MGTUNE_VERSION; }

}  // namespace mgtune
