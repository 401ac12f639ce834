#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "build/build_cache.h"
#include "build/compiler.h"
#include "cli/argument_list.h"
#include "cli/command.h"
#include "core/file_system.h"
#include "device/registry.h"
#include "model/text_table.h"
#include "store/store.h"

namespace mgtune {
namespace {

// One thing that was looked for.
struct Finding {
  std::string what;
  bool ok = false;
  std::string found;   // where, or what is wrong
  std::string advice;  // when it is missing
};

Finding find_compiler() {
  Finding finding{"host compiler", false, "", "apt install g++, or set CXX"};
  const Result<std::unique_ptr<Compiler>> compiler = make_compiler("cpu");
  finding.ok = compiler.ok();
  // Its flags and hashes, which follow, tell people nothing.
  finding.found = compiler.ok() ? (*compiler)->identity() : compiler.status().message();
  if (compiler.ok())
    finding.found.resize(std::min(finding.found.find(", -"), finding.found.size()));
  return finding;
}

Finding find_cpu_device() {
  Finding finding{"cpu device", false, "",
                  "keep libmgruntime-cpu.so beside mgtune, of the same build"};
  const Result<std::unique_ptr<Device>> device = open_device("cpu");
  finding.ok = device.ok();
  finding.found = device.ok() ? "loads" : device.status().message();
  return finding;
}

std::vector<Finding> find_gpus() {
  std::vector<Finding> findings;
  for (const DeviceInfo& device : list_devices()) {
    if (device.kind == DeviceKind::cpu) continue;
    findings.push_back({"GPU " + std::to_string(device.index), true, device.name, ""});
  }
  return findings;
}

// Writes a file into the folder and takes it away again.
Status try_writing(const std::string& folder) {
  FileSystem& files = FileSystem::real();
  MGTUNE_TRY(files.create_directories(folder, 0700));
  const std::string probe = folder + "/.mgtune-doctor";
  MGTUNE_TRY(files.write_file(probe, "probe"));
  return files.remove(probe);
}

Finding find_build_cache() {
  Finding finding{"build cache", false, "",
                  "set MGTUNE_CACHE_DIR to a folder that only you can write to"};
  const std::string folder = BuildCache::default_directory();
  // Without one every build is made anew.
  const Status status = BuildCache::check(folder);
  finding.ok = status.ok();
  finding.found = status.ok() ? folder : status.message();
  return finding;
}

Finding find_database() {
  Finding finding{"database", false, "", "name another file with --db or MGTUNE_DB"};
  const Result<std::string> place = default_database_path();
  if (!place.ok()) {
    finding.found = place.status().message();
    return finding;
  }
  const std::string& path = *place;
  const Result<Store> store = Store::open(path, Store::Mode::read_only);
  finding.ok = store.ok();
  finding.found = store.ok() ? path : store.status().message();
  if (store.ok() || store.status().code() != StatusCode::not_found) return finding;
  const std::size_t slash = path.rfind('/');
  const Status status = try_writing(slash == std::string::npos ? "." : path.substr(0, slash));
  finding.ok = status.ok();
  finding.found = status.ok() ? path + " (the first sweep makes it)" : status.message();
  return finding;
}

std::string findings_table(const std::vector<Finding>& findings) {
  TextTable table({{"what"}, {"state"}, {"advice"}, {"found"}});
  for (const Finding& finding : findings) {
    table.add_row({finding.what, finding.ok ? "ok" : "missing", finding.ok ? "" : finding.advice,
                   finding.found});
  }
  return table.text();
}

std::string findings_json(const std::vector<Finding>& findings, bool can_sweep) {
  auto rows = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    rows.push_back({{"what", finding.what},
                    {"ok", finding.ok},
                    {"found", finding.found},
                    {"advice", finding.ok ? "" : finding.advice}});
  }
  return nlohmann::ordered_json({{"can_sweep", can_sweep}, {"findings", rows}}).dump(2) + "\n";
}

class DoctorCommand final : public Command {
 public:
  std::string_view name() const override { return "doctor"; }
  std::string_view summary() const override { return "What mgtune needs, and what of it is here"; }
  std::string_view details() const override {
    return "Exit code 0 when a sweep can run on some device, else 4.\nExample: mgtune doctor";
  }
  void declare(ArgumentList& arguments) override { arguments.flag("--json", json_, "Print JSON"); }
  Result<ExitCode> run(const Invocation&) override {
    const Finding compiler = find_compiler();
    const Finding cpu = find_cpu_device();
    const Finding database = find_database();
    const std::vector<Finding> gpus = find_gpus();
    std::vector<Finding> findings = {compiler, cpu, find_build_cache(), database};
    findings.insert(findings.end(), gpus.begin(), gpus.end());
    // A missing cache costs compile time only.
    const bool can_sweep = database.ok && ((compiler.ok && cpu.ok) || !gpus.empty());
    std::cout << (json_ ? findings_json(findings, can_sweep) : findings_table(findings));
    return can_sweep ? ExitCode::ok : ExitCode::environment;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() { return std::make_unique<DoctorCommand>(); }

}  // namespace mgtune
