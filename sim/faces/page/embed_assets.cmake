# cmake -D FOLDER=... -D STYLE=... -D SCRIPTS=a.js;b.js -D OUTPUT=... -P embed_assets.cmake: a C++ source that holds the
# style sheet and the script. The files of the script share one scope, in their order; the last returns what it offers.
function(as_literal text literal)
  if(text MATCHES "[)]asset\"")
    message(FATAL_ERROR "a file of ${FOLDER} holds what ends a literal")
  endif()
  set(${literal} "R\"asset(${text})asset\"" PARENT_SCOPE)
endfunction()

file(READ ${FOLDER}/${STYLE} style)
string(SHA256 style_hash "${style}")
as_literal("${style}" style_literal)

set(parts "globalThis.mirfak = (() => {\n\"use strict\";\n")
set(whole "${parts}")
as_literal("${parts}" literal)
set(literals "    ${literal},\n")
set(count 2)
foreach(name IN LISTS SCRIPTS)
  file(READ ${FOLDER}/${name} text)
  string(APPEND whole "${text}")
  as_literal("${text}" literal)
  string(APPEND literals "    ${literal},\n")
  math(EXPR count "${count} + 1")
endforeach()
set(end "})();\n")
string(APPEND whole "${end}")
as_literal("${end}" literal)
string(APPEND literals "    ${literal},\n")
string(SHA256 script_hash "${whole}")

file(WRITE ${OUTPUT} "// Made from ${STYLE} and ${SCRIPTS} by embed_assets.cmake.
#include \"page/page_assets.hpp\"

namespace mirfak {

const std::string_view kPageStyle = ${style_literal};
const std::string_view kPageStyleHash = \"${style_hash}\";
static_assert(kPageScriptParts == ${count});
const std::array<std::string_view, kPageScriptParts> kPageScript = {
${literals}};
const std::string_view kPageScriptHash = \"${script_hash}\";

}  // namespace mirfak
")
