#pragma once

#include "scenario/scenario_sources.hpp"
#include "serve/http_server.hpp"

#include <filesystem>
#include <string>

namespace mirfak::serve {

// How long work may take.
struct WorkLimits {
  std::chrono::milliseconds simulation{10'000};
  std::chrono::milliseconds search{60'000};  // then it tells what it found until then
};

// What stands behind the targets. Usable from many threads: all that requests share is read once, or locked.
class Service {
 public:
  // `data`: holds models/, hw_profiles/ and scenarios/. Error(input) for data that cannot be read.
  explicit Service(const std::filesystem::path& data, WorkLimits limits = {});

  HttpWork work_of(const HttpRequest& request) const;
  // Answers what refusal_of() lets pass. Never throws.
  HttpAnswer answer(const HttpRequest& request, const std::atomic<bool>& given_up) const;

  HttpHandlers handlers() const;  // of a server, which this must outlive

 private:
  HttpAnswer answer_or_throw(const HttpRequest& request, const std::atomic<bool>& given_up) const;
  HttpAnswer simulated(const std::string& body) const;
  HttpAnswer noted(const std::string& body) const;
  HttpAnswer searched(const std::string& body, const std::atomic<bool>& given_up) const;

  ScenarioSources sources_;
  WorkLimits limits_;
  std::string catalogue_;
  std::string data_hash_;  // of what is read once
};

}  // namespace mirfak::serve
