// A recorded space of strangers: refused, or a space whose configurations are all admissible.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "exchange/read_document.h"

namespace {

using namespace mgtune;

// A file system of one file.
class OneFile final : public FileSystem {
 public:
  explicit OneFile(std::string content) : content_(std::move(content)) {}
  Result<std::string> read_file(const std::string&) override { return content_; }
  Status write_file(const std::string& path, std::string_view) override { return io_error(path); }
  Status create_directories(const std::string& path, unsigned) override { return io_error(path); }
  Status remove(const std::string& path) override { return io_error(path); }
  bool is_directory(const std::string&) override { return false; }
  bool exists(const std::string&) override { return true; }
  Result<std::vector<std::string>> list_files(const std::string& path) override {
    return io_error(path);
  }

 private:
  std::string content_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  OneFile file(std::string(reinterpret_cast<const char*>(data), bytes));
  const Result<RecordedSpace> space = read_recorded_space(file, "space.json");
  if (!space.ok()) return 0;
  std::size_t configurations = 0;
  space->for_each([&](const Variant& variant) {
    if (!space->admits(variant) || space->time(variant) < 0) std::abort();
    return ++configurations > 0;
  });
  if (configurations != space->times().size()) std::abort();
  return 0;
}
