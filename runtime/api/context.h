// Context: what a mgr_context_t stands for: an opened device and the modules that its plans share,
// the families, the tuned rows of its source and builders with their cache. Plans point into it and
// go before it.
//
// Thread-safe: methods that use the device or the families take the context's lock, and plan() is
// without it while it builds, so that several threads compile at the same time. device_info() reads
// what open() left and takes none. Launches of plans do not pass through here.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/builder_pool.h"
#include "api/tuned_source.h"
#include "core/status.h"
#include "device/device.h"
#include "device/shared_modules.h"
#include "dispatch/plan.h"
#include "family/catalog.h"

namespace mgtune {

class Context {
 public:
  struct Options {
    std::string device = "auto";
    std::string database;  // a database, a table or a pack; empty: as tuned_source.h says
    std::vector<std::string> family_folders;
  };
  static Result<std::unique_ptr<Context>> open(const Options& options);

  struct PlanWords {
    std::string op;
    std::map<std::string, std::string> assignments;
    std::map<std::string, DimRange> ranges;
  };
  Result<std::unique_ptr<Plan>> plan(const PlanWords& words);

  // What mgr_explain says of where the tuned rows of a plan of the operator came from, as lines.
  std::string source_lines(const std::string& op);

  // Unloads the modules that no other plan uses, which the device wants in order with all else.
  void release(std::unique_ptr<Plan> plan);

  Result<void*> allocate(std::size_t bytes);
  void free(void* memory);
  Status copy_to_device(void* device, const void* host, std::size_t bytes);
  Status copy_to_host(void* host, const void* device, std::size_t bytes);
  Status synchronize(Stream stream);

  const DeviceInfo& device_info() const { return device_->info(); }

 private:
  explicit Context(std::unique_ptr<Device> device);
  Status add_families(const std::vector<std::string>& folders);

  std::mutex mutex_;
  std::unique_ptr<Device> device_;
  SharedModules modules_{*device_};
  Catalog catalog_;
  TunedSource source_;
  BuilderPool builders_;
};

}  // namespace mgtune
