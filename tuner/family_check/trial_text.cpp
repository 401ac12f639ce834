#include "family_check/trial_text.h"

#include <utility>

#include "compile/compile_worker.h"
#include "json/json.h"
#include "json/json_cursor.h"
#include "json/json_value.h"

namespace mgtune {
namespace {

constexpr char kRequestName[] = "a request for trials";
constexpr char kLineName[] = "a line of a trial";

Status corrupt_text(const Status& failure) { return corrupt(failure.message()); }

Result<TrialItem> item_of(const JsonCursor& value) {
  TrialItem item;
  ObjectReader reader(value);
  reader.read("kernel", item.kernel);
  reader.read("op", item.op);
  reader.read("problem", item.problem);
  reader.read("variant", item.variant);
  MGTUNE_TRY(reader.finish());
  return item;
}

}  // namespace

std::string encode(const TrialRequest& request) {
  const auto item_json = [](const TrialItem& item) -> Json {
    return {{"kernel", item.kernel},
            {"op", item.op},
            {"problem", item.problem},
            {"variant", item.variant}};
  };
  return Json({{"device", compile_target_word(request.device)},
               {"runs", request.runs},
               {"items", Json::array(request.items, item_json)}})
      .compact_text();
}

Result<TrialRequest> decode_trial_request(const std::string& word) {
  const std::string name = kRequestName;
  const Result<JsonValue> json = parse_json(word);
  if (!json.ok()) return corrupt_text(json.status());
  TrialRequest request;
  const JsonCursor cursor(name, *json);
  MGTUNE_TRY(cursor.expect_keys({"device", "runs", "items"}));
  std::string device;
  MGTUNE_TRY(cursor.read("device", device));
  MGTUNE_TRY(cursor.read("runs", request.runs));
  MGTUNE_ASSIGN(request.device, decode_compile_target(device));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> items, cursor.at("items").elements());
  for (const JsonCursor& item : items) {
    MGTUNE_ASSIGN(request.items.emplace_back(), item_of(item));
  }
  return request;
}

std::string encode(const TrialLine& line) {
  const TrialResult& result = line.result;
  return Json({{"trial", line.item},
               {"done", line.is_done},
               {"stage", static_cast<int>(result.stage)},
               {"failure", static_cast<int>(result.failure)},
               {"message", result.message},
               {"wrong", result.is_wrong},
               {"registers", result.registers},
               {"spill_bytes", result.spill_bytes},
               {"static_shared_bytes", result.static_shared_bytes}})
      .compact_text();
}

Result<TrialLine> decode_trial_line(const std::string& text) {
  const std::string name = kLineName;
  const Result<JsonValue> json = parse_json(text);
  if (!json.ok()) return corrupt_text(json.status());
  TrialLine line;
  int stage = 0, failure = 0;
  ObjectReader reader(JsonCursor(name, *json));
  reader.read("trial", line.item);
  reader.read("done", line.is_done);
  reader.read("stage", stage);
  reader.read("failure", failure);
  reader.read("message", line.result.message);
  reader.read("wrong", line.result.is_wrong);
  reader.read("registers", line.result.registers);
  reader.read("spill_bytes", line.result.spill_bytes);
  reader.read("static_shared_bytes", line.result.static_shared_bytes);
  MGTUNE_TRY(reader.finish());
  line.result.stage = static_cast<TrialResult::Stage>(stage);
  line.result.failure = static_cast<StatusCode>(failure);
  return line;
}

}  // namespace mgtune
