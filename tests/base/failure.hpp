#pragma once

#include "base/error.hpp"

#include <doctest/doctest.h>

#include <string>

// The error that `action` throws, as a user reads it; a failed check and "" when it throws none.
template <typename Action>
std::string failure_of(Action action) {
  try {
    action();
  } catch (const mirfak::Error& error) {
    CHECK(error.kind() == mirfak::ErrorKind::input);
    return error.what();
  }
  FAIL_CHECK("expected an error");
  return {};
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
