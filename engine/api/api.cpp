// The C interface, include/mgengine/mgengine.h.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "generate/model_source.h"
#include "generate/session.h"
#include "mgengine/mgengine.h"
#include "ways/ways.h"

struct mge_model_t {
  mgtune::engine::Session session;
  std::uint32_t reached = 0;  // the caches hold the tokens before it
  bool has_logits = false;
};

namespace mgtune::engine {
namespace {

thread_local std::string last_api_error;

mge_status_t api_status(StatusCode code) {
  switch (code) {
    case StatusCode::ok:
      return MGE_OK;
    case StatusCode::invalid_argument:
    case StatusCode::not_found:
      return MGE_INVALID_ARGUMENT;
    case StatusCode::corrupt:
    case StatusCode::incompatible:
    case StatusCode::io:
      return MGE_BAD_FILE;
    case StatusCode::unsupported:
      return MGE_UNSUPPORTED;
    case StatusCode::environment:
    case StatusCode::device_lost:
      return MGE_ENVIRONMENT;
    default:
      return MGE_INTERNAL;
  }
}

// Runs a function that returns a Status. Its failure is kept for mge_last_error().
template <typename Function>
mge_status_t at_boundary(const Function& function) {
  try {
    const Status status = function();
    if (!status.ok()) last_api_error = status.message();
    return api_status(status.code());
  } catch (const std::bad_alloc&) {
    last_api_error = "out of memory";
    return MGE_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    last_api_error = error.what();
    return MGE_INTERNAL;
  }
}

Status expect_pointer(const void* pointer, const char* name) {
  if (pointer != nullptr) return {};
  return invalid_argument(std::string(name) + " must not be null");
}

Result<SessionOptions> session_options(const mge_options_t* given) {
  mge_options_t defaults{};
  defaults.struct_size = sizeof(defaults);
  if (given == nullptr) given = &defaults;
  if (given->struct_size != sizeof(mge_options_t)) {
    return invalid_argument("options: struct_size must be sizeof(mge_options_t)");
  }
  SessionOptions options;
  options.rows = std::max(given->sequences, 1U);
  options.capacity = given->capacity;
  const std::string device = given->device == nullptr ? "auto" : given->device;
  MGTUNE_ASSIGN(const std::string way,
                resolve_way(given->way == nullptr ? "auto" : given->way, device));
  options.machine = machine_of(way, device);
  if (given->dtype == nullptr) return options;
  const std::optional<DType> dtype = dtype_from_string(given->dtype);
  if (!dtype) {
    return invalid_argument(std::string("options: dtype is '") + given->dtype +
                            "', but it must be one of: f32, bf16, f16");
  }
  options.precision = {*dtype, *dtype, DType::f32, *dtype};
  return options;
}

Result<std::unique_ptr<mge_model_t>> load(const char* path, const mge_options_t* given) {
  MGTUNE_ASSIGN(const SessionOptions options, session_options(given));
  MGTUNE_ASSIGN(const ModelSource source, open_model(path));
  MGTUNE_ASSIGN(Session session, Session::create(source.config, source.tensors, options));
  return std::unique_ptr<mge_model_t>(new mge_model_t{std::move(session)});
}

Status expect_logits(const mge_model_t& model) {
  if (model.has_logits) return {};
  return invalid_argument("there are no logits and no next tokens before the first step");
}

Status expect_count(std::size_t count, std::size_t wanted) {
  if (count == wanted) return {};
  return invalid_argument("count is " + std::to_string(count) + ", but it must be " +
                          std::to_string(wanted));
}

}  // namespace
}  // namespace mgtune::engine

using mgtune::Result;
using mgtune::Status;
using mgtune::engine::at_boundary;
using mgtune::engine::expect_count;
using mgtune::engine::expect_logits;
using mgtune::engine::expect_pointer;

mge_status_t mge_load(const char* path, const mge_options_t* options, mge_model_t** model) {
  return at_boundary([&]() -> Status {
    MGTUNE_TRY(expect_pointer(path, "path"));
    MGTUNE_TRY(expect_pointer(model, "model"));
    MGTUNE_ASSIGN(std::unique_ptr<mge_model_t> loaded, mgtune::engine::load(path, options));
    *model = loaded.release();
    return {};
  });
}

void mge_free(mge_model_t* model) { delete model; }

mge_status_t mge_info(const mge_model_t* model, mge_info_t* info) {
  return at_boundary([&]() -> Status {
    MGTUNE_TRY(expect_pointer(model, "model"));
    MGTUNE_TRY(expect_pointer(info, "info"));
    if (info->struct_size != sizeof(mge_info_t)) {
      return mgtune::invalid_argument("info: struct_size must be sizeof(mge_info_t)");
    }
    info->sequences = model->session.rows();
    info->capacity = model->session.capacity();
    info->vocabulary = model->session.vocabulary();
    return {};
  });
}

mge_status_t mge_set_position(mge_model_t* model, uint32_t position) {
  return at_boundary([&]() -> Status {
    MGTUNE_TRY(expect_pointer(model, "model"));
    if (position > model->reached) {
      return mgtune::invalid_argument("position " + std::to_string(position) +
                                      " was not reached: the caches hold " +
                                      std::to_string(model->reached) + " tokens");
    }
    return model->session.set_position(position);
  });
}

mge_status_t mge_step(mge_model_t* model, const int32_t* tokens, size_t count) {
  return at_boundary([&]() -> Status {
    MGTUNE_TRY(expect_pointer(model, "model"));
    MGTUNE_TRY(expect_pointer(tokens, "tokens"));
    MGTUNE_TRY(model->session.step({tokens, count}));
    model->reached = model->session.position();
    model->has_logits = true;
    return {};
  });
}

mge_status_t mge_logits(mge_model_t* model, uint32_t sequence, float* logits, size_t count) {
  return at_boundary([&]() -> Status {
    MGTUNE_TRY(expect_pointer(model, "model"));
    MGTUNE_TRY(expect_pointer(logits, "logits"));
    MGTUNE_TRY(expect_count(count, model->session.vocabulary()));
    MGTUNE_TRY(expect_logits(*model));
    MGTUNE_ASSIGN(const std::vector<float> all, model->session.logits(sequence));
    std::ranges::copy(all, logits);
    return {};
  });
}

mge_status_t mge_next_tokens(mge_model_t* model, int32_t* tokens, size_t count) {
  return at_boundary([&]() -> Status {
    MGTUNE_TRY(expect_pointer(model, "model"));
    MGTUNE_TRY(expect_pointer(tokens, "tokens"));
    MGTUNE_TRY(expect_count(count, model->session.rows()));
    MGTUNE_TRY(expect_logits(*model));
    MGTUNE_ASSIGN(const std::vector<std::int32_t> next, model->session.next_tokens());
    std::ranges::copy(next, tokens);
    return {};
  });
}

const char* mge_last_error(void) { return mgtune::engine::last_api_error.c_str(); }
