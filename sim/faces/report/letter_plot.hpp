#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mirfak {

// A plot drawn in letters: a grid of characters with the ends of its scale on both axes.
class LetterPlot {
 public:
  // The ends of the axes differ: left from right, bottom from top.
  LetterPlot(double left, double right, double bottom, double top, std::size_t columns);

  double x_of(std::size_t column) const;
  void mark(double x, double y, char letter);  // nothing outside of the axes

  // The ends of the axes in words.
  struct Labels {
    std::string left, right, bottom, top;
  };
  // Returns lines that end with '\n'. `margin`: the least width of the labels on the left.
  std::string text(const Labels& labels, std::size_t margin = 0) const;

 private:
  double left_;
  double right_;
  double bottom_;
  double top_;
  std::vector<std::string> rows_;
};

}  // namespace mirfak
