#pragma once

#include "import/option_reader.hpp"
#include "import/program_facts.hpp"

namespace mirfak {

// Sets training.lora.whole by the modules that PEFT trains whole beside adapters (`modules_to_save`): `facts` have the
// section `whole_modules`, parts of mirfak by the last part of a module's name. A module of another name is an
// obstacle.
void read_whole_modules(OptionReader& options, const Option& option, const ProgramFacts& facts);

}  // namespace mirfak
