#include "cli/program.hpp"

int main(int count, char** words) { return mirfak::run_program(count, words); }
