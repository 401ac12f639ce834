// A thin C++17 layer over mgruntime.h: handles that free themselves, and Result<T> for functions
// that can fail. Nothing here throws except std::bad_alloc. mgruntime.h says what threads may do
// and how long objects live. A Buffer belongs to its Context and must be destroyed before it.

#ifndef MGRUNTIME_MGRUNTIME_HPP_
#define MGRUNTIME_MGRUNTIME_HPP_

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mgruntime/mgruntime.h"

namespace mgr {

struct Error {
  mgr_status_t status = MGR_OK;
  std::string message;
};

// A value, or the error that says why there is no value.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}
  explicit operator bool() const { return value_.has_value(); }
  T& operator*() { return *value_; }
  T* operator->() { return &*value_; }
  const Error& error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

// Whether a call succeeded; true on success, like Result.
class [[nodiscard]] Status {
 public:
  explicit Status(mgr_status_t status) {
    if (status != MGR_OK) error_ = {status, mgr_last_error()};
  }
  explicit Status(Error error) : error_(std::move(error)) {}
  explicit operator bool() const { return error_.status == MGR_OK; }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

// Device memory. The destructor frees it. Move-only.
class Buffer {
 public:
  Buffer() = default;
  Buffer(mgr_context_t* context, void* data) : data_(data, Free{context}) {}
  void* data() const { return data_.get(); }

 private:
  struct Free {
    mgr_context_t* context;
    void operator()(void* data) const { mgr_free(context, data); }
  };
  std::unique_ptr<void, Free> data_;
};

// Immutable: any number of threads may launch it.
class Plan {
 public:
  explicit Plan(mgr_plan_t* plan) : plan_(plan) {}

  std::size_t workspace_bytes() const { return mgr_workspace_bytes(plan_.get()); }
  Status init_workspace(void* workspace, void* stream = nullptr) const {
    return Status(mgr_workspace_init(plan_.get(), workspace, stream));
  }
  Status launch(std::initializer_list<std::int64_t> dims, std::initializer_list<void*> tensors,
                std::initializer_list<double> scalars, void* workspace = nullptr,
                void* stream = nullptr) const {
    return Status(mgr_launch(plan_.get(), stream, dims.begin(), dims.size(), tensors.begin(),
                             tensors.size(), scalars.begin(), scalars.size(), workspace));
  }
  Result<std::string> explain(std::initializer_list<std::int64_t> dims) const {
    std::size_t needed = 0;
    Status status(mgr_explain(plan_.get(), dims.begin(), dims.size(), nullptr, 0, &needed));
    if (!status) return status.error();
    std::string text(needed, '\0');
    status =
        Status(mgr_explain(plan_.get(), dims.begin(), dims.size(), text.data(), needed, nullptr));
    if (!status) return status.error();
    text.pop_back();  // the closing zero
    return text;
  }
  mgr_plan_t* handle() const { return plan_.get(); }

 private:
  struct Free {
    void operator()(mgr_plan_t* plan) const { mgr_plan_free(plan); }
  };
  std::unique_ptr<mgr_plan_t, Free> plan_;
};

struct OpenOptions {
  std::string device = "auto";
  std::string database;  // empty: $MGTUNE_DB, otherwise the user's
  std::vector<std::string> family_folders;
};

class Context {
 public:
  static Result<Context> open(const OpenOptions& options = {}) {
    std::vector<const char*> folders;
    for (const std::string& folder : options.family_folders) folders.push_back(folder.c_str());
    mgr_open_options_t c{};
    c.struct_size = sizeof(c);
    c.device = options.device.c_str();
    c.database = options.database.empty() ? nullptr : options.database.c_str();
    c.family_folders = folders.data();
    c.family_folder_count = folders.size();
    mgr_context_t* context = nullptr;
    if (const Status status(mgr_open(&c, &context)); !status) return status.error();
    return Context(context);
  }

  // context.plan("rmsnorm.forward", {{"hidden", "4096"}, {"T", "bf16"}}, {{"rows", 1, 8192}})
  Result<Plan> plan(const char* op, std::initializer_list<mgr_assignment_t> assignments,
                    std::initializer_list<mgr_range_t> ranges) const {
    mgr_plan_options_t c{};
    c.struct_size = sizeof(c);
    c.operator_name = op;
    c.assignments = assignments.begin();
    c.assignment_count = assignments.size();
    c.ranges = ranges.begin();
    c.range_count = ranges.size();
    mgr_plan_t* plan = nullptr;
    if (const Status status(mgr_plan(context_.get(), &c, &plan)); !status) return status.error();
    return Plan(plan);
  }

  Result<Buffer> allocate(std::size_t bytes) const {
    void* memory = nullptr;
    if (const Status status(mgr_allocate(context_.get(), bytes, &memory)); !status)
      return status.error();
    return Buffer(context_.get(), memory);
  }
  Status copy_to_device(void* device, const void* host, std::size_t bytes) const {
    return Status(mgr_copy_to_device(context_.get(), device, host, bytes));
  }
  Status copy_to_host(void* host, const void* device, std::size_t bytes) const {
    return Status(mgr_copy_to_host(context_.get(), host, device, bytes));
  }
  Status synchronize(void* stream = nullptr) const {
    return Status(mgr_synchronize(context_.get(), stream));
  }
  const char* device_name() const { return mgr_device_name(context_.get()); }
  mgr_context_t* handle() const { return context_.get(); }

 private:
  explicit Context(mgr_context_t* context) : context_(context) {}

  struct Close {
    void operator()(mgr_context_t* context) const { mgr_close(context); }
  };
  std::unique_ptr<mgr_context_t, Close> context_;
};

}  // namespace mgr

#endif  // MGRUNTIME_MGRUNTIME_HPP_
