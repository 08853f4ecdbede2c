#include "serve/scenario_request.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "scenario/jobs_file.hpp"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace mirfak::serve {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxBodyDepth = 64;
constexpr std::size_t kMaxEdits = 200;
constexpr std::size_t kMaxFiles = 32;
constexpr double kMaxTimeLimitS = 600;

constexpr const char* kScenarioBody = R"(expected {"scenario": "model: ...", "set": {"strategy.tensor": 4}})";
constexpr const char* kFilesBody =
    R"(expected {"files": [{"name": "run.sh", "text": "..."}], "scenario": "model: ..."})";

[[noreturn]] void fail_body(const std::string& message, const char* expected = kScenarioBody) {
  fail_input({"request", 0, 0}, message, expected);
}

// Makes a value from the events of a parser. The library's own parser looks for each key among the earlier keys, which
// takes minutes for an object with many keys; here duplicate keys both stay, and reading the scenario refuses them.
class JsonBuilder : public Json::json_sax_t {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return begin(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return begin(Json::array()); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const Json::exception& error) override {
    fail_body(fmt::format("the body is no JSON: {}", excerpt(error.what(), 200)));
  }

  Json take() { return std::move(root_); }

 private:
  template <typename Value>
  Json& placed(Value&& value) {
    if (open_.empty()) return root_ = std::forward<Value>(value);
    Json& around = *open_.back();
    if (around.is_array()) return around.emplace_back(std::forward<Value>(value));
    auto& members = around.get_ref<Json::object_t&>();
    return members.emplace_back(std::move(key_), std::forward<Value>(value)).second;
  }
  template <typename Value>
  bool add(Value&& value) {
    placed(std::forward<Value>(value));
    return true;
  }
  // The open value lies in its parent, to which nothing is added meanwhile: its address stays valid.
  bool begin(Json value) {
    if (open_.size() >= kMaxBodyDepth) fail_body("this JSON is nested too deep");
    open_.push_back(&placed(std::move(value)));
    return true;
  }
  bool end() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;
  std::string key_;
};

Json parsed(const std::string& body) {
  JsonBuilder builder;
  Json::sax_parse(body, &builder);
  Json out = builder.take();
  if (!out.is_object()) fail_body("the body is no JSON object");
  return out;
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::vector<KeyEdit> edits_of(const Json& set) {
  if (!set.is_object()) fail_body("'set' is no object of keys and values");
  if (set.size() > kMaxEdits) fail_body(fmt::format("'set' has more than {} keys", kMaxEdits));
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

ImportFile file_of(const Json& value) {
  ImportFile out;
  bool has_name = false;
  bool has_text = false;
  if (!value.is_object()) fail_body("a file is no object of 'name' and 'text'", kFilesBody);
  for (const auto& item : value.items()) {
    const bool name = item.key() == "name";
    if (!name && item.key() != "text")
      fail_body(fmt::format("unknown key '{}' of a file", excerpt(item.key())), kFilesBody);
    if (!item.value().is_string()) fail_body(fmt::format("'{}' of a file is no text", item.key()), kFilesBody);
    (name ? out.name : out.text) = item.value().get<std::string>();
    (name ? has_name : has_text) = true;
  }
  if (!has_name || !has_text || out.name.empty()) fail_body("a file has no 'name' or no 'text'", kFilesBody);
  return out;
}

}  // namespace

FilesRequest read_files_request(const std::string& body) {
  const Json json = parsed(body);
  FilesRequest out;
  for (const auto& item : json.items()) {
    const Json& value = item.value();
    if (item.key() == "scenario") {
      if (!value.is_string()) fail_body("'scenario' is no text", kFilesBody);
      out.scenario = value.get<std::string>();
    } else if (item.key() == "files") {
      if (!value.is_array()) fail_body("'files' is no list", kFilesBody);
      for (const Json& file : value) out.files.push_back(file_of(file));
    } else {
      fail_body(fmt::format("unknown key '{}'", excerpt(item.key())), kFilesBody);
    }
  }
  if (out.files.empty()) fail_body("there is no file in 'files'", kFilesBody);
  if (out.files.size() > kMaxFiles) fail_body(fmt::format("'files' has more than {} files", kMaxFiles), kFilesBody);
  return out;
}

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
      fail_body(fmt::format("unknown key '{}'", excerpt(item.key())));
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
