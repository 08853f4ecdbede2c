#pragma once

#include "import/import_formats.hpp"
#include "scenario/scenario_sources.hpp"
#include "serve/http_server.hpp"

#include <filesystem>
#include <span>
#include <string>

namespace mirfak::serve {

// Time limits of work.
struct WorkLimits {
  std::chrono::milliseconds simulation{10'000};
  std::chrono::milliseconds search{60'000};  // after this time a search returns its findings so far
};

// The implementation of the targets. Thread-safe: all shared data is read once, or locked.
class Service {
 public:
  // `data`: holds models/, hw_profiles/ and scenarios/. Error(input) for data and files that cannot be read.
  // `start`: files with which the page begins (given_files.hpp); none: an example.
  explicit Service(const std::filesystem::path& data, WorkLimits limits = {}, std::span<const ImportFile> start = {});

  HttpWork work_of(const HttpRequest& request) const;
  // Answers a request that refusal_of() allows. Never throws.
  HttpAnswer answer(const HttpRequest& request, const std::atomic<bool>& given_up) const;

  HttpHandlers handlers() const;  // handlers for a server, which this object must outlive

 private:
  HttpAnswer answer_or_throw(const HttpRequest& request, const std::atomic<bool>& given_up) const;
  HttpAnswer imported(const std::string& body) const;
  HttpAnswer simulated(const std::string& body) const;
  HttpAnswer noted(const std::string& body) const;
  HttpAnswer searched(const std::string& body, const std::atomic<bool>& given_up) const;

  ScenarioSources sources_;
  WorkLimits limits_;
  std::string catalogue_;
  std::string data_hash_;  // hash of the data that is read once
};

}  // namespace mirfak::serve
