#include "store/schema.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "store/transaction.h"

namespace mgtune {
namespace {

constexpr std::string_view kVersion1 = R"sql(
CREATE TABLE gpus (
  id               INTEGER PRIMARY KEY,
  model            TEXT NOT NULL,
  arch             TEXT NOT NULL,
  sm_count         INTEGER NOT NULL,
  l2_bytes         INTEGER NOT NULL,
  memory_bytes     INTEGER NOT NULL,
  max_shared_bytes INTEGER NOT NULL,
  mig_profile      TEXT NOT NULL,
  emulation        INTEGER NOT NULL CHECK (emulation IN (0, 1)),
  UNIQUE (model, arch, sm_count, l2_bytes, memory_bytes, max_shared_bytes, mig_profile, emulation)
) STRICT;

CREATE TABLE environments (
  id             INTEGER PRIMARY KEY,
  mgtune_version TEXT NOT NULL,
  compiler       TEXT NOT NULL,
  driver         TEXT NOT NULL,
  system         TEXT NOT NULL,
  UNIQUE (mgtune_version, compiler, driver, system)
) STRICT;

CREATE TABLE operators (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE problems (
  id       INTEGER PRIMARY KEY,
  operator INTEGER NOT NULL REFERENCES operators,
  text     TEXT NOT NULL,
  bytes    REAL NOT NULL,
  flops    REAL NOT NULL,
  UNIQUE (operator, text)
) STRICT;

CREATE TABLE variants (
  id       INTEGER PRIMARY KEY,
  operator INTEGER NOT NULL REFERENCES operators,
  text     TEXT NOT NULL,
  UNIQUE (operator, text)
) STRICT;

CREATE TABLE builds (
  id                  INTEGER PRIMARY KEY,
  key                 TEXT NOT NULL UNIQUE,
  sha256              TEXT NOT NULL,
  arch                TEXT NOT NULL,
  outcome             TEXT NOT NULL,
  message             TEXT NOT NULL,
  registers           INTEGER NOT NULL,
  spill_bytes         INTEGER NOT NULL,
  static_shared_bytes INTEGER NOT NULL
) STRICT;

CREATE TABLE sweeps (
  id          INTEGER PRIMARY KEY,
  gpu         INTEGER NOT NULL REFERENCES gpus,
  environment INTEGER NOT NULL REFERENCES environments,
  command     TEXT NOT NULL,
  strategy    TEXT NOT NULL,
  budget      TEXT NOT NULL,
  started_at  TEXT NOT NULL,
  finished_at TEXT NOT NULL
) STRICT;

CREATE TABLE checks (
  id             INTEGER PRIMARY KEY,
  sweep          INTEGER NOT NULL REFERENCES sweeps,
  gpu            INTEGER NOT NULL REFERENCES gpus,
  problem        INTEGER NOT NULL REFERENCES problems,
  build_sha256   TEXT NOT NULL,
  launch_hash    TEXT NOT NULL,
  reference_hash TEXT NOT NULL,
  outcome        TEXT NOT NULL,
  message        TEXT NOT NULL,
  error          REAL,
  tolerance      REAL
) STRICT;
CREATE INDEX checks_by_key
  ON checks (gpu, problem, build_sha256, launch_hash, reference_hash);

CREATE TABLE measurements (
  id           INTEGER PRIMARY KEY,
  sweep        INTEGER NOT NULL REFERENCES sweeps,
  gpu          INTEGER NOT NULL REFERENCES gpus,
  problem      INTEGER NOT NULL REFERENCES problems,
  build_sha256 TEXT NOT NULL,
  launch_hash  TEXT NOT NULL,
  method       TEXT NOT NULL,
  outcome      TEXT NOT NULL,
  message      TEXT NOT NULL,
  median_ns    REAL,
  q1_ns        REAL,
  q3_ns        REAL,
  min_ns       REAL,
  samples      INTEGER NOT NULL,
  note         TEXT NOT NULL
) STRICT;
CREATE INDEX measurements_by_key
  ON measurements (gpu, problem, build_sha256, launch_hash, method);

CREATE TABLE ceilings (
  id      INTEGER PRIMARY KEY,
  sweep   INTEGER NOT NULL REFERENCES sweeps,
  gpu     INTEGER NOT NULL REFERENCES gpus,
  method  TEXT NOT NULL,
  bytes   INTEGER NOT NULL,
  copy_ns REAL NOT NULL,
  UNIQUE (sweep, method, bytes)
) STRICT;
CREATE INDEX ceilings_by_bytes ON ceilings (gpu, method, bytes);

CREATE TABLE outcomes (
  id           INTEGER PRIMARY KEY,
  sweep        INTEGER NOT NULL REFERENCES sweeps,
  problem      INTEGER NOT NULL REFERENCES problems,
  variant      INTEGER NOT NULL REFERENCES variants,
  outcome      TEXT NOT NULL,
  message      TEXT NOT NULL,
  build_sha256 TEXT NOT NULL,
  build        INTEGER REFERENCES builds,
  check_id     INTEGER REFERENCES checks,
  measurement  INTEGER REFERENCES measurements,
  UNIQUE (sweep, problem, variant)
) STRICT;
CREATE INDEX outcomes_by_problem ON outcomes (problem);

CREATE TABLE tuned (
  id                INTEGER PRIMARY KEY,
  sweep             INTEGER NOT NULL REFERENCES sweeps,
  gpu               INTEGER NOT NULL REFERENCES gpus,
  problem           INTEGER NOT NULL REFERENCES problems,
  method            TEXT NOT NULL,
  variant           INTEGER NOT NULL REFERENCES variants,
  build_sha256      TEXT NOT NULL,
  default_variant   INTEGER REFERENCES variants,
  median_ns         REAL,
  default_median_ns REAL,
  tie               INTEGER NOT NULL CHECK (tie IN (0, 1)),
  UNIQUE (gpu, problem, method)
) STRICT;
)sql";

// Intervals and clocks of measurements; ceilings of every kind; finals; counters.
constexpr std::string_view kVersion2 = R"sql(
ALTER TABLE measurements ADD COLUMN median_low_ns REAL;
ALTER TABLE measurements ADD COLUMN median_high_ns REAL;
ALTER TABLE measurements ADD COLUMN sm_mhz REAL;
ALTER TABLE measurements ADD COLUMN memory_mhz REAL;
ALTER TABLE measurements ADD COLUMN power_w REAL;
ALTER TABLE measurements ADD COLUMN temperature_c REAL;
ALTER TABLE measurements ADD COLUMN throttle_reasons TEXT NOT NULL DEFAULT '';
ALTER TABLE measurements ADD COLUMN throttled_samples INTEGER NOT NULL DEFAULT 0;
UPDATE measurements SET median_low_ns = 0, median_high_ns = 0, sm_mhz = 0, memory_mhz = 0,
  power_w = 0, temperature_c = 0;

DROP INDEX ceilings_by_bytes;
ALTER TABLE ceilings RENAME TO copy_ceilings;
CREATE TABLE ceilings (
  id                INTEGER PRIMARY KEY,
  sweep             INTEGER NOT NULL REFERENCES sweeps,
  gpu               INTEGER NOT NULL REFERENCES gpus,
  kind              TEXT NOT NULL,
  method            TEXT NOT NULL,
  bytes             INTEGER NOT NULL,
  rate              REAL NOT NULL,
  measured_at       TEXT NOT NULL,
  sm_mhz            REAL,
  memory_mhz        REAL,
  power_w           REAL,
  temperature_c     REAL,
  throttle_reasons  TEXT NOT NULL,
  throttled_samples INTEGER NOT NULL,
  UNIQUE (sweep, kind, method, bytes)
) STRICT;
INSERT INTO ceilings (sweep, gpu, kind, method, bytes, rate, measured_at, sm_mhz, memory_mhz,
    power_w, temperature_c, throttle_reasons, throttled_samples)
  SELECT c.sweep, c.gpu, 'copy', c.method, c.bytes, c.bytes * 1e9 / c.copy_ns, s.started_at,
    0, 0, 0, 0, '', 0
  FROM copy_ceilings c JOIN sweeps s ON s.id = c.sweep WHERE c.copy_ns > 0 ORDER BY c.id;
DROP TABLE copy_ceilings;
CREATE INDEX ceilings_by_kind ON ceilings (gpu, kind, method, bytes);

CREATE TABLE finals (
  id                INTEGER PRIMARY KEY,
  sweep             INTEGER NOT NULL REFERENCES sweeps,
  gpu               INTEGER NOT NULL REFERENCES gpus,
  problem           INTEGER NOT NULL REFERENCES problems,
  method            TEXT NOT NULL,
  noise_floor       REAL NOT NULL,
  note              TEXT NOT NULL,
  not_counted       TEXT NOT NULL,
  sm_mhz            REAL,
  memory_mhz        REAL,
  power_w           REAL,
  temperature_c     REAL,
  throttle_reasons  TEXT NOT NULL,
  throttled_samples INTEGER NOT NULL,
  UNIQUE (sweep, problem, method)
) STRICT;
CREATE INDEX finals_by_problem ON finals (gpu, problem, method);

CREATE TABLE finalists (
  final          INTEGER NOT NULL REFERENCES finals ON DELETE CASCADE,
  place          INTEGER NOT NULL,
  variant        INTEGER NOT NULL REFERENCES variants,
  build_sha256   TEXT NOT NULL,
  launch_hash    TEXT NOT NULL,
  median_ns      REAL NOT NULL,
  median_low_ns  REAL NOT NULL,
  median_high_ns REAL NOT NULL,
  ratio          REAL NOT NULL,
  ratio_low      REAL NOT NULL,
  ratio_high     REAL NOT NULL,
  tied           INTEGER NOT NULL CHECK (tied IN (0, 1)),
  samples_ns     TEXT NOT NULL,
  PRIMARY KEY (final, place)
) STRICT;

CREATE TABLE counters (
  id           INTEGER PRIMARY KEY,
  sweep        INTEGER NOT NULL REFERENCES sweeps,
  gpu          INTEGER NOT NULL REFERENCES gpus,
  problem      INTEGER NOT NULL REFERENCES problems,
  variant      INTEGER NOT NULL REFERENCES variants,
  build_sha256 TEXT NOT NULL,
  launch_hash  TEXT NOT NULL,
  name         TEXT NOT NULL,
  value        REAL,
  UNIQUE (sweep, problem, build_sha256, launch_hash, name)
) STRICT;
CREATE INDEX counters_by_key ON counters (gpu, problem, build_sha256, launch_hash);
)sql";

// The time at which a variant was recorded, so that a report can show how a sweep converges in
// time; and spaces, with the points that are excluded before anything is compiled.
constexpr std::string_view kVersion3 = R"sql(
ALTER TABLE outcomes ADD COLUMN recorded_at TEXT NOT NULL DEFAULT '';

CREATE TABLE spaces (
  id          INTEGER PRIMARY KEY,
  sweep       INTEGER NOT NULL REFERENCES sweeps,
  problem     INTEGER NOT NULL REFERENCES problems,
  design      TEXT NOT NULL,
  points      INTEGER NOT NULL,
  admissible  INTEGER NOT NULL,
  counted     INTEGER NOT NULL CHECK (counted IN (0, 1)),
  unavailable TEXT NOT NULL,
  UNIQUE (sweep, problem, design)
) STRICT;

CREATE TABLE pruned (
  space  INTEGER NOT NULL REFERENCES spaces ON DELETE CASCADE,
  rule   TEXT NOT NULL,
  points INTEGER NOT NULL,
  PRIMARY KEY (space, rule)
) STRICT;
)sql";

