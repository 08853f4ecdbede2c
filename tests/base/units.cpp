#include "base/units.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace mirfak;

TEST_CASE("seconds in the unit a person would choose") {
  CHECK(format_seconds(20.83) == "20.8 s");
  CHECK(format_seconds(0.003412) == "3.41 ms");
  CHECK(format_seconds(12e-6) == "12.0 us");
  CHECK(format_seconds(3e-9) == "3.00 ns");
  CHECK(format_seconds(0) == "0 s");
  CHECK(format_seconds(-0.5) == "-500 ms");
  CHECK(format_seconds(999.4) == "999 s");
  CHECK(format_seconds(1000) == "16.7 min");
  CHECK(format_seconds(7190) == "120 min");
  CHECK(format_seconds(7200) == "2.00 h");
  CHECK(format_seconds(34 * 86400.0) == "34.0 days");
  CHECK(format_seconds(1234 * 86400.0) == "1230 days");
}

TEST_CASE("bytes are binary, everything else decimal") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1024) == "1.00 KiB");
  CHECK(format_bytes(80 * kGiB) == "80.0 GiB");
  CHECK(format_flop(312e12) == "312 TFLOP");
  CHECK(format_count(174.6e9) == "175 G");
  CHECK(format_count(8) == "8");
  CHECK(format_count(8.5) == "8.50");
  CHECK(format_joules(12.3e6) == "12.3 MJ");
  CHECK(format_watt_hours(3.6e9 * 296.9) == "297 MWh");
  CHECK(format_watts(564321) == "564 kW");
  CHECK(format_percent(0.5144) == "51.4 %");
}

TEST_CASE("three digits stay three digits where rounding carries") {
  CHECK(format_flop(999.6) == "1.00 kFLOP");
  CHECK(format_flop(999.4) == "999 FLOP");
  CHECK(format_flop(9.996) == "10.0 FLOP");
  CHECK(format_seconds(0.9996) == "1.00 s");
  CHECK(format_seconds(99.96) == "100 s");
  CHECK(format_bytes(1023.99 * 1024) == "1020 KiB");
  CHECK(format_bytes(1025 * 1024) == "1.00 MiB");
}

TEST_CASE("numbers without a unit") {
  CHECK(format_number(0.7314) == "0.731");
  CHECK(format_number(38.62) == "38.6");
  CHECK(format_number(1234) == "1230");
  CHECK(format_number(0) == "0");
  CHECK(format_number(-0.05) == "-0.0500");
}

TEST_CASE("neighbours on a scale differ in what they show") {
  CHECK(digits_for_steps(0.5, 20) == 3);   // 19.5 and 20.0
  CHECK(digits_for_steps(0.03, 20) == 4);  // 19.97 and 20.00
  CHECK(digits_for_steps(1e-6, 20) == 9);  // 19.9999990 and 20.0000000
  CHECK(digits_for_steps(0, 20) == 3);
  CHECK(format_seconds(19.97, digits_for_steps(0.03, 20)) == "19.97 s");
  CHECK(format_joules(8.6721e6, 4) == "8.672 MJ");
}

TEST_CASE("dollars that are predicted") {
  CHECK(format_usd(3042056.74) == "$3.04 M");
  CHECK(format_usd(999.6) == "$1.00 k");
  CHECK(format_usd(31.9) == "$31.9");
  CHECK(format_usd(1.954) == "$1.95");
  CHECK(format_usd(0.01534) == "$0.0153");
  CHECK(format_usd(0) == "$0");
  CHECK(format_usd(-1234.5) == "-$1.23 k");
}

TEST_CASE("dollars that are given") {
  CHECK(format_price(1234567.891) == "$1,234,567.89");
  CHECK(format_price(999.5) == "$999.50");
  CHECK(format_price(1000) == "$1,000.00");
  CHECK(format_price(0.35) == "$0.35");
  CHECK(format_price(0.0123) == "$0.0123");
  CHECK(format_price(0) == "$0.00");
  CHECK(format_price(-1234.5) == "-$1,234.50");
}

TEST_CASE("values without an end are shown, not looped on") {
  CHECK(format_flop(std::numeric_limits<double>::infinity()) == "inf YFLOP");
  CHECK(format_price(std::numeric_limits<double>::infinity()) == "$inf");
  CHECK(format_bytes(std::numeric_limits<double>::quiet_NaN()) == "nan B");
}
