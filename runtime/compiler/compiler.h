// Compiler: turns a source text and kernel name expressions into a Build. There is one
// implementation per kind of architecture. make_compiler() picks it, so callers need not know which
// device they serve.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "build/build.h"
#include "core/status.h"
#include "family/source_tree.h"
#include "system/file_system.h"
#include "system/shared_library.h"

namespace mgtune {

struct BuildRequest {
  const SourceTree* sources;         // of the family; <mg/...> comes from the binary itself
  std::string source;                // a file in `sources`: "forward.cu"
  std::vector<std::string> kernels;  // name expressions; duplicates are compiled once
  std::string arch;      // "sm_90a"; "cpu", or "cpu-race" with the race checker compiled in
  std::string key = {};  // its build_key() for the compiler at hand; empty: not computed yet
};

// Not thread-safe: one per thread or process.
class Compiler {
 public:
  virtual ~Compiler() = default;

  // The parts of the toolchain that determine the output: name, version, options. Part of every
  // key.
  virtual const std::string& identity() const = 0;

  // compile_failed, with the compiler's own message, only if the source is at fault. timeout.
  // environment or io if the machine is at fault (no compiler, a compiler that was killed, no
  // space).
  virtual Result<Build> compile(const BuildRequest& request) = 0;
};

// For "cpu" and "cpu-race" the host C++ compiler, for "sm_..." NVRTC. environment if there is none,
// naming where it was looked for. unsupported for an architecture that no compiler here serves.
Result<std::unique_ptr<Compiler>> make_compiler(const std::string& arch);

// The same for one of the two. The errors of the first are those of find_host_toolchain(). NVRTC
// needs no GPU and no driver, and is not opened before the first compile.
Result<std::unique_ptr<Compiler>> make_host_compiler(const std::string& arch);
Result<std::unique_ptr<Compiler>> make_nvrtc_compiler(
    const std::string& arch, FileSystem& file_system = FileSystem::real(),
    LibraryLoader& loader = LibraryLoader::real());

// SHA-256 over the source, every header it includes (followed through "..." and <mg/...>), the
// kernels, the architecture and the compiler's identity. Equal keys give equal builds. With an
// empty identity it names what is asked for, whatever compiles it.
//
// It reads every source again, so whoever has the key passes it on in BuildRequest::key.
std::string build_key(const BuildRequest& request, const std::string& compiler_identity);

// The request's own key, or build_key() where it has none yet.
inline std::string known_build_key(const BuildRequest& request,
                                   const std::string& compiler_identity) {
  return request.key.empty() ? build_key(request, compiler_identity) : request.key;
}

}  // namespace mgtune
