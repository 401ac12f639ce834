#include <algorithm>
#include <vector>

#include "build/build_cache.h"
#include "core/file_system.h"
#include "device/registry.h"
#include "worker/work_item.h"
#include "worker/worker.h"
#include "worker/worker_channel.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

class CompileWorker {
 public:
  CompileWorker()
      : catalog_(FileSystem::real()),
        builder_(BuildCache(FileSystem::real(), BuildCache::default_directory())),
        devices_(list_devices()) {}

  WorkReply handle(const WorkRequest& request) {
    WorkReply reply;
    reply.id = request.id;
    const Status status = compile(request, reply.build.emplace());
    if (!status.ok()) put_failure(status, reply);
    return reply;
  }

 private:
  Status compile(const WorkRequest& request, BuildRecord& record) {
    const auto device = std::ranges::find(devices_, request.device, &DeviceInfo::id);
    if (device == devices_.end()) return environment_error("no device " + request.device);
    MGTUNE_ASSIGN(const WorkItem item, bind_request(catalog_, request));
    return build_item(builder_, item, *device, record).status();
  }

  Catalog catalog_;
  Builder builder_;
  std::vector<DeviceInfo> devices_;
};

}  // namespace

Status run_compile_worker() {
  MGTUNE_ASSIGN(WorkerChannel channel, WorkerChannel::open());
  CompileWorker worker;
  while (true) {
    MGTUNE_ASSIGN(const std::optional<WorkRequest> request, channel.next_request());
    if (!request) return {};
    MGTUNE_TRY(channel.begin(*request));
    MGTUNE_TRY(channel.send(worker.handle(*request)));
  }
}

}  // namespace mgtune
