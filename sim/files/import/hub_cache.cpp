#include "import/hub_cache.hpp"

#include "base/named_files.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfiguration = "config.json";

std::optional<fs::path> configuration_of(const fs::path& folder) {
  fs::path out = folder / kConfiguration;
  std::error_code ignored;
  if (!may_read_file(out) || !fs::is_regular_file(out, ignored)) return std::nullopt;
  return out;
}

std::optional<fs::path> folder_of_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return fs::path(value);
}

std::optional<fs::path> folder_of_downloads() {
  if (auto cache = folder_of_variable("HF_HUB_CACHE")) return cache;
  if (auto home = folder_of_variable("HF_HOME")) return *home / "hub";
  if (auto caches = folder_of_variable("XDG_CACHE_HOME")) return *caches / "huggingface" / "hub";
  if (auto home = folder_of_variable("HOME")) return *home / ".cache" / "huggingface" / "hub";
  return std::nullopt;
}

std::string first_word_of(const fs::path& file) {
  std::string out;
  if (may_read_file(file)) std::ifstream(file) >> out;
  return out;
}

// Returns true for "org/model" and "model", names which the hub can have.
bool is_hub_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  const bool signs = name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") ==
                     std::string_view::npos;
  return signs && !name.starts_with('.') && !name.starts_with('/') && !name.ends_with('/') &&
         (slash == std::string_view::npos || name.find('/', slash + 1) == std::string_view::npos);
}

std::optional<fs::path> among_downloads(std::string_view name) {
  const std::optional<fs::path> downloads = folder_of_downloads();
  if (!downloads || !is_hub_name(name)) return std::nullopt;
  std::string folder = "models--" + std::string(name);
  if (const std::size_t slash = folder.find('/'); slash != std::string::npos) folder.replace(slash, 1, "--");
  const fs::path model = *downloads / folder;
  const std::string commit = first_word_of(model / "refs" / "main");
  if (commit.empty() || commit.find('/') != std::string::npos) return std::nullopt;
  return configuration_of(model / "snapshots" / commit);
}

}  // namespace

std::optional<fs::path> downloaded_configuration(std::string_view name) {
  if (name.empty()) return std::nullopt;
  if (auto here = configuration_of(fs::absolute(fs::path(name)))) return here;
  return among_downloads(name);
}

}  // namespace mirfak
