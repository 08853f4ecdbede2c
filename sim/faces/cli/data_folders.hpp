#pragma once

#include "scenario/data_folders.hpp"

#include <boost/program_options/value_semantic.hpp>

#include <filesystem>
#include <string>

namespace mirfak {

// Returns the folder that holds models/ and hw_profiles/ unless an option names another one: $MIRFAK_DATA, else
// share/mirfak next to the program's bin/ if the program is installed, else the source tree that the program was built
// from.
std::filesystem::path default_data_folder();

// Returns the option that sets the data folder. Help does not print the folder's path, so that help looks the same for
// every user.
boost::program_options::typed_value<std::string>* data_folder_option(std::string& data);

}  // namespace mirfak
