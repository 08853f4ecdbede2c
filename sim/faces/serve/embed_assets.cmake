# cmake -D FOLDER=... -D PAGE=... -D STYLE=... -D SCRIPTS=a.js;b.js -D OUTPUT=... -P embed_assets.cmake: a C++ source
# that holds the page of the server. The files of the script share one scope, in their order.
function(read_literal literal)
  set(text "")
  foreach(name IN LISTS ARGN)
    file(READ ${FOLDER}/${name} part)
    string(APPEND text "${part}")
  endforeach()
  if(text MATCHES "[)]asset\"")
    message(FATAL_ERROR "a file of ${FOLDER} holds what ends a literal")
  endif()
  set(${literal} "R\"asset(${text})asset\"" PARENT_SCOPE)
endfunction()

read_literal(page ${PAGE})
read_literal(style ${STYLE})
read_literal(script ${SCRIPTS})
file(WRITE ${OUTPUT} "// Made from ${PAGE}, ${STYLE} and ${SCRIPTS} by embed_assets.cmake.
#include \"serve/form_assets.hpp\"

namespace mirfak::serve {

std::string_view form_page() { return ${page}; }
std::string_view form_style() { return ${style}; }
std::string_view form_script() {
  return \"(() => {\\n\\\"use strict\\\";\\n\" ${script} \"})();\\n\";
}

}  // namespace mirfak::serve
")
