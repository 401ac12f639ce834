// What the tests of rmsnorm.backward and rmsnorm.add_backward share: the operators, their problems,
// and variants compiled together for the cpu device. Header-only, for one thread.

#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "compiler/compiler.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "family/variant.h"
#include "launch/loaded_variant.h"
#include "system/file_system.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {

inline const Operator& rmsnorm_backward_operator(const std::string& name) {
  static Catalog catalog(FileSystem::real());
  const auto folder = source_path("kernels/rmsnorm");
  static const auto operators = catalog.find(folder);
  EXPECT_TRUE(operators.ok()) << operators.status().message();
  for (const Operator* op : *operators) {
    if (op->full_name() == name) return *op;
  }
  ADD_FAILURE() << "no " << name;
  std::abort();
}

inline Problem problem_of(const Operator& op, const std::string& words) {
  auto problem = bind_problem(op, parse_assignments(words).value());
  EXPECT_TRUE(problem.ok()) << words << ": " << problem.status().message();
  return *std::move(problem);
}

// Variants of one operator, compiled a source at a time: that takes a tenth of one by one.
class CompiledVariants {
 public:
  bool empty() const { return builds_.empty(); }

  void add(const Problem& problem, const Variant& variant, const Device& device) {
    const Slots slots = compile_slots(problem.binding(), variant, device.info().limits).value();
    const auto names = kernel_names(*problem.op, variant, slots).value();
    names_[source(*problem.op, variant)].insert(names.begin(), names.end());
  }

  Status build(const Operator& op) {
    MGTUNE_ASSIGN(const std::unique_ptr<Compiler> compiler, make_compiler("cpu"));
    for (const auto& [source, names] : names_) {
      MGTUNE_ASSIGN(
          builds_[source],
          compiler->compile({op.sources.get(), source, {names.begin(), names.end()}, "cpu"}));
    }
    return {};
  }

  Result<std::unique_ptr<LoadedVariant>> load(Device& device, const Problem& problem,
                                              const Variant& variant) const {
    return LoadedVariant::load(device, problem.binding(), variant,
                               builds_.at(source(*problem.op, variant)));
  }

 private:
  static std::string source(const Operator& op, const Variant& variant) {
    return op.designs[static_cast<std::size_t>(variant.design)].source;
  }

  std::map<std::string, std::set<std::string>> names_;
  std::map<std::string, Build> builds_;
};

}  // namespace mgtune
