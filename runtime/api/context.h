// Context: the object behind a mgr_context_t. It has an opened device, the modules that its plans
// share, the families, the tuned rows of its source, and builders with their cache. Plans point
// into the context and must be destroyed before it.
//
// Thread-safe. There are two locks. One is for the families and the tuned rows: plan() holds it
// while it reads them. The other is SharedModules::device_mutex(): with_device() holds it, and so
// does a plan while it loads or unloads. Neither is held while a plan selects and builds its
// variants, so several threads do that at the same time. device_info() needs no lock, and launches
// of plans do not use the context.

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
    std::string database;  // a database, a table or a pack; empty: the sources of tuned_source.h
    std::vector<std::string> family_folders;
  };
  static Result<std::unique_ptr<Context>> open(const Options& options);

  struct PlanWords {
    std::string op;
    std::map<std::string, std::string> assignments;
    std::map<std::string, DimRange> ranges;
  };
  Result<std::unique_ptr<Plan>> plan(const PlanWords& words);

  // The lines of mgr_explain that say where the tuned rows of the operator came from.
  std::string source_lines(const std::string& op);

  // Calls `use` with the device while no other thread uses it, and returns its result.
  template <typename Use>
  auto with_device(const Use& use) {
    const std::scoped_lock lock(modules_.device_mutex());
    return use(*device_);
  }

  const DeviceInfo& device_info() const { return device_->info(); }

 private:
  // What a plan is made from, besides the device and a builder.
  struct PlanInput {
    Binding binding;
    std::vector<DimRange> ranges;
    Evidence evidence;
  };

  explicit Context(std::unique_ptr<Device> device);
  Result<PlanInput> read_input(const PlanWords& words);
  Status add_families(const std::vector<std::string>& folders);

  std::unique_ptr<Device> device_;
  SharedModules modules_{*device_};
  std::mutex source_mutex_;  // for the next two
  Catalog catalog_;
  TunedSource source_;
  BuilderPool builders_;
};

}  // namespace mgtune
