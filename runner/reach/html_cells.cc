// The maps: one cell for each system call or probe. What a cell says is told by its shape and size
// as well as its colour, so that it can be read without colours.
#include <algorithm>
#include <array>

#include "runner/reach/html_parts.h"
#include "runner/text.h"

namespace runner::reach::html {
namespace {

constexpr std::size_t kColumns = 12;
constexpr std::size_t kPitch = 18;

std::string number(std::size_t n) { return std::to_string(n); }

std::string shape(Standing standing, std::size_t x, std::size_t y) {
  const std::string cx = number(x + kPitch / 2);
  const std::string cy = number(y + kPitch / 2);
  const auto square = [&](const char* kind, std::size_t inset, const char* radius) {
    const std::string size = number(kPitch - 2 * inset);
    return std::string("<rect class=\"") + kind + "\" x=\"" + number(x + inset) + "\" y=\"" +
           number(y + inset) + "\" width=\"" + size + "\" height=\"" + size + "\" rx=\"" + radius +
           "\"/>";
  };
  const auto circle = [&](const char* kind, const char* radius) {
    return std::string("<circle class=\"") + kind + "\" cx=\"" + cx + "\" cy=\"" + cy + "\" r=\"" +
           radius + "\"/>";
  };
  switch (standing) {
    case Standing::kBoth:
      return square("both", 4, "2");
    case Standing::kOnlyB:
      return square("only-b", 1, "3");
    case Standing::kOnlyA:
      return circle("only-a", "7.5");
    case Standing::kNeither:
      return circle("neither", "1.75");
    case Standing::kUnclear:
      break;
  }
  const std::string left = number(x + 5);
  const std::string top = number(y + 5);
  return "<path class=\"unclear\" d=\"M" + left + " " + top + "l8 8m0 -8l-8 8\"/>";
}

std::string svg(const std::string& attributes, std::size_t width, std::size_t height,
                const std::string& content) {
  return "<svg " + attributes + " viewBox=\"0 0 " + number(width) + " " + number(height) +
         "\" width=\"" + number(width) + "\" height=\"" + number(height) + "\">" + content +
         "</svg>";
}

constexpr std::array kAll{Standing::kOnlyB, Standing::kOnlyA, Standing::kUnclear, Standing::kBoth,
                          Standing::kNeither};

std::size_t part(const Tally& tally, Standing standing) {
  switch (standing) {
    case Standing::kNeither:
      return tally.neither;
    case Standing::kOnlyA:
      return tally.only_a;
    case Standing::kOnlyB:
      return tally.only_b;
    case Standing::kBoth:
      return tally.both;
    case Standing::kUnclear:
      break;
  }
  return tally.unclear;
}

// "files: 4 open in loose only, 19 closed in both"
std::string spoken(const Comparison& comparison, const std::string& name, const Tally& counts) {
  std::string text;
  for (const Standing standing : kAll) {
    const std::size_t n = part(counts, standing);
    if (n == 0) continue;
    text += (text.empty() ? ": " : ", ") + number(n) + " " + standing_phrase(comparison, standing);
  }
  return name + text;
}

// Differences first: their number is seen before it is read.
std::string figure(const Comparison& comparison, const std::string& name, std::vector<Cell> cells) {
  const auto place = [](const Cell& cell) {
    return std::find(kAll.begin(), kAll.end(), cell.standing);
  };
  std::stable_sort(cells.begin(), cells.end(),
                   [&](const Cell& x, const Cell& y) { return place(x) < place(y); });
  Tally counts;
  for (const Cell& cell : cells) counts.add(cell.standing);
  std::string figures;
  if (counts.only_b > 0)
    figures += "<span class=\"b\">&#9632;&nbsp;" + number(counts.only_b) + "</span> ";
  if (counts.only_a > 0) {
    figures += "<span class=\"a\">&#9679;&nbsp;" + number(counts.only_a) + "</span> ";
  }
  if (!figures.empty()) figures += "of&nbsp;";
  return "<figure><figcaption><span>" + escaped(name) + "</span><span class=\"count\">" + figures +
         number(cells.size()) + "</span></figcaption>" +
         cell_map(cells, spoken(comparison, name, counts)) + "</figure>\n";
}

}  // namespace

std::string standing_phrase(const Comparison& comparison, Standing standing) {
  switch (standing) {
    case Standing::kBoth:
      return "open in both";
    case Standing::kOnlyB:
      return "open in " + comparison.b.surface.subject + " only";
    case Standing::kOnlyA:
      return "open in " + comparison.a.surface.subject + " only";
    case Standing::kNeither:
      return "closed in both";
    case Standing::kUnclear:
      break;
  }
  return "no answer from one side";
}

std::string cell_map(const std::vector<Cell>& cells, const std::string& label) {
  std::string content;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    content += "<g><title>" + escaped(cells[i].title) + "</title>" +
               shape(cells[i].standing, i % kColumns * kPitch, i / kColumns * kPitch) + "</g>";
  }
  const std::size_t rows = (cells.size() + kColumns - 1) / kColumns;
  return svg("class=\"map\" role=\"img\" aria-label=\"" + escaped(label) + "\"", kColumns * kPitch,
             rows * kPitch, content);
}

