#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace mirfak {

// True if the file begins as SQLite databases do. False also if the file cannot be read.
bool is_sqlite_file(const std::filesystem::path& path);

// A database of SQLite that is only read. The file is not trusted: views, virtual tables and functions of its schema
// are not used, and its texts are at most 1 MiB. Every function throws Error(input), with the names of the file and the
// table, for data that cannot be read.
class SqliteFile {
 public:
  explicit SqliteFile(const std::filesystem::path& path);
  SqliteFile(std::string_view bytes, std::string name);  // `bytes` must outlive the SqliteFile
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;
  ~SqliteFile();

  const std::string& name() const { return name_; }
  const std::set<std::string>& tables() const { return tables_; }
  bool has(const std::string& table) const { return tables_.contains(table); }
  bool has(const std::string& table, const std::string& column) const;
  // Error(input) if the table or the column is absent; `hint` is the error's advice.
  void require(const std::string& table, const std::string& column, const std::string& hint) const;
  std::uint64_t rows(const std::string& table) const;

  sqlite3* handle() const { return database_; }
  [[noreturn]] void fail(const std::string& doing) const;

 private:
  void prepare();

  std::string name_;
  sqlite3* database_ = nullptr;
  std::set<std::string> tables_;
};

// The rows that a statement yields, one after the other. Columns count from 0; names of columns are for messages.
class SqliteRows {
 public:
  SqliteRows(const SqliteFile& file, std::string table, const std::string& statement);
  SqliteRows(const SqliteRows&) = delete;
  SqliteRows& operator=(const SqliteRows&) = delete;
  ~SqliteRows();

  bool next();
  bool is_null(int column) const;
  std::int64_t integer(int column) const;  // Error(input) if the value is not a whole number
  std::optional<std::int64_t> optional_integer(int column) const;
  std::string text(int column) const;        // "" if there is none; bytes that are not UTF-8 become '?'
  std::string_view bytes(int column) const;  // valid until the next row; "" if there are none
  [[noreturn]] void fail(int column, const std::string& expected) const;

 private:
  const SqliteFile& file_;
  std::string table_;
  std::uint64_t row_ = 0;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace mirfak
