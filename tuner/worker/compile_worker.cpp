#include <algorithm>
#include <vector>

#include "build/build_cache.h"
#include "core/file_system.h"
#include "device/registry.h"
#include "worker/work_item.h"
#include "worker/worker.h"
#include "worker/worker_channel.h"
#include "worker/worker_loop.h"

namespace mgtune {
namespace {

class CompileWorker {
 public:
  CompileWorker()
      : catalog_(FileSystem::real()),
        builder_(BuildCache(FileSystem::real(), BuildCache::default_directory())),
        devices_(list_devices()) {}

  Status handle(const WorkRequest& request, WorkReply& reply) {
    const auto device = std::ranges::find(devices_, request.device, &DeviceInfo::id);
    BuildRecord& record = reply.build.emplace();
    if (device == devices_.end()) return environment_error("no device " + request.device);
    MGTUNE_ASSIGN(const WorkItem item, bind_request(catalog_, request));
    return build_item(builder_, item, *device, record).status();
  }

 private:
  Catalog catalog_;
  Builder builder_;
  std::vector<DeviceInfo> devices_;
};

}  // namespace

Status run_compile_worker() {
  MGTUNE_ASSIGN(WorkerChannel channel, WorkerChannel::open());
  CompileWorker worker;
  return serve_requests(channel, [&worker](const WorkRequest& request, WorkReply& reply) {
    return worker.handle(request, reply);
  });
}

}  // namespace mgtune
