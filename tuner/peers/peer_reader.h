// PeerReader: collects the times of other implementations (peers) from files. It adds what the user
// said about the files, checks each time and its problem, and gives the problem its canonical text.
// For each form of file, one source file in this folder reads it; README.md describes the forms.
//
// Failures are invalid_argument with file and place. One thread.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "family/catalog.h"
#include "json/json_cursor.h"
#include "store/views.h"

namespace mgtune {

// What the user says about all times of the files. An empty word says nothing.
struct PeerWords {
  std::string op;         // full name: "rmsnorm.forward"
  ProblemValues problem;  // values that belong to every problem: T=bf16
  std::string name, version, gpu, method, driver, cuda, framework;
  std::string measured_at;  // UTC
  std::string unit;         // "ns", "us", "ms", "s": for files that do not say it
};

// Checks the words: gives the GPU the name that the driver reports ("H200" becomes "NVIDIA H200"),
// and the date its form. invalid_argument names the option.
Result<PeerWords> checked_words(PeerWords words);

// A time as a file has it. A text that the file does not have is "".
struct PeerTime {
  std::string op;
  ProblemValues problem;
  PeerRecord peer;           // its source is not used
  std::string usual_method;  // the method if neither the file nor the user names one
};

class PeerReader {
 public:
  // `words` and `catalog` must outlive the reader.
  PeerReader(const PeerWords& words, Catalog& catalog) : words_(words), catalog_(catalog) {}

  const PeerWords& words() const { return words_; }
  Catalog& catalog() { return catalog_; }

  void begin_file(const std::string& path);

  // `place` is the value in the file that has the time. A file may have each time only once.
  Status add(const JsonCursor& place, PeerTime time);
  // Counts a row of the file that is not a time of a peer. The reason is for people: "skipped".
  void leave_out(const std::string& reason) { ++left_out_[reason]; }

  // Makes the failure for a file that lacks `what`, so that the user has to say it. needs_words()
  // is true afterwards.
  Status lacks(const JsonCursor& place, std::string_view what);
  // Whether reading failed only because the user has to say more; the file itself is right.
  bool needs_words() const { return needs_words_; }

  // The times of all files. If several files have the same time, they are runs of one measurement:
  // the result has the median of the runs.
  std::vector<PeerView> peers() const;
  const std::map<std::string, std::int64_t>& left_out() const { return left_out_; }

 private:
  Status fill(const JsonCursor& place, std::string_view option, const std::string& word,
              std::string& text);
  Status add_problem(const JsonCursor& place, PeerTime& time);

  const PeerWords& words_;
  Catalog& catalog_;
  std::string path_;
  bool needs_words_ = false;
  std::map<std::string, std::vector<PeerView>> runs_;  // by the text that identifies a time
  std::map<std::string, std::int64_t> left_out_;
};

// A number of `unit` ("ns", "us", "ms", "s") in nanoseconds; 0 if there is no such unit.
double nanoseconds(double time, std::string_view unit);

}  // namespace mgtune
