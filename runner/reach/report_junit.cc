// The form that continuous integration reads: one <testcase> a probe.
#include <algorithm>
#include <sstream>

#include "runner/reach/report.h"
#include "runner/text.h"

namespace runner::reach {
namespace {

// XML 1.0 has no place for most control characters, escaped or not; printable() leaves none.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void test_case(std::ostringstream& out, const Report& report, const Row& row) {
  const Probe& probe = *row.probe;
  out << "  <testcase classname=\"sandglass." << escaped(report.subject) << '.'
      << category_text(probe.category) << "\" name=\"" << probe.id << ' ' << probe.name << '"';
  if (row.is_unanswered()) {
    out << ">\n    <error message=\"no answer\">" << escaped(row.got.detail)
        << "</error>\n  </testcase>\n";
    return;
  }
  if (!row.is_wrong()) {
    out << "/>\n";
    return;
  }
  out << ">\n    <failure message=\"" << verdict_text(row.got.verdict) << ", expected "
      << verdict_text(*row.expected) << "\">" << escaped(row.got.detail) << "; it "
      << escaped(probe.tries) << " (" << escaped(probe.source) << ")</failure>\n  </testcase>\n";
}

}  // namespace

std::string report_junit(const Report& report) {
  const Counts counts = count(report);
  const auto errors = std::count_if(report.rows.begin(), report.rows.end(),
                                    [](const Row& row) { return row.is_unanswered(); });
  const auto ms = report.elapsed.count();
  std::ostringstream out;
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"sandglass probe "
      << escaped(report.subject) << ' ' << report.mode << "\" tests=\"" << report.rows.size()
      << "\" failures=\"" << counts.wrong << "\" errors=\"" << errors << "\" time=\"" << ms / 1000
      << '.' << (ms % 1000) / 100 << "\">\n";
  for (const Row& row : report.rows) test_case(out, report, row);
  out << "</testsuite>\n";
  return out.str();
}

}  // namespace runner::reach
