#include "measure/build_ahead.h"

#include <algorithm>
#include <utility>

#include "build/build_cache.h"
#include "system/file_system.h"

namespace mgtune {

BuildAhead::BuildAhead(DeviceInfo device)
    : device_(std::move(device)),
      builder_(BuildCache(FileSystem::real(), BuildCache::default_directory())),
      catalog_(FileSystem::real()) {}

Result<WorkItem> BuildAhead::bind(const NamedProblem& request, const std::string& variant) {
  const std::scoped_lock lock(mutex_);
  return bind_request(catalog_, request, variant);
}

// A failure is ignored here: the request fails again in its turn, and then the failure is reported.
void BuildAhead::look(std::int64_t id, const VariantRequest& request) {
  Result<WorkItem> item = bind(request, request.variant);
  if (!item.ok()) return;
  Found found{.item = *std::move(item), .record = {}, .build = {}};
  std::optional<Build> build = cached_item(builder_, found.item, device_, found.record);
  if (!build) return;
  found.build = *std::move(build);
  const std::scoped_lock lock(mutex_);
  kept_.push_back({id, std::move(found)});  // at most as many as a worker has requests
  if (kept_.size() > kMostRequests) kept_.pop_front();
}

std::optional<BuildAhead::Found> BuildAhead::take(std::int64_t id) {
  const std::scoped_lock lock(mutex_);
  const auto kept = std::ranges::find(kept_, id, &Kept::id);
  if (kept == kept_.end()) return std::nullopt;
  std::optional<Found> found(std::move(kept->found));
  kept_.erase(kept);
  return found;
}

}  // namespace mgtune
