#include "plan/shard.h"

#include <filesystem>
#include <string_view>

#include "core/text.h"
#include "system/user_folders.h"

namespace mgtune {
namespace {

constexpr std::int64_t kMaxCount = 1'000'000;

std::optional<std::int64_t> parse_count(std::string_view text) {
  const auto value = parse_number<std::int64_t>(text);
  return value && *value >= 0 && *value <= kMaxCount ? value : std::nullopt;
}

// The variable's number; `otherwise` where it is not set.
Result<std::int64_t> read_variable(const char* name, std::int64_t otherwise) {
  const std::string text = environment_variable(name);
  if (text.empty()) return otherwise;
  const std::optional<std::int64_t> value = parse_count(text);
  if (value) return *value;
  return invalid_argument(std::string(name) + " is '" + text + "', no number of a job array; " +
                          "--shard i/n says which part this is");
}

}  // namespace

std::string Shard::path(const std::string& database) const {
  const std::filesystem::path path(database);
  const std::string name = path.stem().string() + ".shard-" + std::to_string(index) + "-of-" +
                           std::to_string(count) + path.extension().string();
  return (path.parent_path() / name).string();
}

Result<Shard> parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string_view view = text;
  if (slash != std::string::npos) {
    const std::optional<std::int64_t> index = parse_count(view.substr(0, slash));
    const std::optional<std::int64_t> count = parse_count(view.substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count) return Shard{*index, *count};
  }
  return invalid_argument("'" + text + "' is no shard: i/n, say 2/4, with i from 1 to n");
}

Result<std::optional<Shard>> shard_of_batch_system() {
  if (environment_variable("SLURM_ARRAY_TASK_ID").empty()) return std::optional<Shard>();
  MGTUNE_ASSIGN(const std::int64_t id, read_variable("SLURM_ARRAY_TASK_ID", 0));
  MGTUNE_ASSIGN(const std::int64_t count, read_variable("SLURM_ARRAY_TASK_COUNT", 1));
  MGTUNE_ASSIGN(const std::int64_t first, read_variable("SLURM_ARRAY_TASK_MIN", 0));
  MGTUNE_ASSIGN(const std::int64_t step, read_variable("SLURM_ARRAY_TASK_STEP", 1));
  if (count <= 1) return std::optional<Shard>();
  const std::int64_t index = (id - first) / (step > 0 ? step : 1) + 1;
  if (id >= first && index <= count) return std::optional(Shard{index, count});
  return invalid_argument("SLURM_ARRAY_TASK_ID " + std::to_string(id) + " is not among " +
                          std::to_string(count) + " tasks from " + std::to_string(first) +
                          "; --shard i/n says which part this is");
}

}  // namespace mgtune
