#include "runner/reach/html.h"

#include "runner/reach/compare_text.h"
#include "runner/reach/html_parts.h"

namespace runner::reach {
namespace {

using html::escaped;

std::string name_of(const Side& side) { return escaped(side.surface.subject); }

std::string section(const std::string& title, const std::string& lead, const std::string& content) {
  return "<section><h2>" + title + "</h2>\n" + (lead.empty() ? "" : "<p>" + lead + "</p>\n") +
         content + "</section>\n";
}

std::string bar(const Side& side, const char* kind, std::size_t part, std::size_t whole) {
  const std::size_t permille = whole == 0 ? 0 : 1000 * part / whole;
  return std::string("<div class=\"bar\"><span class=\"who ") + kind + "\">" + name_of(side) +
         "</span><span class=\"track " + kind + "\" aria-hidden=\"true\"><span class=\"fill\" " +
         "style=\"--w:" + std::to_string(permille / 10) + "." + std::to_string(permille % 10) +
         "%\"></span></span><span class=\"n\">" + std::to_string(part) + "</span></div>";
}

std::string bars(const Comparison& c) {
  const auto reachable = [](const Side& side) {
    return static_cast<std::size_t>(count_reachable(side.surface));
  };
  std::string text = "<div class=\"bars\"><div><h2>System calls in reach <small>of " +
                     std::to_string(c.calls.size()) + "</small></h2>" +
                     bar(c.a, "a", reachable(c.a), c.calls.size()) +
                     bar(c.b, "b", reachable(c.b), c.calls.size()) + "</div>";
  if (c.a.report && c.b.report) {
    const std::size_t of_a = c.a.report->rows.size();
    const std::size_t of_b = c.b.report->rows.size();
    text += "<div><h2>Probes that reach <small>of " + std::to_string(of_a) +
            (of_a == of_b ? "" : " and " + std::to_string(of_b) + " that were tried") +
            "</small></h2>" + bar(c.a, "a", count(*c.a.report).reached, of_a) +
            bar(c.b, "b", count(*c.b.report).reached, of_b) + "</div>";
  }
  return text + "</div>\n";
}

std::string head(const Comparison& c) {
  const std::string title = name_of(c.a) + " against " + name_of(c.b);
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>" + title +
         " &middot; Sandglass</title>\n<meta name=\"viewport\" content=\"width=device-width, "
         "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
         "<link rel=\"icon\" href=\"data:,\">\n<style>" +
         html::kStyle +
         "</style></head>\n<body>\n<header><p class=\"eyebrow\">Sandglass &middot; "
         "what code can reach</p>\n<h1><span class=\"a\">" +
         name_of(c.a) + "</span> <span class=\"against\">against</span> <span class=\"b\">" +
         name_of(c.b) + "</span></h1>\n<p class=\"lede\">" + escaped(compare_summary(c)) +
         "</p>\n" + bars(c) + "</header>\n<main>\n";
}

std::string probes(const Comparison& c) {
  if (c.probes.empty()) return "";
  return section("Probes",
                 "Each shape is one small act that code in a sandbox might try. Those that reach "
                 "in one and are stopped in the other are large.",
                 html::legend(c, tally(c.probes)) + html::probe_maps(c)) +
         section("What stops them",
                 "A probe that several layers stop counts under each. In the list of probes below, "
                 "&ldquo;seen&rdquo;: this layer refused something of the probe&rsquo;s; "
                 "&ldquo;expected&rdquo;: the catalogue&rsquo;s word, not found out by trying each "
                 "layer alone.",
                 html::layer_matrix(c, Standing::kOnlyB) + html::layer_matrix(c, Standing::kOnlyA));
}

std::string calls(const Comparison& c) {
  std::string lists;
  for (const Standing standing : {Standing::kOnlyB, Standing::kOnlyA}) {
    const std::string list = html::call_list(c, standing);
    if (list.empty()) continue;
    lists += "<h3>" + escaped(html::standing_phrase(c, standing)) + "</h3>" + list;
  }
  return section("System calls",
                 "Each shape is one system call of the kernel, in the set of syscalls.toml that "
                 "first lists it: whether the filter can let it through, with any arguments.",
                 html::legend(c, tally(c.calls)) + html::call_maps(c) + lists);
}

std::string foot(const Comparison& c, const Stamp& stamp) {
  std::string notes;
  for (const Side* side : {&c.a, &c.b}) {
    for (const std::string& note : side->surface.notes) {
      notes += "<p>" + name_of(*side) + ": " + escaped(note) + "</p>";
    }
    if (!side->report) continue;
    for (const std::string& note : side->report->notes) {
      notes += "<p>" + name_of(*side) + ": " + escaped(note) + "</p>";
    }
  }
  return "</main>\n<footer>" + notes +
         "<p>System calls, paths and limits of a policy are read off what the kernel would be "
         "told; those of another sandbox are found from inside it. A probe shows that one act "
         "gets through or does not, on this host. It proves nothing about faults of the kernel "
         "itself or about side channels.</p><p>Sandglass " +
         escaped(stamp.version) + " on " + escaped(stamp.kernel) + ", " + escaped(stamp.time) +
         "</p></footer>\n</body></html>\n";
}

}  // namespace

std::string compare_html(const Comparison& c, const Stamp& stamp) {
  std::string page = head(c) + probes(c) + calls(c);
  page += section("What code can ask for", "By the filter alone; other layers may still refuse.",
                  html::line_table(c, act_lines(c), "Acts, and the calls that do them"));
  page += section("What it can touch", "",
                  html::line_table(c, other_lines(c), "Files, network, processes, rights") +
                      html::line_table(c, limit_lines(c), "Limits in force"));
  if (!c.probes.empty()) page += section("All probes", "", html::probe_table(c));
  return page + foot(c, stamp);
}

}  // namespace runner::reach
