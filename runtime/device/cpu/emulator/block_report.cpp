// The report of a block that did not end well.

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "block.h"
#include "fault.h"

namespace mgtune {
namespace {

constexpr std::size_t kListedThreads = 3;

// The threads at one place, in the order in which they were found.
struct Group {
  std::string place;
  std::vector<std::uint32_t> threads;
};

void add(std::vector<Group>& groups, std::string place, std::uint32_t thread) {
  const auto group = std::ranges::find(groups, place, &Group::place);
  if (group == groups.end()) {
    groups.push_back({std::move(place), {thread}});
  } else {
    group->threads.push_back(thread);
  }
}

std::string group_line(const Group& group, Dim3 block) {
  const std::size_t count = group.threads.size();
  std::string names;
  for (std::size_t i = 0; i < std::min(count, kListedThreads); ++i) {
    names += (i == 0 ? "" : ", ") + to_string(index_in(group.threads[i], block));
  }
  if (count > kListedThreads) names += ", ...";
  return fmt::format("\n    {} thread{} [{}] {}", count, count == 1 ? "" : "s", names, group.place);
}

}  // namespace

std::string Block::waiting_threads() const {
  std::vector<Group> groups;
  for (std::uint32_t i = 0; i < thread_count_; ++i) {
    const Thread& thread = threads_[i];
    if (thread.state == State::returned) continue;
    std::string place =
        thread.state == State::ready ? "ready to run" : "in " + to_string(thread.place);
    if (fault_.kind == Fault::Kind::deadline && fault_.thread == i) {
      place = fault_.interrupted_address != nullptr
                  ? "running at " + source_line(fault_.interrupted_address)
                  : "in " + to_string(fault_.place);
    }
    add(groups, std::move(place), i);
  }
  std::string text;
  for (const Group& group : groups) text += group_line(group, task_->block);
  return text;
}

Status Block::stuck() const {
  std::string what;
  if (fault_.kind == Fault::Kind::none) {
    what = "deadlock: no thread can go on" + waiting_threads();
  } else if (fault_.kind == Fault::Kind::deadline) {
    what = fmt::format("endless wait: still running after {:g} s", task_->deadline_s) +
           waiting_threads();
  } else {
    what = fault_text(fault_, task_->block);
  }
  const bool is_late = fault_.kind == Fault::Kind::deadline;
  return Status(is_late ? StatusCode::timeout : StatusCode::launch_failed,
                "block " + to_string(block_index_) + ": " + std::move(what));
}

}  // namespace mgtune
