#pragma once

namespace mirfak {

// The program as main() has it: runs the command line `words`, of which the first is the program's name, prints, and
// returns the exit status. Changes what the process does at signals and closed standard streams.
int run_program(int count, char** words);

}  // namespace mirfak
