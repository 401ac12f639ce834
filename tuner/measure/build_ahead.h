// BuildAhead: finds the builds of requests that wait for their turn. On the thread that reads the
// requests, it binds a request and reads its build from the cache, so that the GPU does not wait
// for the disk and for hashing. It never compiles and uses no device: if the cache does not have a
// build, the build is made when the request has its turn.
//
// Two threads may use an object: one calls look(), the other one calls bind() and take().

#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"
#include "family/catalog.h"
#include "worker/protocol.h"
#include "worker/work_item.h"

namespace mgtune {

class BuildAhead {
 public:
  explicit BuildAhead(DeviceInfo device);

  // bind_request() with the catalog of this object. The catalog owns what the items refer to.
  Result<WorkItem> bind(const NamedProblem& request, const std::string& variant);

  struct Found {
    WorkItem item;
    BuildRecord record;
    Build build;
  };
  void look(std::int64_t id, const VariantRequest& request);
  std::optional<Found> take(std::int64_t id);

 private:
  const DeviceInfo device_;
  Builder builder_;  // of the thread that looks ahead
  std::mutex mutex_;
  Catalog catalog_;
  struct Kept {
    std::int64_t id;
    Found found;
  };
  std::deque<Kept> kept_;
};

}  // namespace mgtune
