#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace mirfak {

// One HTML file that needs no other and no network: style, script, data, and for readers without scripts the text
// report. `kind` says which views the script draws of `data` (README.md of this folder: the data of each kind); its
// `text` is the report. Any text may stand in the data: nothing of it is read as markup.
std::string page_html(const std::string& title, std::string_view kind, const nlohmann::ordered_json& data);

// What a page is made of, for who serves pages of another form: the style sheet, and a script that defines
// `mirfak.show(element, data)`, which draws the views of `data`, by its `kind`, into an element, again and again.
std::string_view page_style();
std::string_view page_script();

// What a header Content-Security-Policy, or its meta element, allows them by: "'sha256-...'".
std::string page_style_source();
std::string page_script_source();

}  // namespace mirfak
