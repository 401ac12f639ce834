// HostCompiler: builds for the cpu device. It runs the machine's C++ compiler over the same sources
// that NVRTC gets, with the headers of runtime/device/cpu/include in front.
//
// Sources and headers are in a private temporary folder while the object lives. The paths of that
// folder never reach the binary: equal requests give equal bytes, wherever and however often they
// are built. The headers are precompiled before the third compile; tests/bench/cpu_device_benchmark
// measures what that costs and saves. The compiler is run with an argument vector and a deadline of
// two minutes. Not thread-safe.

#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "compiler/host_toolchain.h"
#include "system/temporary_folder.h"

namespace mgtune {

// For "cpu" and "cpu-race". The errors are those of find_host_toolchain().
Result<std::unique_ptr<Compiler>> make_host_compiler(const std::string& arch);

class HostCompiler : public Compiler {
 public:
  HostCompiler(std::string arch, HostToolchain toolchain, TemporaryFolder folder);

  const std::string& identity() const override { return identity_; }
  Result<Build> compile(const BuildRequest& request) override;

  // Writes the headers into the folder. Call it before the first compile.
  Status write_headers();

 private:
  Result<std::string> write_sources(const SourceTree& sources);
  std::vector<std::string> compile_arguments() const;
  void precompile_header();
  Status run(std::vector<std::string> arguments, const std::string& directory,
             const BuildRequest& request, std::string& log) const;
  std::string readable(const std::string& output, const SourceTree& sources) const;

  std::string arch_;
  HostToolchain toolchain_;
  TemporaryFolder folder_;
  std::string identity_;
  std::set<std::string> written_trees_;
  int compiles_ = 0;
};

}  // namespace mgtune