// Times of other implementations. Rows that differ only in the file that they came from are one
// row.
constexpr std::string_view kVersion4 = R"sql(
CREATE TABLE peers (
  id          INTEGER PRIMARY KEY,
  problem     INTEGER NOT NULL REFERENCES problems,
  name        TEXT NOT NULL,
  version     TEXT NOT NULL,
  gpu         TEXT NOT NULL,
  method      TEXT NOT NULL,
  median_ns   REAL NOT NULL,
  low_ns      REAL NOT NULL,
  high_ns     REAL NOT NULL,
  samples     INTEGER NOT NULL,
  driver      TEXT NOT NULL,
  cuda        TEXT NOT NULL,
  framework   TEXT NOT NULL,
  measured_at TEXT NOT NULL,
  source      TEXT NOT NULL,
  UNIQUE (problem, gpu, name, version, method, measured_at, driver, cuda, framework, median_ns)
) STRICT;
)sql";

// The metrics of operator files, so that reports need no such file.
constexpr std::string_view kVersion5 = R"sql(
CREATE TABLE metrics (
  id      INTEGER PRIMARY KEY,
  problem INTEGER NOT NULL REFERENCES problems,
  name    TEXT NOT NULL,
  formula TEXT NOT NULL,
  UNIQUE (problem, name)
) STRICT;
)sql";

