# Prints the virtual functions of a class in a C++ header, one a line, as
# NAME(TYPES): without comments, defaults, names of parameters and rocksdb::.
# A function counts if it is declared `virtual` or `override`.
# -v class=NAME names the class.
{
  line = $0
  sub(/\/\/.*/, "", line)
  if (line ~ /^[ \t]*#/) next
  text = text " " line
}

function trim(s) { sub(/^[ \t]+/, "", s); sub(/[ \t]+$/, "", s); return s }

# The type of a parameter.
function type_of(parameter,   rest) {
  sub(/=.*/, "", parameter)
  parameter = trim(parameter)
  rest = parameter
  sub(/[A-Za-z_][A-Za-z_0-9]*$/, "", rest)
  rest = trim(rest)
  # "int" alone and "const Slice" have no name.
  if (rest == "" || rest == "const" || rest ~ /::$/) rest = parameter
  gsub(/ ?\* ?/, "*", rest)
  gsub(/ ?& ?/, "\\&", rest)
  # Which differ between a function and what overrides it.
  sub(/\*const$/, "*", rest)
  if (rest ~ /^const [A-Za-z_0-9:]+$/) sub(/^const /, "", rest)
  return rest
}

function signature(declaration,   open, name, inner, depth, i, c, part, types) {
  open = index(declaration, "(")
  name = trim(substr(declaration, 1, open - 1))
  sub(/.*[ \t*&]/, "", name)
  depth = 0; part = ""; types = ""
  for (i = open + 1; i <= length(declaration); ++i) {
    c = substr(declaration, i, 1)
    if (c == ")" && depth == 0) break
    if (c ~ /[<(]/) ++depth
    if (c ~ /[>)]/) --depth
    if (c == "," && depth == 0) { types = types type_of(part) ", "; part = "" }
    else part = part c
  }
  return name "(" types type_of(part) ")"
}

END {
  while (match(text, /\/\*[^*]*\*+([^\/*][^*]*\*+)*\//)) {
    text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
  }
  gsub(/rocksdb::/, "", text)
  gsub(/[ \t]+/, " ", text)
  start = match(text, "class " class "( final)?( : public [A-Za-z:]+)? [{]")
  if (start == 0) { print "no class " class > "/dev/stderr"; exit 1 }
  text = substr(text, start + RLENGTH)
  # Member by member, to the class's closing brace; bodies are left out.
  depth = 0; member = ""
  for (i = 1; i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (depth == 0 && c == "}") break
    if (c == "{") ++depth
    if (depth == 0) member = member c
    ended = (depth == 0 && c == ";") || (depth == 1 && c == "{" && member ~ /\)/)
    if (c == "}") --depth
    if (!ended) continue
    if (member ~ /(^|[ :])virtual / || member ~ / override([ ;{]|$)/) {
      if (member !~ /~/) print signature(member)
    }
    member = ""
  }
}
