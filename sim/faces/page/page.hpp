#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace mirfak {

// Returns one HTML file that needs no other file and no network: style, script, data, and the text report for readers
// without scripts. `kind` selects the views that the script draws of `data` (README.md of this folder: the data of each
// kind). The key `text` of `data` is the report. `data` may hold any text: nothing of it is read as markup.
std::string page_html(const std::string& title, std::string_view kind, const nlohmann::ordered_json& data);

// Returns the units in which the script of pages shows quantities (base/units.hpp): `names`, `times`, `words` with
// which keys end, and `labels` of figures.
nlohmann::ordered_json units_json();

// Parts of a page, for callers that serve pages of another form: the style sheet, and a script that defines
// `mirfak.show(element, data)`. The function draws the views of `data`, selected by its `kind`, into an element, as
// often as it is called.
std::string_view page_style();
std::string_view page_script();

// Source expressions that allow the style sheet and the script in a Content-Security-Policy (header or meta element):
// "'sha256-...'".
std::string page_style_source();
std::string page_script_source();

}  // namespace mirfak
