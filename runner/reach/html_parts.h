// The pieces of the page (html.h). Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/reach/compare.h"

namespace runner::reach::html {

extern const char* const kStyle;  // CSS, html_style.cc

// For text and for attributes in double quotes. Control characters and ill-formed bytes are shown
// as printable() does (text.h).
std::string escaped(std::string_view text);

// One square of a map.
struct Cell {
  Standing standing = Standing::kNeither;
  std::string title;  // shown by a pointer that rests on it
};

// A picture of cells, `label` being what is said instead of it.
std::string cell_map(const std::vector<Cell>& cells, const std::string& label);
// `shown`: of what the map shows; what never occurs needs no key.
std::string legend(const Comparison& comparison, const Tally& shown);

// "files", 8 cells: a picture of each group with its name and counts.
std::string probe_maps(const Comparison& comparison);
std::string call_maps(const Comparison& comparison);
std::string call_list(const Comparison& comparison, Standing standing);

// Categories by layers: what one closes that the other leaves open. Empty if that is nothing.
std::string layer_matrix(const Comparison& comparison, Standing standing);
std::string line_table(const Comparison& comparison, const std::vector<Line>& lines,
                       const std::string& caption);
std::string probe_table(const Comparison& comparison);

// Its standing, as a sentence with the subjects' names in it.
std::string standing_phrase(const Comparison& comparison, Standing standing);

}  // namespace runner::reach::html
