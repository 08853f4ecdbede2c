#include "base/units.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace mirfak;

TEST_CASE("seconds in the unit a person would choose") {
  CHECK(format_seconds(20.83) == "20.83 s");
  CHECK(format_seconds(0.003412) == "3.412 ms");
  CHECK(format_seconds(12e-6) == "12.00 us");
  CHECK(format_seconds(3e-9) == "3.000 ns");
  CHECK(format_seconds(0) == "0.000 s");
  CHECK(format_seconds(-0.5) == "-500.0 ms");
  CHECK(format_seconds(7199) == "7199 s");
  CHECK(format_seconds(7200) == "2.000 h");
  CHECK(format_seconds(34 * 86400.0) == "34.00 days");
}

TEST_CASE("bytes are binary, everything else decimal") {
  CHECK(format_bytes(0) == "0.000 B");
  CHECK(format_bytes(1024) == "1.000 KiB");
  CHECK(format_bytes(80 * kGiB) == "80.00 GiB");
  CHECK(format_flop(312e12) == "312.0 TFLOP");
  CHECK(format_count(174.6e9) == "174.6 G");
  CHECK(format_count(8) == "8.000");
  CHECK(format_joules(12.3e6) == "12.30 MJ");
  CHECK(format_percent(0.5144) == "51.4 %");
}

TEST_CASE("four digits stay four digits where rounding carries") {
  CHECK(format_flop(999.96) == "1.000 kFLOP");
  CHECK(format_flop(999.94) == "999.9 FLOP");
  CHECK(format_flop(9.9996) == "10.00 FLOP");
  CHECK(format_seconds(0.99996) == "1.000 s");
  CHECK(format_seconds(99.996) == "100.0 s");
  CHECK(format_bytes(1023.99) == "1.000 KiB");
}

TEST_CASE("dollars") {
  CHECK(format_usd(1234567.891) == "$1,234,567.89");
  CHECK(format_usd(999.5) == "$999.50");
  CHECK(format_usd(1000) == "$1,000.00");
  CHECK(format_usd(0.0123) == "$0.0123");
  CHECK(format_usd(0) == "$0.00");
  CHECK(format_usd(-1234.5) == "-$1,234.50");
}

TEST_CASE("values without an end are shown, not looped on") {
  CHECK(format_flop(std::numeric_limits<double>::infinity()) == "inf YFLOP");
  CHECK(format_usd(std::numeric_limits<double>::infinity()) == "$inf");
  CHECK(format_bytes(std::numeric_limits<double>::quiet_NaN()) == "nan B");
}
