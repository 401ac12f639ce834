#include <utility>

#include "build/build_cache.h"
#include "compile/absent_driver.h"
#include "system/file_system.h"
#include "worker/work_item.h"
#include "worker/worker.h"
#include "worker/worker_channel.h"

namespace mgtune {
namespace {

class CompileWorker {
 public:
  explicit CompileWorker(DeviceInfo device)
      : catalog_(FileSystem::real()),
        builder_(BuildCache(FileSystem::real(), BuildCache::default_directory())),
        device_(std::move(device)) {}

  Status handle(const CompileRequest& request, WorkReply& reply) {
    BuildRecord& record = reply.build.emplace();
    if (request.device != device_.id) return internal_error("no device " + request.device);
    MGTUNE_ASSIGN(const WorkItem item, bind_request(catalog_, request, request.variant));
    return build_item(builder_, item, device_, record).status();
  }

 private:
  Catalog catalog_;
  Builder builder_;
  DeviceInfo device_;
};

}  // namespace

Status run_compile_worker(DeviceInfo device) {
  keep_driver_out();
  MGTUNE_ASSIGN(WorkerChannel channel, WorkerChannel::open());
  CompileWorker worker(std::move(device));
  return channel.serve(worker);
}

}  // namespace mgtune
