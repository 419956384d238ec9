// Foreign text within Markdown: shown, and acted upon by nobody. Pure; any thread.
#pragma once

#include <string>

namespace runner::trace {

// In a line of prose: nothing that Markdown, HTML or a renderer of links and formulas would act on.
std::string plain(const std::string& bytes);

// A block, whatever stands in it; for terminals too: a control character is its picture (U+2400).
// `info`: a language; what is none is left out.
std::string fenced(const std::string& info, const std::string& bytes);

}  // namespace runner::trace
