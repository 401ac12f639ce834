// What `show` and `report` read from the store.

#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "model/report_model.h"
#include "store/store.h"

namespace mgtune {

// The database that --db names, else the default one, to read. nullopt when the default one does
// not exist yet: there are no results then. not_found when one that was named does not exist.
Result<std::optional<Store>> open_results(const std::string& named);

// Whether --kernel `kernel` ("rmsnorm", "rmsnorm.forward", a folder, "" for all) means this
// operator.
bool means_operator(const std::string& kernel, const std::string& full_name);

// The results of the operators that `kernel` means.
Result<ReportModel> read_results(Store& store, const std::string& kernel);

}  // namespace mgtune
