#pragma once

#include "scenario/data_folders.hpp"

#include <boost/program_options/value_semantic.hpp>

#include <filesystem>
#include <string>

namespace mirfak {

// The folder that holds models/ and hw_profiles/ unless an option says otherwise: the environment's MIRFAK_DATA,
// else share/mirfak beside the program's bin/ where it is installed, else the source tree it was built from.
std::filesystem::path default_data_folder();

// The option that says otherwise. Help does not print the folder's path, so that it looks the same for every user.
boost::program_options::typed_value<std::string>* data_folder_option(std::string& data);

}  // namespace mirfak
