# awk -f check_layers.awk layers.rules FILES: prints FILE:LINE: WHAT for each violation, exits 1 if any.

function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }

# Does the header match one word of a rule?
function fits(header, word) {
  if (word in let) return allowed(header, let[word])
  if (word == "@std") return header ~ /^<[a-z_0-9]+>$/
  if (word == "@libc")
    return header !~ /^<(seccomp|sys\/capability)\.h>$/ &&
           header ~ /^<((sys|linux|asm|net|netinet|arpa)\/)?[a-z_0-9]+\.h>$/
  if (header == word) return 1
  return word !~ /(\.h|>)$/ && index(header, word) == 1
}

function allowed(header, list,    n, words, i) {
  n = split(list, words, " ")
  for (i = 1; i <= n; i++) if (fits(header, words[i])) return 1
  return 0
}

function report(what) { printf "%s:%d: %s\n", FILENAME, FNR, what; bad = 1 }

# The longest `may` folder this file lies in.
function rule_of(file,    folder, best) {
  best = ""
  for (folder in may)
    if (index(file, folder) == 1 && length(folder) > length(best)) best = folder
  return best
}

function check_include(header,    folder) {
  folder = rule_of(FILENAME)
  if (header ~ /^[^<]/ && header !~ /\//) { report("\"" header "\": write the path from the top folder"); return }
  if (!allowed(header, may[folder])) report(folder " may not include " header)
}

# The line without comments and the insides of strings. Raw strings may span lines.
function code(line,    out, end) {
  if (raw != "") {
    end = index(line, raw)
    if (!end) return ""
    line = substr(line, end + length(raw)); raw = ""
  }
  if (comment) {
    if (!sub(/^.*\*\//, "", line)) return ""
    comment = 0
  }
  if (match(line, /R"[a-zA-Z_]*\(/)) {
    raw = ")" substr(line, RSTART + 2, RLENGTH - 3) "\""
    out = substr(line, 1, RSTART - 1)
    return code(out) code(substr(line, RSTART + RLENGTH))
  }
  gsub(/\\./, "", line)
  gsub(/"[^"]*"/, "\"\"", line)
  sub(/\/\/.*/, "", line)
  gsub(/\/\*[^*]*\*\//, "", line)
  if (sub(/\/\*.*/, "", line)) comment = 1
  return line
}

FNR == 1 { raw = ""; comment = 0 }

FILENAME ~ /layers\.rules$/ {
  if (split($0, part, / +: +/) < 2) next
  name = part[1]; sub(/^[a-z]+ +/, "", name)
  if ($1 == "let") let[name] = part[2]
  if ($1 == "may") may[name] = part[2]
  if ($1 == "ban") { regex[++bans] = substr(name, 2, length(name) - 2); spared[bans] = part[2]; why[bans] = part[3] }
  next
}

/^[ \t]*#[ \t]*include/ {
  if (match($0, /[<"][^>"]+[>"]/)) {
    header = substr($0, RSTART, RLENGTH)
    gsub(/"/, "", header)
    check_include(header)
  }
  next
}

{
  text = trim(code($0))
  for (i = 1; i <= bans; i++)
    if (text ~ regex[i] && !allowed(FILENAME, spared[i])) report(why[i])
}

END { exit bad }
