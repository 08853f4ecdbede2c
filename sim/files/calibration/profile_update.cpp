#include "calibration/profile_update.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "calibration/profile_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in.is_open() || in.bad()) fail_input({path.string(), 0, 0}, "cannot read this file");
  return text.str();
}

ProfileKind kind_of(const std::vector<FittedSection>& sections) {
  const ProfileKind first = sections.front().profile;
  const bool one = std::all_of(sections.begin(), sections.end(),
                               [&](const FittedSection& section) { return section.profile == first; });
  if (!one) {
    fail_input({}, "these tables are of a GPU and of a link, and --out is one profile",
               "calibrate them one after the other, each with its own --out");
  }
  return first;
}

void check_errors(const std::vector<FittedSection>& sections) {
  for (const FittedSection& section : sections) {
    if (!is_doubtful(section)) continue;
    fail_input({},
               fmt::format("{}: the fit is off by {} in the median: its constants do not describe the tables, and are "
                           "not written",
                           section.name(), format_percent(section.median_error())),
               "check --gpu or --link, --precision, the units of the columns, and --only");
  }
}

}  // namespace

void check_profile(const StagedFile& file, ProfileKind kind, const Catalog& catalog) {
  const Catalog fresh(catalog.folder());  // a catalog that has not read an earlier text of the file
  const std::string path = fs::absolute(file.path()).string();
  try {
    if (kind == ProfileKind::link)
      fresh.link(path);
    else
      fresh.gpu(path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    Location where = error.where();
    if (where.file == path) where.file = file.target().string();
    throw Error(ErrorKind::input, where,
                "with these constants the profile could not be read, and is not written: " + error.message(),
                error.hint());
  }
}

void update_profile(const fs::path& path, const std::vector<FittedSection>& sections, const CalibrationTarget& target) {
  check_errors(sections);
  const ProfileKind kind = kind_of(sections);
  std::error_code ignored;
  const fs::path before = fs::exists(path, ignored)
                              ? path
                              : target.catalog.path_of(kind, kind == ProfileKind::link ? target.link : target.gpu);
  StagedFile file(path, StagedFile::Replaces::what_it_read);
  file.write(with_sections(text_of(before), sections));
  check_profile(file, kind, target.catalog);
  file.commit();
}

}  // namespace mirfak
