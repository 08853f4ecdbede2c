#pragma once

#include <sqlite3.h>

#include <stdexcept>
#include <string>

// The bytes of a database that these statements make.
inline std::string database_of(const std::string& statements) {
  sqlite3* database = nullptr;
  sqlite3_open(":memory:", &database);
  char* wrong = nullptr;
  if (sqlite3_exec(database, statements.c_str(), nullptr, nullptr, &wrong) != SQLITE_OK) {
    throw std::runtime_error(wrong == nullptr ? "sqlite" : wrong);
  }
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(database, "main", &size, 0);
  std::string out(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(database);
  return out;
}
