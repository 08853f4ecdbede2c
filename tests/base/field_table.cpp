// A key is an entry of a table and a member: read, written, documented and heard of by schemas.

#include "base/field_table.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace mirfak;

namespace field_table_test {

namespace {

enum class Colour { red, green };
const std::vector<std::string>& colour_names() {
  static const std::vector<std::string> names = {"red", "green"};
  return names;
}
const std::vector<std::string>& switch_names() {
  static const std::vector<std::string> names = {"off", "on"};
  return names;
}

struct Wheel {
  double radius_m = 0.3;
  int spokes = 36;

  friend bool operator==(const Wheel&, const Wheel&) = default;
};

struct Bicycle {
  int gears = 1;
  double mass_kg = 12;
  bool lights = false;
  bool dynamo = false;
  Colour colour = Colour::red;
  std::string name = "plain";
  std::vector<int> teeth = {};
  Wheel wheel = {};
  double price = 0;

  friend bool operator==(const Bicycle&, const Bicycle&) = default;
};

// `Context`: the most gears.
const FieldTable<Bicycle, int>& bicycle_fields() {
  using F = FieldTable<Bicycle, int>::Field;
  using OfWheel = FieldTable<Wheel>::Field;
  static const FieldTable<Wheel> wheel = {OfWheel("radius_m", &Wheel::radius_m, {0.1, 1}).required(),
                                          OfWheel("spokes", &Wheel::spokes, {0, 48})};
  static const FieldTable<Bicycle, int> table = {
      {
          F("gears", &Bicycle::gears, {1, 30}, "number of gears").required(),
          F("mass_kg", &Bicycle::mass_kg, {1, 50}, "without its rider"),
          F("lights", &Bicycle::lights, {}).if_set(),
          F("dynamo", [](auto& of) -> auto& { return of.dynamo; }, {0, 0, switch_names}),
          F("colour", &Bicycle::colour, {0, 0, colour_names}),
          F("name", &Bicycle::name, {}).by_default("its maker's"),
          F("teeth", &Bicycle::teeth, {8, 60}).if_set(),
          F("wheel", &Bicycle::wheel, wheel).if_set(),
          F("price", &Bicycle::price, {1, 1e5}).or_null().if_set(),
      },
      [](Mapping& keys, Bicycle& of, const int& most) {
        if (of.gears > most) keys.find("gears")->fail("too many gears");
      }};
  return table;
}

Bicycle read(const std::string& text) {
  const Document document = Document::from_text(text, "bicycle.yaml");
  return bicycle_fields().read(Node(document), {}, 27);
}

std::string failure(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

struct Heard : ReadingObserver {
  std::map<std::string, std::string> fallbacks;

  void value(const Node&, const ReadValue&) override {}
  void key(const Node&, std::string_view, bool, bool) override {}
  void fallback(const Node&, std::string_view key, const std::string& json) override {
    fallbacks[std::string(key)] = json;
  }
  void any_key(const Node&) override {}
};

}  // namespace

TEST_CASE("every kind of key is read, and written so that it reads back") {
  const std::string text =
      "{gears: 3, mass_kg: 9.5, lights: true, dynamo: on, colour: green, name: fast, teeth: [11, 13], "
      "wheel: {radius_m: 0.35, spokes: 32}, price: 1234.5}";
  const Bicycle fast = read(text);
  CHECK(fast == Bicycle{3, 9.5, true, true, Colour::green, "fast", {11, 13}, {0.35, 32}, 1234.5});
  CHECK(line_of(bicycle_fields().value(fast)) == text);
}

TEST_CASE("a key that is left out has the member's value; one that is written only if it is set is not written then") {
  CHECK(read("gears: 1") == Bicycle());
  CHECK(read("{gears: 1, price: null}") == Bicycle());
  CHECK(line_of(bicycle_fields().value(Bicycle())) == "{gears: 1, mass_kg: 12, dynamo: off, colour: red, name: plain}");
  CHECK(read("{gears: 1, wheel: {radius_m: 0.2}}").wheel == Wheel{0.2, 36});
}

TEST_CASE("what is no value of a key is an error at its place") {
  CHECK(failure("{mass_kg: 3}").find("the key 'gears' is missing") != std::string::npos);
  CHECK(failure("{gears: 31}").find("bicycle.yaml:1:9: gears: expected a whole number from 1 to 30") == 0);
  CHECK(failure("{gears: 28}").find("bicycle.yaml:1:9: gears: too many gears") == 0);
  CHECK(failure("{gears: 1, colour: blue}").find("colour: expected red or green, found 'blue'") != std::string::npos);
  CHECK(failure("{gears: 1, lights: }").find("lights: expected a value, found nothing") != std::string::npos);
  CHECK(failure("{gears: 1, teeth: [11, 99]}").find("teeth[1]: expected a whole number from 8 to 60") !=
        std::string::npos);
  CHECK(failure("{gears: 1, wheel: {radius_m: 0.3, tube: 1}}").find("wheel.tube: unknown key") != std::string::npos);
}

TEST_CASE("documentation has the default of every key, and schemas those of truths and numbers") {
  std::map<std::string, std::string> defaults;
  for (const auto& field : bicycle_fields().fields()) defaults[std::string(field.key())] = field.default_in_words();
  CHECK(defaults["gears"] == "required");
  CHECK(defaults["mass_kg"] == "12");
  CHECK(defaults["lights"] == "false");
  CHECK(defaults["colour"] == "`red`");
  CHECK(defaults["name"] == "its maker's");
  CHECK(defaults["price"] == "none");
  CHECK(bicycle_fields().fields().front().sentence() == "number of gears");
  const Heard heard;
  read("gears: 1");
  CHECK(heard.fallbacks == std::map<std::string, std::string>{{"mass_kg", "12"}, {"lights", "false"}});
}

}  // namespace field_table_test
