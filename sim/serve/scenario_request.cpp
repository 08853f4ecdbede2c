#include "serve/scenario_request.hpp"

#include "base/error.hpp"
#include "scenario/jobs_file.hpp"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <utility>

namespace mirfak::serve {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxBodyDepth = 64;
constexpr std::size_t kMaxEdits = 200;
constexpr double kMaxTimeLimitS = 600;

[[noreturn]] void fail_body(const std::string& message) {
  fail_input({"request", 0, 0}, message, R"(expected {"scenario": "model: ...", "set": {"strategy.tensor": 4}})");
}

Json parsed(const std::string& body) {
  const auto check_depth = [](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    if (depth > kMaxBodyDepth) fail_body("this JSON is nested too deep");
    return true;
  };
  try {
    Json out = Json::parse(body, check_depth);
    if (!out.is_object()) fail_body("the body is no JSON object");
    return out;
  } catch (const Json::exception& error) {
    fail_body(fmt::format("the body is no JSON: {}", error.what()));
  }
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::vector<KeyEdit> edits_of(const Json& set) {
  if (!set.is_object() || set.size() > kMaxEdits) fail_body("'set' is no object of keys and values");
  std::vector<KeyEdit> out;
  for (const auto& item : set.items()) {
    KeyEdit edit{item.key(), std::nullopt};
    if (!item.value().is_null()) edit.value = text_of(item.value());
    out.push_back(std::move(edit));
  }
  return out;
}

double time_limit_of(const Json& value) {
  if (!value.is_number() || value.get<double>() <= 0 || value.get<double>() > kMaxTimeLimitS) {
    fail_body(fmt::format("'time_limit_s' is no number of seconds up to {}", kMaxTimeLimitS));
  }
  return value.get<double>();
}

}  // namespace

ScenarioRequest read_scenario_request(const std::string& body) {
  const Json json = parsed(body);
  ScenarioRequest out;
  std::vector<KeyEdit> edits;
  bool has_scenario = false;
  for (const auto& item : json.items()) {
    const Json& value = item.value();
    if (item.key() == "scenario") {
      if (!value.is_string() && !value.is_object()) fail_body("'scenario' is neither a text nor an object");
      out.text = text_of(value);
      has_scenario = true;
    } else if (item.key() == "set") {
      edits = edits_of(value);
    } else if (item.key() == "time_limit_s") {
      out.time_limit_s = time_limit_of(value);
    } else {
      fail_body(fmt::format("unknown key '{}'", item.key()));
    }
  }
  if (!has_scenario) fail_body("'scenario' is missing");
  out.text = edited(std::move(out.text), edits, kScenarioName);
  return out;
}

Document document_of(const ScenarioRequest& request) {
  Document document = Document::from_text(request.text, kScenarioName);
  if (has_jobs(document)) {
    fail_input({kScenarioName, 0, 0}, "a scenario of several jobs is not shown here",
               "simulate it with mirfak simulate, or show one of its jobs");
  }
  return document;
}

}  // namespace mirfak::serve
