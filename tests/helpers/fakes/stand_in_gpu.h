// StandInGpu: makes this process one with a GPU: the driver that mgtune opens from here on is
// stand_in_cuda.cpp, already loaded under the name libcuda.so.1. Before the first mgr_open. NVRTC
// takes it for the real one and crashes: what is to be compiled another process compiles.

#pragma once

#include <dlfcn.h>
#include <stdlib.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/helpers/test_paths.h"

namespace mgtune {

class StandInGpu {
 public:
  StandInGpu() : library_(::dlopen(stand_in_cuda_path().c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ != nullptr) return;
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::abort();
  }

  std::int64_t inits() const { return count("stand_in_inits"); }        // of the driver
  std::int64_t loads() const { return count("stand_in_loads"); }        // of cubins
  std::int64_t loaded() const { return count("stand_in_loaded"); }      // and not unloaded
  std::int64_t launches() const { return count("stand_in_launches"); }  // of kernels

  // While streams are held, whoever waits for one waits on.
  void hold_streams(bool hold) const {
    reinterpret_cast<void (*)(bool)>(::dlsym(library_, "stand_in_hold_streams"))(hold);
  }

 private:
  std::int64_t count(const char* name) const {
    return reinterpret_cast<std::int64_t (*)()>(::dlsym(library_, name))();
  }

  void* library_;
};

// Whether a library whose file starts with `name` is in this process.
inline bool is_loaded(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/" + name) != std::string::npos) return true;
  }
  return false;
}

// A tuned table of rmsnorm.forward with one pick; `gpu` as the stand-in describes itself.
inline std::string rmsnorm_table(const std::string& gpu = "NVIDIA H200") {
  return R"json({"format": 1, "tables": [{"operator": "rmsnorm.forward",
 "gpu": {"model": ")json" +
         gpu + R"json(", "arch": "sm_90", "sm_count": 132, "l2_bytes": 62914560,
         "memory_bytes": 150000000000, "max_shared_bytes": 232448, "mig_profile": "",
         "emulation": false},
 "environment": {"mgtune_version": "0.1.0", "compiler": "", "driver": "", "system": ""},
 "picks": [{"problem": "rows=512 hidden=1024 T=bf16", "method": "rotating", "design": "row",
   "parameters": {"THREADS_PER_ROW": 64, "ROWS_PER_BLOCK": 1, "ROWS_PER_THREAD": 1, "VEC": 8,
                  "LOAD": "no_allocate", "STORE": "streaming", "WEIGHT": "early", "PDL": false},
   "median_ns": 3874.5, "default": null, "tie": false,
   "measured_at": "2026-11-21T09:00:00Z"}]}]})json";
}

}  // namespace mgtune
