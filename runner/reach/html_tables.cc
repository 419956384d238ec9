// The tables of the page: each with a caption and headers that a screen reader can use.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "runner/reach/html_parts.h"
#include "runner/text.h"

namespace runner::reach::html {
namespace {

// A table may be wider than a telephone: then it scrolls by itself, by keyboard too.
std::string framed(const std::string& caption, const std::string& head, const std::string& body,
                   const char* kind) {
  return std::string("<div class=\"frame\" role=\"region\" tabindex=\"0\" aria-label=\"") +
         escaped(caption) + "\"><table class=\"" + kind + "\"><caption>" + escaped(caption) +
         "</caption><thead><tr>" + head + "</tr></thead><tbody>" + body +
         "</tbody></table></div>\n";
}

std::string column(const std::string& text, const char* kind = "") {
  return "<th scope=\"col\"" +
         (*kind == 0 ? std::string() : std::string(" class=\"") + kind + '"') + ">" +
         escaped(text) + "</th>";
}

std::string subjects(const Comparison& comparison) {
  return column(comparison.a.surface.subject, "a") + column(comparison.b.surface.subject, "b");
}

const char* verdict_class(const std::optional<Row>& row) {
  if (!row) return "none";
  switch (row->got.verdict) {
    case Verdict::kReached:
      return "reached";
    case Verdict::kBlocked:
      return "blocked";
    case Verdict::kInconclusive:
      break;
  }
  return "none";
}

std::string stopper(const Stopped& stopped) {
  std::string text = layers_text(stopped.layers);
  switch (stopped.evidence) {
    case Evidence::kAlone:
      return text + (stopped.layers.size() > 1 ? " (each alone)" : "");
    case Evidence::kSeen:
    case Evidence::kExpected:
      return text + " (" + std::string(evidence_text(stopped.evidence)) + ")";
    case Evidence::kNone:
      break;
  }
  return text;
}

std::string verdict_cell(const std::optional<Row>& row, const Stopped& stopped) {
  std::string text = "not run";
  if (row) text = std::string(verdict_text(row->got.verdict));
  std::string cell =
      std::string("<td class=\"") + verdict_class(row) + "\"><strong>" + text + "</strong>";
  if (const std::string by = stopper(stopped); !by.empty()) {
    cell += "<span class=\"by\">by " + escaped(by) + "</span>";
  }
  if (row && !row->got.detail.empty()) {
    constexpr std::size_t kShown = 160;
    const std::string& detail = row->got.detail;
    cell += "<small>" + escaped(detail.substr(0, kShown)) +
            (detail.size() > kShown ? "&hellip;" : "") + "</small>";
  }
  return cell + "</td>";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string layer_matrix(const Comparison& comparison, Standing standing) {
  std::map<Category, std::map<Layer, std::size_t>> counts;
  std::map<Category, std::size_t> totals;
  std::set<Layer> layers;
  std::size_t most = 1;
  std::size_t all = 0;
  for (const ProbePair& pair : comparison.probes) {
    if (pair.standing != standing) continue;
    ++totals[pair.probe->category];
    ++all;
    const Stopped& by = standing == Standing::kOnlyB ? pair.stopped_a : pair.stopped_b;
    std::vector<Layer> stoppers = by.layers;
    if (stoppers.empty()) stoppers.push_back(Layer::kNone);
    for (const Layer layer : stoppers) {
      layers.insert(layer);
      most = std::max(most, ++counts[pair.probe->category][layer]);
    }
  }
  if (all == 0) return "";
  std::string head = column("");
  for (const Layer layer : layers) {
    head += column(layer == Layer::kNone ? "not found out" : std::string(layer_text(layer)));
  }
  head += column("probes");
  std::string body;
  for (const auto& [category, of_layer] : counts) {
    body += "<tr><th scope=\"row\">" + escaped(category_text(category)) + "</th>";
    for (const Layer layer : layers) {
      const auto found = of_layer.find(layer);
      if (found == of_layer.end()) {
        body += "<td class=\"zero\">&middot;</td>";
        continue;
      }
      // 8 to 40 of a hundred parts of colour: the figure stays readable on it.
      const std::size_t tint = 8 + 32 * found->second / most;
      body += "<td style=\"--n:" + std::string(tint < 10 ? "0.0" : "0.") + std::to_string(tint) +
              "\">" + std::to_string(found->second) + "</td>";
    }
    body += "<td class=\"sum\">" + std::to_string(totals[category]) + "</td></tr>";
  }
  const bool forward = standing == Standing::kOnlyB;
  const Side& closes = forward ? comparison.a : comparison.b;
  const Side& opens = forward ? comparison.b : comparison.a;
  return framed("Stopped by " + closes.surface.subject + ", reached in " + opens.surface.subject,
                head, body, forward ? "matrix" : "matrix reverse");
}

std::string line_table(const Comparison& comparison, const std::vector<Line>& lines,
                       const std::string& caption) {
  std::string body;
  for (const Line& line : lines) {
    body += line.differs() ? "<tr class=\"differs\">" : "<tr>";
    body += "<th scope=\"row\">" + escaped(line.name) +
            (line.differs() ? " <span class=\"mark\">differs</span>" : "") + "</th><td>" +
            escaped(line.a) + "</td><td>" + escaped(line.b) + "</td></tr>";
  }
  return framed(caption, column("") + subjects(comparison), body, "lines");
}

std::string probe_table(const Comparison& comparison) {
  std::string body;
  const Category* last = nullptr;
  for (const ProbePair& pair : comparison.probes) {
    const Probe& p = *pair.probe;
    if (last == nullptr || *last != p.category) {
      body += "</tbody><tbody><tr class=\"category\"><th scope=\"rowgroup\" colspan=\"3\">" +
              escaped(category_text(p.category)) + "</th></tr>";
    }
    last = &p.category;
    const bool differs = pair.standing == Standing::kOnlyA || pair.standing == Standing::kOnlyB;
    body += std::string("<tr id=\"probe-") + escaped(p.id) + "\"" +
            (differs ? " class=\"differs\"" : "") + "><th scope=\"row\"><code>" + escaped(p.id) +
            "</code> " + escaped(p.name) + (differs ? " <span class=\"mark\">differs</span>" : "") +
            "<small>" + escaped(p.tries) + "</small><small class=\"source\">" + escaped(p.source) +
            "</small></th>" + verdict_cell(pair.a, pair.stopped_a) +
            verdict_cell(pair.b, pair.stopped_b) + "</tr>";
  }
  return framed("What each tries, and what came of it", column("probe") + subjects(comparison),
                body, "probes");
}

}  // namespace runner::reach::html
