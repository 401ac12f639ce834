// Context: the object behind a mgr_context_t. It has an opened device, the modules that its plans
// share, the families, the tuned rows of its source, and builders with their cache. Plans point
// into the context and must be destroyed before it.
//
// Thread-safe. There are two locks. One is for the families and the tuned rows: plan() holds it
// while it reads those that it needs. The other is SharedModules::device_mutex(): a plan holds it
// while it loads or unloads. Neither is held while a plan selects and builds its variants, so
// several threads do that at the same time. Memory, copies and streams of device() need no lock, so
// a thread that waits for a long stream holds up no other thread.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"
#include "device/shared_modules.h"
#include "dispatch/plan.h"
#include "family/catalog.h"
#include "source/tuned_source.h"

namespace mgtune {

// Builders for threads that plan at the same time. A builder keeps its compilers, which take long
// to start, so the pool keeps the builders. Thread-safe. A borrowed builder is for one thread, and
// the pool must outlive it.
class BuilderPool {
 public:
  explicit BuilderPool(std::function<Builder()> make) : make_(std::move(make)) {}

  // The builder goes back to the pool at the end of the scope.
  using Borrowed = std::unique_ptr<Builder, std::function<void(Builder*)>>;
  Borrowed borrow() {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) idle_.push_back(std::make_unique<Builder>(make_()));
    Builder* const builder = idle_.back().release();
    idle_.pop_back();
    return {builder, [this](Builder* returned) {
              const std::scoped_lock lock_again(mutex_);
              idle_.emplace_back(returned);
            }};
  }

 private:
  std::function<Builder()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Builder>> idle_;
};

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
    std::optional<std::string> variant;  // the only one of the plan; nullopt: selection chooses
  };
  Result<std::unique_ptr<Plan>> plan(const PlanWords& words);

  // The lines of mgr_explain that say where the tuned rows of the operator came from.
  std::string source_lines(const std::string& op);

  // For memory, copies and streams. Only plans load modules.
  Device& device() const { return *device_; }

  const DeviceInfo& device_info() const { return device_->info(); }

 private:
  // The input of a plan, besides the device and a builder.
  struct PlanInput {
    Binding binding;
    std::vector<DimRange> ranges;
    std::shared_ptr<const Evidence> evidence;
    std::optional<Variant> only;
  };

  explicit Context(std::unique_ptr<Device> device);
  Result<PlanInput> read_input(const PlanWords& words);
  Status add_families(const std::vector<std::string>& folders);

  std::unique_ptr<Device> device_;
  SharedModules modules_{*device_};
  std::mutex source_mutex_;  // for catalog_ and source_
  Catalog catalog_;
  TunedSource source_;
  BuilderPool builders_;
};

}  // namespace mgtune
