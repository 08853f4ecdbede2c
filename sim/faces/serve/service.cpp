#include "serve/service.hpp"

#include "base/cancellation.hpp"
#include "base/document_json.hpp"
#include "base/named_files.hpp"
#include "base/origin.hpp"
#include "base/stopwatch.hpp"
#include "launch/runnable_search.hpp"
#include "page/page.hpp"
#include "page/page_data.hpp"
#include "plan/search_outcome.hpp"
#include "report/search_report.hpp"
#include "scenario/idle_keys.hpp"
#include "scenario/search_scenario.hpp"
#include "serve/catalogue_json.hpp"
#include "serve/error_answer.hpp"
#include "serve/form_assets.hpp"
#include "serve/given_files.hpp"
#include "serve/request_rules.hpp"
#include "serve/scenario_request.hpp"
#include "serve/targets.hpp"
#include "simulation/iteration.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <new>

namespace mirfak::serve {

namespace {

using Json = nlohmann::ordered_json;

// Returns an error in the scenario, with the text that its place refers to (possibly changed by keys of the form), and
// the stated values of the text; null if the text is no YAML.
HttpAnswer error_in(const std::string& text, const Error& error) {
  HttpAnswer answer = error_answer(error);
  Json body = Json::parse(answer.body);
  body["text"] = text;
  body["stated"] = nullptr;
  try {
    body["stated"] = document_json(Document::from_text(text, kScenarioName).root());
  } catch (const Error&) {  // the first error is the one to report
  }
  return json_answer(answer.status, body);
}

// Removes the page's text, which only readers without scripts would need.
Json without_text(Json page) {
  page.erase("text");
  return page;
}

HttpAnswer too_long(std::chrono::milliseconds limit) {
  return error_answer(
      503, fmt::format("given up after {} s: this takes longer than the server allows", limit.count() / 1000),
      "use mirfak simulate or mirfak search, which take as long as they need");
}

HttpAnswer not_awaited() { return error_answer(503, "given up: its client has gone, or this server ends", ""); }

void add_origin(Json& out, const std::string& data) {
  out["program_version"] = program_version();
  out["data_hash"] = data;
}

}  // namespace

Service::Service(const std::filesystem::path& data, WorkLimits limits, std::span<const ImportFile> start)
    : sources_(data_folders(data)),
      limits_(limits),
      catalogue_(catalogue_json(sources_, data, start).dump()),
      data_hash_(data_hash({sources_.folders.models, sources_.folders.hardware})) {}

HttpWork Service::work_of(const HttpRequest& request) const {
  const Target* const target = find_target(path_of(request));
  if (target == nullptr || target->lane == HttpWork::Lane::at_once) return {};
  // A search ends by itself when its time is over; it gets a little more time to simulate its findings.
  if (target->lane == HttpWork::Lane::slow) return {target->lane, limits_.search + limits_.simulation};
  return {target->lane, limits_.simulation};
}

HttpAnswer Service::answer(const HttpRequest& request, const std::atomic<bool>& given_up) const {
  const WallClock::time_point begin = WallClock::now();
  try {
    return answer_or_throw(request, given_up);
  } catch (const Cancelled&) {
    const std::chrono::milliseconds limit = work_of(request).limit;
    return WallClock::now() - begin < limit ? not_awaited() : too_long(limit);
  } catch (const Error& error) {
    return error_answer(error);
  } catch (const std::bad_alloc&) {
    return error_answer(422, "this machine has too little memory for a simulation of this size",
                        "make the job smaller");
  } catch (const std::exception& error) {
    return error_answer(500, fmt::format("unexpected failure: {}", error.what()), "");
  }
}

HttpHandlers Service::handlers() const {
  return {refusal_of, [this](const HttpRequest& request) { return work_of(request); },
          [this](const HttpRequest& request, const std::atomic<bool>& given_up) { return answer(request, given_up); }};
}

HttpAnswer Service::answer_or_throw(const HttpRequest& request, const std::atomic<bool>& given_up) const {
  const Target* const target = find_target(path_of(request));
  if (target == nullptr) return error_answer(404, "there is nothing here", "");
  const CancellationScope scope(&given_up);
  if (target->takes_body) check_cancelled();  // stops if no client waits for the answer any more
  switch (target->id) {
    case TargetId::page:
      return {200, "text/html; charset=utf-8", std::string(form_page())};
    case TargetId::style:
      return {200, "text/css; charset=utf-8", std::string(form_style())};
    case TargetId::script:
      return {200, "text/javascript; charset=utf-8", std::string(form_script())};
    case TargetId::views_style:
      return {200, "text/css; charset=utf-8", std::string(page_style())};
    case TargetId::views_script:
      return {200, "text/javascript; charset=utf-8", std::string(page_script())};
    case TargetId::catalogue:
      return {200, "application/json", catalogue_};
    case TargetId::files:
      return imported(request.body);
    case TargetId::simulate:
      return simulated(request.body);
    case TargetId::notes:
      return noted(request.body);
    case TargetId::search:
      return searched(request.body, given_up);
  }
  return error_answer(404, "there is nothing here", "");
}

HttpAnswer Service::imported(const std::string& body) const {
  const NoNamedFiles names_only(kScenarioName, {sources_.folders.models, sources_.folders.hardware});
  const FilesRequest request = read_files_request(body);
  const GivenScenario given = given_scenario(request.files, request.scenario, sources_);
  return json_answer(200, {{"text", given.text}, {"read_as", given.read_as}, {"obstacles", given.obstacles}});
}

HttpAnswer Service::simulated(const std::string& body) const {
  const WallClock::time_point begin = WallClock::now();
  const NoNamedFiles names_only(kScenarioName, {sources_.folders.models, sources_.folders.hardware});
  const ScenarioRequest request = read_scenario_request(body);
  try {
    const Document document = document_of(request);
    const Scenario scenario = parse_scenario(document, sources_);
    const Simulation simulation = simulate(scenario.job);
    check_cancelled();  // not every part of a simulation checks
    const AssertionResult asserted = check_assertions(scenario.assertions, scenario.job, simulation.result);
    Json out = Json::object();
    // For the page's form: as it is stated, and with all defaults.
    out["scenario"] = {{"text", request.text},
                       {"stated", document_json(document.root())},
                       {"resolved", document_json(scenario.completed)}};
    out["broken_assertions"] = asserted.broken.empty() ? Json() : Json(broken_text(asserted));
    add_origin(out, data_hash_);
    out["page"] = without_text(simulation_page_data(scenario, simulation, asserted.notes, seconds_since(begin)));
    out["shortage"] = out["page"]["shortage"];
    return json_answer(200, out);
  } catch (const Error& error) {
    return error_in(request.text, error);
  }
}

// Answers with notes, in a request of their own, because finding keys that change nothing simulates the job once per
// key.
HttpAnswer Service::noted(const std::string& body) const {
  const NoNamedFiles names_only(kScenarioName, {sources_.folders.models, sources_.folders.hardware});
  const Scenario scenario = parse_scenario(document_of(read_scenario_request(body)), sources_);
  std::vector<std::string> notes = notes_on_keys(scenario, sources_, simulate(scenario.job).result);
  for (std::string& note : notes_on_program(scenario.job, scenario.document, sources_.folders.hardware)) {
    notes.push_back(std::move(note));
  }
  return json_answer(200, {{"notes", notes}});
}

HttpAnswer Service::searched(const std::string& body, const std::atomic<bool>& given_up) const {
  const WallClock::time_point begin = WallClock::now();
  const NoNamedFiles names_only(kScenarioName, {sources_.folders.models, sources_.folders.hardware});
  const ScenarioRequest request = read_scenario_request(body);
  SearchScenario scenario = parse_search(document_of(request), sources_.folders);
  keep_to_framework(scenario, sources_.folders.hardware);
  const double most = std::chrono::duration<double>(limits_.search).count();
  const double limit = request.time_limit_s > 0 ? std::min(request.time_limit_s, most) : most;
  const SearchStop stop = [&] { return given_up || seconds_since(begin) >= limit; };
  const SearchOutcome outcome = search_and_simulate(scenario, 0, {}, stop);
  check_cancelled();
  const SearchReport report{scenario, outcome, {}};
  Json out = Json::object();
  out["time_limit_s"] = limit;
  out["failure"] = nullptr;
  if (outcome.strategies.empty()) {
    const SearchFailure failure = search_failure(report);
    out["failure"] = {{"message", failure.reason}, {"hint", failure.hint}};
  }
  add_origin(out, data_hash_);
  out["page"] = without_text(search_page_data(report, seconds_since(begin)));
  out["page"]["result"]["complete"] = outcome.complete;
  out["page"]["explanations"] = strategy_explanations(scenario, outcome.strategies, sources_);
  return json_answer(200, out);
}

}  // namespace mirfak::serve
