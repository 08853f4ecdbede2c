// Any database, made by SQL or of any bytes behind SQLite's head, is either recordings whose times add up, or an input
// error with its place. Bytes that do not begin with that head are statements: mutations of SQL reach further than
// mutations of pages do.

#include "recording/nsight.hpp"

#include "base/error.hpp"
#include "recording/recording_summary.hpp"
#include "require.hpp"
#include "support/source_root.hpp"

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <string>

using namespace mirfak;

namespace {

// Only statements that fill tables: others (recursion, blobs of any length) are not what is tested.
int only_tables(void* /*unused*/, int action, const char* /*a*/, const char* /*b*/, const char* /*c*/,
                const char* /*d*/) {
  const bool fills = action == SQLITE_INSERT || action == SQLITE_CREATE_TABLE || action == SQLITE_READ ||
                     action == SQLITE_UPDATE || action == SQLITE_CREATE_VIEW;
  return fills ? SQLITE_OK : SQLITE_DENY;
}

std::string database_of_statements(const std::string& statements) {
  sqlite3* database = nullptr;
  sqlite3_open(":memory:", &database);
  sqlite3_set_authorizer(database, only_tables, nullptr);
  sqlite3_exec(database, statements.c_str(), nullptr, nullptr, nullptr);
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(database, "main", &size, 0);
  std::string out(reinterpret_cast<const char*>(bytes), bytes == nullptr ? 0 : static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(database);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const KernelClasses classes = KernelClasses::from_file(source_root() + "/hw_profiles/kernel_classes.yaml");
  std::string database(reinterpret_cast<const char*>(bytes), size);
  if (database.rfind("SQLite format 3", 0) != 0) database = database_of_statements(database);
  try {
    for (const Recording& recording : read_nsight_bytes(database, "r.sqlite", classes)) {
      const RecordingSummary summary = summarize(recording);
      require(summary.kernels + summary.copies == recording.kernels.size());
      require(summary.overlapped >= 0 && summary.exposed() >= 0 && summary.busy <= summary.first_to_last);
      for (const RecordedKernel& kernel : recording.kernels) {
        require(kernel.step < static_cast<std::int32_t>(recording.steps.size()));
        require(kernel.operator_ < static_cast<std::int32_t>(recording.operators.size()));
        require(kernel.collective < static_cast<std::int32_t>(recording.collectives.size()));
      }
    }
  } catch (const Error& error) {
    require_refusal(error);
  }
  return 0;
}
