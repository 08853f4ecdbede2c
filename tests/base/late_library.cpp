#include "base/late_library.hpp"

#include "base/error.hpp"
#include "failure.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

TEST_CASE("a late library that is nowhere is an internal failure with its name") {
  try {
    late_function("unheard-of", "mirfak_unheard_of");
    FAIL_CHECK("expected an error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::internal);
    CHECK(contains(error.what(), "cannot load mirfak-unheard-of.so"));
  }
}