// This version only adds columns of fields.
constexpr std::string_view kVersion6;

// Indexes for the queries of a program that makes a plan: the picks of a kind on a GPU by their
// size, and the failures.
constexpr std::string_view kVersion7 = R"sql(
ALTER TABLE tuned ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE tuned ADD COLUMN size REAL NOT NULL DEFAULT 0;
CREATE INDEX tuned_by_kind ON tuned (kind, gpu, size);
CREATE INDEX outcomes_that_failed ON outcomes (variant)
  WHERE outcome IN ('wrong', 'crashed', 'timeout', 'launch_failed');
)sql";

constexpr std::array kWrittenOut = {kVersion1, kVersion2, kVersion3, kVersion4,
                                    kVersion5, kVersion6, kVersion7};

// The step to a version has the SQL that is written out above, if there is any, and adds the
// columns of the fields that this version added to records.
std::vector<std::string> all_steps() {
  int newest = static_cast<int>(kWrittenOut.size());
  for_each_table([&](const std::string&, const auto& record) {
    for_each_column(record, [&](const auto& field, const auto&) {
      newest = std::max(newest, field.traits.added_in);
    });
  });
  std::vector<std::string> steps(kWrittenOut.begin(), kWrittenOut.end());
  steps.resize(static_cast<std::size_t>(newest));
  for (int version = 1; version <= newest; ++version) {
    for_each_table([&](const std::string& table, const auto& record) {
      steps[static_cast<std::size_t>(version) - 1] += added_columns(table, record, version);
    });
  }
  return steps;
}

}  // namespace

std::string column_type(const SqlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return "INTEGER NOT NULL DEFAULT " + std::to_string(*integer);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return "REAL DEFAULT " + std::to_string(*real);
  }
  return "TEXT NOT NULL DEFAULT ''";
}

std::span<const std::string> schema_steps() {
  static const std::vector<std::string> steps = all_steps();
  return steps;
}

Status migrate(Database& database, std::span<const std::string> steps) {
  const auto newest = static_cast<std::int64_t>(steps.size());
  MGTUNE_ASSIGN(std::int64_t version, database.read_integer("PRAGMA user_version"));
  if (version >= newest) return {};
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(database));
  // Another process may have done it while this one waited for the lock.
  MGTUNE_ASSIGN(version, database.read_integer("PRAGMA user_version"));
  for (; version < newest; ++version) {
    MGTUNE_TRY(database.execute(steps[static_cast<std::size_t>(version)]));
    MGTUNE_TRY(database.execute("PRAGMA user_version = " + std::to_string(version + 1)));
  }
  MGTUNE_TRY(database.execute("PRAGMA application_id = " + std::to_string(kApplicationId)));
  return transaction.commit();
}

}  // namespace mgtune
