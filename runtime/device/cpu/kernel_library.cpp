#include "kernel_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <utility>

namespace mgtune {
namespace {

thread_local SharedLayout* loading_layout = nullptr;

struct CodeSearch {
  std::uintptr_t address;
  CodeRange found;
};

int look_in_library(dl_phdr_info* info, std::size_t, void* raw_search) {
  auto& search = *static_cast<CodeSearch*>(raw_search);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
    if (header.p_type != PT_LOAD || search.address < begin || search.address >= end) continue;
    search.found = {begin, end};
    return 1;
  }
  return 0;
}

// The code of the library that has this function: the segment around it has all code of the
// library.
CodeRange code_around(void (*function)(void* const*)) {
  CodeSearch search{reinterpret_cast<std::uintptr_t>(function), {}};
  dl_iterate_phdr(look_in_library, &search);
  return search.found;
}

class KernelLibrary final : public Module {
 public:
  KernelLibrary() = default;
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;
  ~KernelLibrary() override {
    if (handle_ != nullptr) dlclose(handle_);
    if (!path_.empty()) unlink(path_.c_str());
  }

  Status open(const std::string& path) {
    path_ = path;
    loading_layout = &layout_;
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    loading_layout = nullptr;
    if (handle_ != nullptr) return Status();
    const char* const error = dlerror();
    return Status(StatusCode::launch_failed, std::string("cannot load the build: ") +
                                                 (error != nullptr ? error : "no reason given"));
  }

  Status find_kernels(const Build& build) {
    for (const BuildKernel& kernel : build.kernels) {
      const auto* const entry =
          static_cast<const mgcpu::KernelEntry*>(dlsym(handle_, kernel.symbol.c_str()));
      if (entry == nullptr) {
        return corrupt("the build has no symbol '" + kernel.symbol + "' for " + kernel.name);
      }
      if (entry->abi_version != mgcpu::kAbiVersion) {
        return incompatible("the build is for version " + std::to_string(entry->abi_version) +
                            " of the cpu device; this is version " +
                            std::to_string(mgcpu::kAbiVersion));
      }
      BlockTask task;
      task.entry = entry;
      task.layout = &layout_;
      task.code = code_around(entry->run);
      task.check_accesses = build.arch == "cpu-race";
      const std::size_t static_bytes = build.kernels.size() == 1 ? layout_.array_bytes() : 0;
      kernels_.push_back(std::make_unique<CpuKernel>(kernel.name, task, static_bytes));
    }
    return Status();
  }

  // The compiler exports a pointer to each variable, and its size under the same name with
  // "_bytes".
  Status find_variables(const Build& build) {
    for (const BuildVariable& variable : build.variables) {
      const auto* const memory = static_cast<void**>(dlsym(handle_, variable.symbol.c_str()));
      const auto* const bytes =
          static_cast<const std::size_t*>(dlsym(handle_, (variable.symbol + "_bytes").c_str()));
      if (memory == nullptr || bytes == nullptr) {
        return corrupt("the build has no symbol '" + variable.symbol + "' for " + variable.name);
      }
      variables_[variable.name] = {*memory, *bytes};
    }
    return Status();
  }

 private:
  std::string path_;
  void* handle_ = nullptr;
  SharedLayout layout_;
};

}  // namespace

SharedLayout* layout_being_loaded() { return loading_layout; }

CpuKernel::CpuKernel(std::string name, const BlockTask& task, std::size_t static_shared_bytes)
    : Kernel(std::move(name), {task.entry->parameter_bytes,
                               task.entry->parameter_bytes + task.entry->parameter_count}),
      task_(task),
      static_shared_bytes_(static_shared_bytes) {}

Result<std::unique_ptr<Module>> load_kernel_library(const Build& build,
                                                    const TemporaryFolder& folder) {
  static std::atomic<std::uint64_t> loaded{0};
  const std::string file = "kernel" + std::to_string(loaded.fetch_add(1)) + ".so";
  auto library = std::make_unique<KernelLibrary>();
  MGTUNE_TRY(folder.write(file, build.binary));
  MGTUNE_TRY(library->open(folder.path() + "/" + file));
  MGTUNE_TRY(library->find_kernels(build));
  MGTUNE_TRY(library->find_variables(build));
  return std::unique_ptr<Module>(std::move(library));
}

}  // namespace mgtune
