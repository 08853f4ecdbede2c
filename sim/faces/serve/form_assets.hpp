#pragma once

#include <string_view>

namespace mirfak::serve {

// Return the files of assets/ as they were when the program was built: the page with its form, its style in addition to
// that of the views, and its script.
std::string_view form_page();
std::string_view form_style();
std::string_view form_script();

}  // namespace mirfak::serve
