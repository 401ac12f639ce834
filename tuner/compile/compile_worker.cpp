#include "compile/compile_worker.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "build/build_cache.h"
#include "json/json.h"
#include "json/json_cursor.h"
#include "system/file_descriptor.h"
#include "system/file_system.h"
#include "worker/machine_code.h"
#include "worker/work_item.h"
#include "worker/worker_channel.h"

extern "C" const char mgtune_absent_driver[], mgtune_absent_driver_end[];  // the library's file

namespace mgtune {
namespace {

constexpr std::array<std::pair<const char*, std::int64_t DeviceLimits::*>, 4> kTargetLimits = {
    {{"compute_capability", &DeviceLimits::compute_capability},
     {"sm_count", &DeviceLimits::sm_count},
     {"max_shared_bytes", &DeviceLimits::max_shared_bytes},
     {"l2_bytes", &DeviceLimits::l2_bytes}}};

// There are as many compilers as cores. Measure workers, and the process that drives the sweep,
// must not wait for a core, because a GPU would wait with them.
constexpr int kNiceness = 10;

void give_way() {
  // If the priority cannot be lowered, the process compiles anyway.
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + kNiceness));
}

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
    const std::int64_t compiled = builder_.compiled();
    const auto begin = std::chrono::steady_clock::now();
    build_together(request, item);
    const Result<Build> build = build_item(builder_, item, device_, record);
    if (builder_.compiled() > compiled) {
      reply.compile_seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    if (build.ok()) reply.code = machine_code_identity(build->binary);
    reply.not_cached = builder_.kept().message();
    return build.status();
  }

  Status handle(const ProbeRequest&, WorkReply&) { return builder_.check_compiler(device_.arch); }

 private:
  // Compiles the variants of a request with `others` as one program. A variant that is left out
  // here is compiled by itself when the parent asks for it, and its own reply says what is wrong
  // with it.
  void build_together(const CompileRequest& request, const WorkItem& item) {
    if (request.others.empty()) return;
    std::vector<BuildRequest> requests;
    const auto add = [&](const WorkItem& one) {
      Result<BuildRequest> build = item_build_request(one, device_);
      if (build.ok()) requests.push_back(*std::move(build));
    };
    add(item);
    for (const std::string& other : request.others) {
      const Result<WorkItem> bound = bind_request(catalog_, request, other);
      if (bound.ok()) add(*bound);
    }
    builder_.build_together(requests);
  }

  Catalog catalog_;
  Builder builder_;
  DeviceInfo device_;
};

}  // namespace

std::string compile_target_word(const DeviceInfo& device) {
  Json json = {{"id", device.id}, {"arch", device.arch}};
  for (const auto& [key, member] : kTargetLimits) json[key] = device.limits.*member;
  return json.compact_text();
}

Result<DeviceInfo> decode_compile_target(const std::string& word) {
  const Status refused = invalid_argument("not a device to compile for: " + word);
  const Result<JsonValue> json = parse_json(word);
  if (!json.ok()) return refused;
  ObjectReader reader(JsonCursor(word, *json));
  DeviceInfo device;
  reader.read("id", device.id);
  reader.read("arch", device.arch);
  for (const auto& [key, member] : kTargetLimits) reader.read(key, device.limits.*member);
  if (!reader.finish().ok()) return refused;
  device.kind = device.arch == "cpu" ? DeviceKind::cpu : DeviceKind::cuda;
  return device;
}

void keep_driver_out() {
  const FileDescriptor file(::memfd_create("libcuda.so.1", MFD_CLOEXEC));
  const std::string_view library(mgtune_absent_driver, mgtune_absent_driver_end);
  if (!file.is_open() || !write_all(file.get(), library)) return;
  ::dlopen(fmt::format("/proc/self/fd/{}", file.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
}

Status run_compile_worker(DeviceInfo device) {
  give_way();
  keep_driver_out();
  MGTUNE_ASSIGN(WorkerChannel channel, WorkerChannel::open());
  CompileWorker worker(std::move(device));
  return channel.serve(worker);
}

}  // namespace mgtune
