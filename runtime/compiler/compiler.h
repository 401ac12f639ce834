// Compiler: turns a source text and kernel name expressions into a Build. There is one
// implementation per kind of architecture. make_compiler() picks it, so callers need not know which
// device they serve.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "build/build.h"
#include "core/status.h"
#include "family/source_tree.h"
#include "family/variant.h"
#include "system/file_system.h"
#include "system/shared_library.h"

namespace mgtune {

struct BuildRequest {
  const SourceTree* sources;         // of the family; <mg/...> comes from the binary itself
  std::string source;                // a file in `sources`: "forward.cu"
  std::vector<std::string> kernels;  // name expressions; duplicates are compiled once
  std::string arch;      // "sm_90a"; "cpu", or "cpu-race" with the race checker compiled in
  std::string key = {};  // build_key() of this request; empty: not computed yet
  std::vector<MacroDefinition> macros = {};  // for the source and what it includes
  std::vector<std::string> variables = {};   // of the source, which launches write: "d_filter"
  std::vector<std::string> options = {};     // of NVRTC, beside mgtune's own: "--fmad=false"
  // Whether the kernels may be compiled one by one, because they share no variable. Other requests
  // may then have some of the same kernels. Not part of the key.
  bool kernels_apart = false;
  // Whether each kernel is launched with dynamic shared memory; empty: not known. Kernels that
  // differ in it are not compiled together, because that changes the layout of their static memory.
  // Not part of the key.
  std::vector<bool> dynamic_shared = {};
};

// Not thread-safe: one per thread or process.
class Compiler {
 public:
  virtual ~Compiler() = default;

  // The parts of the toolchain that determine the output: name, version, options. Part of every
  // key.
  virtual const std::string& identity() const = 0;

  // Whether to compile the kernels of a request one by one if the request allows it, so that
  // variants with a kernel in common share its build. The device then loads several binaries.
  virtual bool compiles_kernels_apart() const { return false; }

  // Fails with compile_failed, with the compiler's own message, only if the source is at fault.
  // Other failures are timeout, and environment or io if the machine is at fault (no compiler, a
  // compiler that was killed, no space).
  virtual Result<Build> compile(const BuildRequest& request) = 0;

  // Compiles several requests as one program, which takes less time. Each request must have one
  // kernel, and apart from it the requests must be equal. Returns a build for each request, whose
  // binary is byte for byte the one that compile() makes. nullopt for a request whose kernel did
  // not compile together with the others, or whose build would depend on them. The caller compiles
  // such a request alone, which also says what is wrong with it.
  virtual std::vector<std::optional<Build>> compile_together(
      const std::vector<BuildRequest>& requests) {
    return std::vector<std::optional<Build>>(requests.size());
  }
};

// Makes the host C++ compiler for "cpu" and "cpu-race", and NVRTC for "sm_...". If it is not found:
// environment, with the places that were searched. unsupported if no compiler of this machine knows
// the architecture.
Result<std::unique_ptr<Compiler>> make_compiler(const std::string& arch);

// Whether Compiler::compile_together() makes builds for the architecture. Not for "cpu", and not
// from compute capability 10.0 on, where cubins have a second form of the code.
bool compiles_together(std::string_view arch);

// Each of these makes one kind of compiler. make_host_compiler() fails as find_host_toolchain()
// does. NVRTC needs no GPU and no driver, and is not opened before the first compile.
Result<std::unique_ptr<Compiler>> make_host_compiler(const std::string& arch);
Result<std::unique_ptr<Compiler>> make_nvrtc_compiler(
    const std::string& arch, FileSystem& file_system = FileSystem::real(),
    LibraryLoader& loader = LibraryLoader::real());

// SHA-256 over the source, every header it includes (followed through "..." and <mg/...>), the
// kernels, the macros, variables and options, the architecture and the compiler's identity. Equal
// keys give equal builds. With an empty identity, the key names the request without a compiler: it
// is the same for all compilers.
//
// Each call hashes all sources again. A caller that has the key already should set
// BuildRequest::key.
std::string build_key(const BuildRequest& request, const std::string& compiler_identity);

// The key of the request, or build_key() if the request has no key yet.
inline std::string known_build_key(const BuildRequest& request,
                                   const std::string& compiler_identity) {
  return request.key.empty() ? build_key(request, compiler_identity) : request.key;
}

}  // namespace mgtune
