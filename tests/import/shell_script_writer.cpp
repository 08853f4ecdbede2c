#include "import/shell_script_writer.hpp"

#include <fmt/format.h>

namespace mirfak {

std::string ShellScriptWriter::name() { return one_of(std::array{"A", "B", "C", "E"}); }

std::string ShellScriptWriter::number(std::size_t below_this) { return std::to_string(below(below_this)); }

std::string ShellScriptWriter::letters() {
  return one_of(std::array{"abc", "x.y", "a/b/c.json", "7", "--lr", "12", "a-b", "_", "1e-4", "tp=4", "a,b", "bb:cc",
                           "llama-13b", "08", "0x10", "A.B.C"});
}

std::string ShellScriptWriter::pattern() {
  return one_of(std::array{"*", "a", "?", "*/", "[a-c]", "*.", ".*", "/*", "[0-9]*", "\"$B\"", "$C", "'.'", "[!a-z]",
                           "[[:digit:]]", "b*", "*-", "-*", "llama", "\\/"});
}

std::string ShellScriptWriter::literal() {
  return one_of(std::array{"plain",
                           "'single  quoted $A'",
                           "\"double  quoted\"",
                           "\"a $A b\"",
                           "esc\\ aped",
                           "$'tab\\tx'",
                           "\"it's\"",
                           "'say \"x\"'",
                           "\"\\$A \\\\ \\\"\"",
                           "\"\"",
                           "mixed'q'\"$B\"",
                           "a\\\nb",
                           "{x,y}z",
                           "*.nothing",
                           "{1..3}",
                           "n{a,\"$A\"}",
                           "{03..01}",
                           "$'it\\'s'",
                           "\"{a,b}\"",
                           "a{b",
                           "'x'{1,2}{a,b}",
                           "\"$(echo \"in $A\")\""});
}

std::string ShellScriptWriter::array_expansion() {
  return one_of(std::array{
      "${D[@]}",     "${D[*]}",       "${#D[@]}",     "${!D[@]}",     "${D[-1]}",    "${D[0]}",    "${D[@]:1}",
      "${D[@]: -1}", "${D[@]:0:2}",   "${D[@]/#/--}", "${D[@]/%/=1}", "${D[@]/a/X}", "${D[@]%.*}", "${D[@]^^}",
      "${#D[0]}",    "${D[N%2]}",     "${D[$((1))]}", "${M[tp]}",     "${!M[@]}",    "${M[@]}",    "${#M[@]}",
      "${M[$K]-no}", "${D[@]:-none}", "${D[1]:=set}", "${D}",         "${D[@]+yes}", "${M[a b]}",  "${D[@]//[0-9]/}"});
}

std::string ShellScriptWriter::transformation() {
  const std::string v = name();
  switch (below(12)) {
    case 0:
      return "${" + v + "#" + pattern() + "}";
    case 1:
      return "${" + v + "##" + pattern() + "}";
    case 2:
      return "${" + v + "%" + pattern() + "}";
    case 3:
      return "${" + v + "%%" + pattern() + "}";
    case 4:
      return "${" + v + one_of(std::array{"/", "//", "/#", "/%"}) + pattern() + "/" +
             one_of(std::array{"X", "", "-", "_$B", "\"q r\"", "'/'"}) + "}";
    case 5:
      return "${" + v + ":" + number(4) + ":" + number(4) + "}";
    case 6:
      return "${" + v + ": -" + number(5) + "}";
    case 7:
      return "${" + v + one_of(std::array{"^^", ",,", "^", ",", "@Q", "@U", "@L"}) + "}";
    case 8:
      return "${#" + v + "}";
    case 9:
      return "${!P}";
    case 10:
      return "${" + v + ":" + number(3) + "}";
    default:
      return "${" + v + ":0:-1}";
  }
}

std::string ShellScriptWriter::output() {
  switch (below(12)) {
    case 0:
      return "$(echo " + one_of(std::array{"$A x", "\"$B\"  y", "-n z", "a b", "-e 'p\\tq'"}) + ")";
    case 1:
      return "$(printf '%s-%s' \"$A\" " + number() + ")";
    case 2:
      return "$(printf '%03d|%x' " + number() + " " + number() + ")";
    case 3:
      return "$(basename \"$B/x.json\" .json)";
    case 4:
      return "$(dirname /q/r/" + number() + ")";
    case 5:
      return "$(echo \"$A\" | tr 'a-c' 'A-C')";
    case 6:
      return "$(echo a-b-c | cut -d- -f" + std::to_string(1 + below(4)) + ")";
    case 7:
      return "$(printf '%s\\n' one two \"$C\" | head -n " + std::to_string(1 + below(3)) + " | tail -1)";
    case 8:
      return "$(seq " + std::to_string(1 + below(4)) + ")";
    case 9:
      return "$(cat <<END\nd $A\nEND\n)";
    case 10:
      return "`echo " + letters() + "`";
    default:
      return "$(echo \"${D[@]}\" | wc -w)";
  }
}

std::string ShellScriptWriter::expansion() {
  const std::string v = name();
  switch (below(16)) {
    case 0:
      return "$" + v;
    case 1:
      return "${" + v + "}";
    case 2:
      return "${" + v + ":-" + one_of(std::array{"dflt", "a b", "$B", "\"q r\"", "'s t'"}) + "}";
    case 3:
      return "${" + v + one_of(std::array{"-", "+", ":+"}) + one_of(std::array{"dflt", "a  b", "${A}", "\"$C\" x"}) +
             "}";
    case 4:
    case 5:
    case 6:
      return transformation();
    case 7:
      return "$(( " + arithmetic(0) + " ))";
    case 8:
    case 9:
    case 10:
      return array_expansion();
    case 11:
    case 12:
      return output();
    case 13:
      return "$#";
    case 14:
      return one_of(std::array{"${@:2}", "${@: -1}", "${*:1:1}", "${!#}", "$?"});
    default:
      return "$" + one_of(std::array{"1", "2", "3", "@", "*"});
  }
}

std::string ShellScriptWriter::word() {
  switch (below(5)) {
    case 0:
      return literal();
    case 1:
      return letters();
    case 2:
      return expansion();
    case 3:
      return "\"" + expansion() + "\"";
    default:
      return letters() + "\"" + expansion() + "\"" + expansion();
  }
}

std::string ShellScriptWriter::arithmetic(int depth) {
  if (depth > 2 || below(3) == 0)
    return one_of(std::array{"N", "3", "I", "7", "$N", "0x1f", "017", "2#101", "16#ff", "(N+1)", "10#08", "1"});
  static constexpr std::array operators = {"+", "-",  "*", "<",  "==", "&&", "||", "**", "%",
                                           "/", "<<", "|", "!=", ">=", "^",  "&",  ">>", ","};
  const std::string op = one_of(operators);
  const std::string left = "(" + arithmetic(depth + 1) + ")";
  if (op == "/" || op == "%") return left + " " + op + " " + std::to_string(1 + below(5));
  if (op == "**" || op == "<<" || op == ">>") return left + " " + op + " " + number(4);
  if (below(8) == 0) return left + " ? " + arithmetic(depth + 1) + " : " + arithmetic(depth + 1);
  if (below(10) == 0) return one_of(std::array{"N++", "--N", "N += 2", "N = 5", "I++", "-N", "!N", "~N"});
  return "(" + left + " " + op + " " + arithmetic(depth + 1) + ")";
}

std::string ShellScriptWriter::assignment() {
  switch (below(16)) {
    case 0:
      return "D=(" + word() + " " + word() + ")";
    case 1:
      return "D+=(" + word() + ")";
    case 2:
      return "N=$((" + arithmetic(0) + "))";
    case 3:
      return name() + "+=" + word();
    case 4:
      return "export " + name() + "=" + word();
    case 5:
      return "D[" + number(4) + "]=" + word();
    case 6:
      return "(( N = " + arithmetic(0) + " ))";
    case 7:
      return ": ${" + name() + ":=" + letters() + "}";
    case 8:
      return "M[" + one_of(std::array{"tp", "pp", "\"a b\"", "$K", "x-y"}) + "]" + one_of(std::array{"=", "+="}) +
             word();
    case 9:
      return "printf -v " + name() + " " +
             one_of(std::array{"'%s,' \"${D[@]}\"", "'%5s|%-4s|' \"$A\" b", "'%02d' 7", "'%.2f' 2.5", "'%q' \"$B\"",
                               "'%s\\n' x y", "'%b' 'a\\tb'", "'%d-%d' 010 0x10"});
    case 10:
      return "let N=" + number() + "+I 'I = N % 7'";
    case 11:
      return "unset 'D[" + number(3) + "]'";
    case 12:
      return "I+=" + number();
    case 13:
      return "D=(\"${D[@]}\" [7]=z)";
    case 14:
      return "P=" + one_of(std::array{"A", "B", "D", "N", "'D[1]'", "'D[@]'"});
    default:
      return name() + "=" + word();
  }
}

std::string ShellScriptWriter::declaration() {
  switch (below(8)) {
    case 0:
      return "declare -i I=" + number() + "*2";
    case 1:
      return "declare -u " + name() + "=" + letters();
    case 2:
      return "declare -l L=ABC; A=$L";
    case 3:
      return "declare -a D=(" + word() + " [3]=q)";
    case 4:
      return "declare -A M=([tp]=4 [pp]=\"" + transformation() + "\" [\"a b\"]=c)";
    case 5:
      return "K=" + one_of(std::array{"tp", "pp", "zz"});
    case 6:
      return "declare " + name() + "=" + word() + " N=" + number();
    default:
      return "IFS=" + one_of(std::array{",", ":", "$' \\t\\n'", "-"}) +
             "; A=$B; torchrun $A \"$*\" \"${D[*]}\"; unset IFS";
  }
}

std::string ShellScriptWriter::test() {
  switch (below(6)) {
    case 0:
      return "[ " + one_of(std::array{"-z", "-n"}) + " \"$" + name() + "\" ]";
    case 1:
      return "[ \"$" + name() + "\" " + one_of(std::array{"=", "!=", "=="}) + " \"" + letters() + "\" ]";
    case 2:
      return "[ $N " + one_of(std::array{"-eq", "-ne", "-lt", "-ge"}) + " " + number() + " ]";
    case 3:
      return "[ $N -gt 3 -a \"$A\" != x -o -n \"$B\" ]";
    case 4:
      return "test ! \"$A\" = \"$B\"";
    default:
      return "[ \"${#D[@]}\" -gt 1 ]";
  }
}

std::string ShellScriptWriter::condition() {
  switch (below(12)) {
    case 0:
    case 1:
      return test();
    case 2:
      return "[[ -n $" + name() + " ]]";
    case 3:
      return "[[ $" + name() + " == " + one_of(std::array{"a*", "\"a*\"", "$B", "[0-9]*", "'x.y'", "*[.]*", "*-13b"}) +
             " ]]";
    case 4:
      return "(( " + arithmetic(0) + " ))";
    case 5:
      return "[[ ( -n \"$A\" || -z $B ) && ! $C == x ]]";
    case 6:
      return "! [[ $A =~ ^[a-c]+$ ]] && " + one_of(std::array{"true", "false"});
    case 7:
      return "[[ $" + name() + " =~ " +
             one_of(std::array{"([a-z]+)-([0-9]+)b", "^([^.]*)\\.(.*)$", "[0-9]+", "\"x.y\"", "(a|b)(c)?", "^$"}) +
             " ]] && A=${BASH_REMATCH[1]-none} && torchrun \"${BASH_REMATCH[@]}\"";
    case 8:
      return "[[ $N -ge " + number() + " && " + letters() + " < m ]]";
    case 9:
      return "[[ -v " + one_of(std::array{"A", "UNSET", "D[1]", "M[tp]"}) + " ]]";
    case 10:
      return "f1 " + number(3);
    default:
      return "[[ 010 -eq 8 ]] && " + test();
  }
}

std::string ShellScriptWriter::shown() {
  std::string out = "torchrun " + word() + " " + word();
  if (below(2) == 0) out += " \\\n  " + word();
  if (below(4) == 0) out += one_of(std::array{" 2>&1 | tee log", " > out.txt", " &> all.log", " & wait", " || true"});
  return out;
}

std::string ShellScriptWriter::block(int depth) { return statement(depth + 1) + "\n" + statement(depth + 1); }

std::string ShellScriptWriter::input() {
  switch (below(9)) {
    case 0:
      return "read -r A B <<< \"" + expansion() + "\"";
    case 1:
      return "IFS=, read -ra D <<< \"a,b c,," + letters() + "\"";
    case 2:
      return "while read -r A B; do torchrun \"$A\" \"$B\"; done <<END\nx 1\n  y  2 3 \n$C\nEND";
    case 3:
      return "mapfile -t D <<< \"" + expansion() + "\"";
    case 4:
      return "mapfile -t D < <(printf '%s\\n' " + word() + " " + word() + ")";
    case 5:
      return "read -r -d '' A <<'END'\n--a 1\n  --b \"$x\"\nEND";
    case 6:
      return "echo \"p q r\" | { read A B; torchrun \"$A\" \"$B\"; }";
    case 7:
      return "while IFS= read -r E; do torchrun \"[$E]\"; done < <(echo \" $A \"; echo b)";
    default:
      return "IFS=: read A B C <<< \"" + one_of(std::array{"1:2:3", "a::b", "x:y:z:w:", "  p : q"}) + "\"";
  }
}

std::string ShellScriptWriter::file() {
  switch (below(8)) {
    case 0:
      return "cat > args.sh <<END\nA=" + letters() + "\nB=\\$((N+1))\nEND\nsource ./args.sh";
    case 1:
      return "echo 'C=\"from file\"' > c.env; echo 'E=4' >> c.env; . ./c.env";
    case 2:
      return "mkdir -p sub; echo 'A=sub' > sub/x.sh; ( cd sub; . ./x.sh; torchrun \"$A\" ); cd sub; source ./x.sh; cd "
             "..";
    case 3:
      return "printf '%s\\n' 'f2() { torchrun f2 \"$@\"; }' > fun.sh; cp fun.sh copy.sh; . ./copy.sh; f2 " + word();
    case 4:
      return "echo \"$A\" | tee t.txt > /dev/null; C=$(cat t.txt); E=$(< t.txt)";
    case 5:
      return "cat <<-'END' > d.sh\n\tN=$((N + 2))\n\tEND\nmv d.sh e.sh; . ./e.sh";
    case 6:
      return "source <(echo 'B=sourced')";
    default:
      return "export A; bash -c 'torchrun \"$A\" \"$0\" \"$@\"' zero " + word();
  }
}

std::string ShellScriptWriter::function() {
  switch (below(7)) {
    case 0:
      return "f() { local A=" + word() + "; " + assignment() + "; torchrun \"$@\" $A; }\nf " + word() + " \"$B\"";
    case 1:
      return "g() { echo \"$1-$#\"; return " + number(4) + "; }\nA=$(g " + word() + "); torchrun \"$A\" $?";
    case 2:
      return "g() { return " + number(4) + "; }; g; torchrun $?; g || torchrun failed; ! g; torchrun $?";
    case 3:
      return "h() { if [ $1 -gt 0 ]; then torchrun $1; h $(($1-1)); fi; }; h " + number(4);
    case 4:
      return "g() { local -a Q=(\"$@\"); local -i n=${#Q[@]}*2; shift; torchrun $n \"${Q[@]:1}\" \"$*\"; }; g " +
             word() + " " + word();
    case 5:
      return "join() { local IFS=\"$1\"; shift; echo \"$*\"; }; A=$(join , \"${D[@]}\")";
    default:
      return "g() { for x; do [ \"$x\" = b ] && continue; torchrun \"$x\"; done; B=changed; }; g a b " + word();
  }
}

std::string ShellScriptWriter::parameters() {
  switch (below(6)) {
    case 0:
      return "set -- " + word() + " " + word() + "; torchrun $# \"$@\"";
    case 1:
      return "shift; torchrun \"$@\" $#";
    case 2:
      return "o() { local OPTIND=1 x; while getopts ':a:bc' x; do case $x in a) torchrun a \"$OPTARG\";; b) torchrun "
             "b;; "
             "*) torchrun \"$x\" \"$OPTARG\";; esac; done; shift $((OPTIND-1)); torchrun \"$@\"; }; o " +
             one_of(std::array{"-a 5 -b x", "-ba6 y z", "-q -b", "-b -a", "-- -a", "x -a"});
    case 3:
      return "set -- -n 4 --tp=8 rest; while [[ $# -gt 0 ]]; do case $1 in -n) A=$2; shift 2;; --*=*) B=${1#*=}; "
             "shift;; "
             "*) C=$1; shift;; esac; done";
    case 4:
      return "D=(\"$@\"); set -- \"${D[@]}\" " + word();
    default:
      return "torchrun \"${@:1:1}\" \"${*}\" ${1+\"$1\"}";
  }
}

std::string ShellScriptWriter::errors() {
  switch (below(4)) {
    case 0:
      return "( set -e; " + condition() + "; torchrun still )";
    case 1:
      return "( set -o pipefail; false | true; torchrun $?; set -e; true | false; torchrun no )";
    case 2:
      return "( exit " + number(4) + " ); torchrun $?";
    default:
      return "A=$(exit " + number(3) + ") || torchrun substituted; false; torchrun $?";
  }
}

std::string ShellScriptWriter::compound(int depth) {
  switch (below(10)) {
    case 0:
      return "if " + condition() + "; then\n" + block(depth) + "\nelif " + condition() + "; then\n" + assignment() +
             "\nelse\n" + block(depth) + "\nfi";
    case 1:
      return "for E in " + word() + " " + word() + "; do\n" + block(depth) + "\ndone";
    case 2:
      return "case " + word() + " in\na*|x*) " + assignment() + ";;\n\"b\"*) :;;\n[0-9]*) " + assignment() +
             ";;&\n*) " + block(depth) + ";;\nesac";
    case 3:
      return "for ((i=0; i<" + number(4) + "; i++)); do [ $i = 1 ] && continue; " + assignment() +
             "; torchrun $i; done";
    case 4:
      return condition() + " && " + assignment() + " || " + assignment();
    case 5:
      return "cmd=\"torchrun $A --x ${B}\"\neval \"$cmd\"\n$cmd";
    case 6:
      return "( " + assignment() + "; torchrun " + word() + " )";
    case 7:
      return "{ " + assignment() + "; " + shown() + "\n} > block.log";
    case 8:
      return "j=" + number(4) + "; " + one_of(std::array{"while (( j-- > 0 ))", "until [ $j -le 0 ]"}) +
             "; do j=$((j - (j > 0))); " + assignment() + "; torchrun $j; done";
    default:
      return "for k in \"${!M[@]}\"; do torchrun \"$k\" \"${M[$k]}\"; done";
  }
}

std::string ShellScriptWriter::statement(int depth) {
  if (depth > 2) return assignment();
  switch (below(12)) {
    case 0:
    case 1:
    case 2:
      return compound(depth);
    case 3:
      return function();
    case 4:
      return input();
    case 5:
      return file();
    case 6:
      return parameters();
    case 7:
      return errors();
    case 8:
      return declaration();
    case 9:
    case 10:
      return shown();
    default:
      return assignment();
  }
}

std::string ShellScriptWriter::script() {
  std::string out =
      "A=; B=; C=c; E=; N=1 P=A K=tp\ndeclare -i I=2\ndeclare -A M=([tp]=8)\nD=(a \"b c\")\n"
      "f1() { return $1; }\n";
  for (int i = 0; i < 4; ++i) out += assignment() + "\n";
  for (int i = 0; i < 9; ++i) out += statement(0) + "\n";
  return out + "torchrun \"$A\" \"$B\" ${C} \"${D[@]}\" ${#D[@]} $E $N $I \"${M[@]}\"\n";
}

}  // namespace mirfak