std::string legend(const Comparison& comparison, const Tally& shown) {
  std::string items;
  for (const Standing standing : kAll) {
    // What does not occur needs no explanation; what A alone leaves open would be missed.
    if (standing == Standing::kUnclear && shown.unclear == 0) continue;
    items += "<li>" +
             svg("class=\"key\" aria-hidden=\"true\"", kPitch, kPitch, shape(standing, 0, 0)) +
             escaped(standing_phrase(comparison, standing)) + "</li>";
  }
  return "<ul class=\"legend\">" + items + "</ul>\n";
}

std::string probe_maps(const Comparison& comparison) {
  std::string maps;
  for (const Category category : kCategories) {
    std::vector<Cell> cells;
    for (const ProbePair& pair : comparison.probes) {
      if (pair.probe->category != category) continue;
      cells.push_back({pair.standing, std::string(pair.probe->id) + " " +
                                          std::string(pair.probe->name) + ": " +
                                          standing_phrase(comparison, pair.standing)});
    }
    if (!cells.empty()) {
      maps += figure(comparison, std::string(category_text(category)), std::move(cells));
    }
  }
  return "<div class=\"maps\">" + maps + "</div>\n";
}

std::string call_maps(const Comparison& comparison) {
  std::string maps;
  for (const std::string& group : groups_of(comparison.calls)) {
    std::vector<Cell> cells;
    for (const CallPair& pair : comparison.calls) {
      if (pair.a.group != group) continue;
      std::string title = pair.a.name + ": " + standing_phrase(comparison, pair.standing);
      for (const auto& [side, call] :
           {std::pair(&comparison.a, &pair.a), std::pair(&comparison.b, &pair.b)}) {
        if (call->opening == Opening::kTested) {
          title += "; " + side->surface.subject + " tests its arguments";
        }
      }
      cells.push_back({pair.standing, std::move(title)});
    }
    maps += figure(comparison, group, std::move(cells));
  }
  return "<div class=\"maps\">" + maps + "</div>\n";
}

std::string call_list(const Comparison& comparison, Standing standing) {
  std::string items;
  for (const std::string& group : groups_of(comparison.calls)) {
    std::string names;
    for (const CallPair& pair : comparison.calls) {
      if (pair.a.group != group || pair.standing != standing) continue;
      names += (names.empty() ? "" : " ") + escaped(pair.a.name);
    }
    if (!names.empty()) {
      items += "<div><dt>" + escaped(group) + "</dt><dd>" + names + "</dd></div>";
    }
  }
  return items.empty() ? "" : "<dl class=\"names\">" + items + "</dl>\n";
}

}  // namespace runner::reach::html
