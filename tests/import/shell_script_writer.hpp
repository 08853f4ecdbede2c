#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace mirfak {

// Random scripts of bash, in the words of launch scripts: values with blanks, quotes and patterns, every expansion,
// arrays, functions, conditions, loops, documents, and files that are written and read. A script shows what its values
// have become as words of torchrun. Nothing in it hangs on the machine.
class ShellScriptWriter {
 public:
  explicit ShellScriptWriter(std::uint64_t seed) : random_(seed) {}
  std::string script();

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  template <std::size_t N>
  std::string one_of(const std::array<const char*, N>& words) {
    return words.at(below(N));
  }
  std::string name();
  std::string number(std::size_t below_this = 12);
  std::string letters();
  std::string pattern();
  std::string literal();
  std::string expansion();
  std::string array_expansion();
  std::string transformation();
  std::string output();
  std::string word();
  std::string arithmetic(int depth);
  std::string assignment();
  std::string declaration();
  std::string condition();
  std::string test();
  std::string shown();
  std::string block(int depth);
  std::string statement(int depth);
  std::string compound(int depth);
  std::string input();
  std::string file();
  std::string function();
  std::string parameters();
  std::string errors();

  std::mt19937_64 random_;
};

}  // namespace mirfak
