// PickDatabase: a database of results as a program reads it: the picks that a plan needs, and the
// variants that failed.
//
// A plan asks for the picks of its kind (PickKey) whose size is near its own and that it accepts.
// An index finds them, so the cost does not depend on what else the file has. Each query sees what
// other processes have written before it. Between queries the file is not locked. It stays open,
// because opening takes 0.4 ms. But it is closed if a writer has a log beside it (store/README.md),
// because an open connection would keep the log from being merged. Picks without a key are read
// once, by open().
//
// The file may have any format up to kNewestFormat, and nothing is migrated. No table of
// measurements is read. A stranger may have made the file: if it has a view, a trigger, a virtual
// table or a computed column, it is refused before a row is read. The words in the rows are not
// judged here (selection/usable_rows.h). One thread at a time per object.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "database/database.h"
#include "database/pick.h"

namespace mgtune {

class PickDatabase {
 public:
  // What open() read.
  struct Content {
    std::int64_t keyed = 0;        // picks that find() finds
    std::vector<TunedView> picks;  // the others, which have no key; copy_ns is 0
    std::vector<FailureView> failures;
  };

  // Has no picks and no failures if the file lacks the tables, because its writer was killed before
  // they were there. Fails as open_to_read() does; corrupt if something in the file is not as
  // mgtune makes it.
  static Result<std::unique_ptr<PickDatabase>> open(const std::string& path);

  const std::string& path() const { return path_; }
  Content& content() { return content_; }

  // The GPUs for which find() finds picks of the operator. Reads all of its picks.
  Result<std::vector<GpuRecord>> gpus_with_picks(const std::string& op);

  struct Nearest {
    // The nearest first. A view has the operator and the GPU of the question; it has no default and
    // no cost.
    std::vector<TunedView> picks;
    // All failures, if something was recorded since they were read last.
    std::optional<std::vector<FailureView>> failures;
  };
  // Whether a plan can use a pick of the problem with this text.
  using Accepts = std::function<bool(const std::string& problem)>;
  // The accepted picks of this kind and GPU whose sizes are nearest to the size of the key, at most
  // `most`. Looks at no more than kMostLooked picks, the nearest ones. Empty if the file does not
  // exist any more. Otherwise it fails as open() does.
  Result<Nearest> find(const std::string& op, const PickKey& key, const GpuRecord& gpu,
                       std::size_t most, const Accepts& accepts);

  static constexpr std::size_t kMostLooked = 1000;

 private:
  // The file, checked, without a transaction.
  struct Connection {
    std::unique_ptr<Database> database;
    std::int64_t format = 0;  // 0: a table is missing
    std::int64_t schema_version = 0;
  };

  explicit PickDatabase(std::string path) : path_(std::move(path)) {}
  Status connect();     // unless the file at the path is open
  Status disconnect();  // ends the transaction, and closes the file if it has a log
  Status begin();
  Status read_content();
  Result<Nearest> find_now(const PickKey& key, const GpuRecord& gpu, std::size_t most,
                           const Accepts& accepts);
  Result<std::vector<GpuRecord>> gpus_with_picks_now(const std::string& op);
  void reset();  // after a failure: the next question opens the file anew

  const std::string path_;
  Connection connection_;
  std::pair<std::uint64_t, std::uint64_t> file_;  // device and inode of the file that was opened
  std::int64_t newest_outcome_ = -1;  // the newest row of `outcomes` when the failures were read
  Content content_;
};

}  // namespace mgtune
