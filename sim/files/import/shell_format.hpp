#pragma once

#include "import/import_formats.hpp"

namespace mirfak {

extern const ImportFormat kLaunchScript;  // a script of bash that starts a training, #SBATCH lines included

}  // namespace mirfak
