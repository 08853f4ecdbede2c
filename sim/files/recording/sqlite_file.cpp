#include "recording/sqlite_file.hpp"

#include "base/error.hpp"
#include "base/read_files.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <fstream>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr int kLongestValue = 1 << 20;

// SQLite takes file names with options only as a URI. `immutable` leaves no other files next to the database.
std::string read_only_uri(const std::filesystem::path& path) {
  std::string out = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '.' || c == '-' || c == '_';
    out += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return out + "?mode=ro&immutable=1";
}

std::string quoted_name(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t out = 0;
  for (const char c : bytes) out = out << 8U | static_cast<unsigned char>(c);
  return out;
}

// Refuses an incomplete copy, parts of which SQLite might read: the file's head states the number and the size of its
// pages.
void check_whole(std::string_view head, std::uint64_t size, const std::string& name) {
  if (head.size() < 100 || head.substr(24, 4) != head.substr(92, 4)) return;  // left to SQLite: no valid count
  const std::uint64_t page = big_endian(head.substr(16, 2));
  const std::uint64_t bytes = big_endian(head.substr(28, 4)) * (page == 1 ? 65536 : page);
  if (size >= bytes) return;
  fail_input({name, 0, 0}, fmt::format("the file is cut off: {} of {} bytes are there", size, bytes), "copy it again");
}

}  // namespace

bool is_sqlite_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string head(kMagic.size(), ' ');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return in.good() && head == kMagic;
}

SqliteFile::SqliteFile(const std::filesystem::path& path) : name_(path.string()) {
  std::string head(100, ' ');
  std::ifstream in(path, std::ios::binary);
  if (!in.read(head.data(), static_cast<std::streamsize>(head.size()))) head.clear();
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  if (!unknown) check_whole(head, size, name_);
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(read_only_uri(path).c_str(), &database_, flags, nullptr) != SQLITE_OK) {
    const std::string reason = database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_);
    sqlite3_close(database_);
    fail_input({name_, 0, 0}, "cannot be read: " + reason);
  }
  note_read_file(path);
  prepare();
}

SqliteFile::SqliteFile(std::string_view bytes, std::string name) : name_(std::move(name)) {
  check_whole(bytes.substr(0, 100), bytes.size(), name_);
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  // SQLite takes writable memory only; SQLITE_DESERIALIZE_READONLY states that it must not be written.
  auto* begin = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
  if (sqlite3_open_v2(":memory:", &database_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK ||
      sqlite3_deserialize(database_, "main", begin, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
    sqlite3_close(database_);
    fail_input({name_, 0, 0}, "is no SQLite database");
  }
  prepare();
}

SqliteFile::~SqliteFile() { sqlite3_close(database_); }

void SqliteFile::prepare() {
  try {
    sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_limit(database_, SQLITE_LIMIT_LENGTH, kLongestValue);
    SqliteRows rows(*this, "sqlite_master", "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0");
    while (rows.next()) tables_.insert(rows.text(0));
  } catch (...) {
    sqlite3_close(database_);
    throw;
  }
}

bool SqliteFile::has(const std::string& table, const std::string& column) const {
  if (!has(table)) return false;
  return sqlite3_table_column_metadata(database_, "main", table.c_str(), column.c_str(), nullptr, nullptr, nullptr,
                                       nullptr, nullptr) == SQLITE_OK;
}

void SqliteFile::require(const std::string& table, const std::string& column, const std::string& hint) const {
  if (!has(table)) fail_input({name_, 0, 0}, fmt::format("the database has no table {}", table), hint);
  if (!has(table, column)) {
    fail_input({name_, 0, 0}, fmt::format("the table {} has no column {}", table, column), hint);
  }
}

std::uint64_t SqliteFile::rows(const std::string& table) const {
  SqliteRows rows(*this, table, "SELECT count(*) FROM " + quoted_name(table));
  return rows.next() ? static_cast<std::uint64_t>(rows.integer(0)) : 0;
}

void SqliteFile::fail(const std::string& doing) const {
  fail_input({name_, 0, 0}, fmt::format("{}: {}", doing, sqlite3_errmsg(database_)),
             "expected the file that `nsys export --type sqlite` writes");
}

SqliteRows::SqliteRows(const SqliteFile& file, std::string table, const std::string& statement)
    : file_(file), table_(std::move(table)) {
  if (sqlite3_prepare_v2(file_.handle(), statement.c_str(), -1, &statement_, nullptr) != SQLITE_OK) {
    file_.fail(fmt::format("the table {} cannot be read", table_));
  }
}

SqliteRows::~SqliteRows() { sqlite3_finalize(statement_); }

bool SqliteRows::next() {
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_DONE) return false;
  if (result != SQLITE_ROW) file_.fail(fmt::format("the table {}, after row {}, cannot be read", table_, row_));
  ++row_;
  return true;
}

bool SqliteRows::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

std::int64_t SqliteRows::integer(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER) fail(column, "a whole number");
  return sqlite3_column_int64(statement_, column);
}

std::optional<std::int64_t> SqliteRows::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

std::string SqliteRows::text(int column) const {
  if (is_null(column)) return {};
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) fail(column, "text");
  const auto* begin = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (begin == nullptr) file_.fail(fmt::format("the table {}, row {}, cannot be read", table_, row_));
  return excerpt({begin, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))}, kLongestValue);
}

std::string_view SqliteRows::bytes(int column) const {
  if (is_null(column)) return {};
  const auto* begin = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return begin == nullptr ? std::string_view{}
                          : std::string_view(begin, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

void SqliteRows::fail(int column, const std::string& expected) const {
  fail_input({file_.name(), 0, 0}, fmt::format("table {}, row {}, column {}: expected {}", table_, row_,
                                               excerpt(sqlite3_column_name(statement_, column)), expected));
}

}  // namespace mirfak
