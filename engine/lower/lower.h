// Lowers a model to a program and to the recipes of its weights. A pure function of its arguments.
//
// The program has one queue, and every scratch buffer has memory of its own; schedule()
// (schedule/schedule.h) spreads the instructions over queues and lets buffers share memory. For one
// model, rows, capacity and precision, all programs have the same weights and the same state at the
// same bases, whatever their other options are. So a sequence can go from the program of one bucket
// to the program of the next.

#pragma once

#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "model/model_config.h"
#include "program/program.h"
#include "weights/weight_recipe.h"

namespace mgtune::engine {

struct Precision {
  DType weights = DType::f32;
  DType activations = DType::f32;
  DType residual = DType::f32;  // the sum that all layers add to
  DType cache = DType::f32;
};

struct LowerOptions {
  std::uint32_t rows = 1;
  std::uint32_t capacity = 0;   // 0: the positions of the model
  std::uint32_t positions = 0;  // of the bucket; 0: the capacity
  Precision precision;
  std::uint32_t splits = 0;  // parts of the keys; 0: attention is one instruction
  bool fuse_norms = true;    // make each norm a part of the linear instruction after it
  bool sample = false;       // draw the next token instead of taking the most likely one
};

struct LoweredModel {
  Program program;
  std::vector<WeightRecipe> recipes;
};

// invalid_argument for options that the model cannot have, such as a capacity above its positions.
Result<LoweredModel> lower(const ModelConfig& config, const LowerOptions& options);

}  // namespace mgtune::engine
