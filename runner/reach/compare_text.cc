#include "runner/reach/compare_text.h"

#include <algorithm>

#include "runner/text.h"

namespace runner::reach {
namespace {

constexpr std::size_t kWidth = 98;
constexpr std::size_t kNameColumn = 50;

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

// At spaces; later lines begin with `indent`.
std::string wrapped(const std::string& text, const std::string& indent) {
  std::string result;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (column > 0 && column + 1 + (end - at) > kWidth) {
      result += "\n" + indent;
      column = indent.size();
    } else if (column > 0) {
      result += ' ';
      ++column;
    }
    result.append(text, at, end - at);
    column += end - at;
    at = end + 1;
  }
  return result;
}

class Text {
 public:
  Text(const Comparison& comparison, Colours colours)
      : c_(comparison),
        colours_(colours),
        a_(printable(comparison.a.surface.subject)),
        b_(printable(comparison.b.surface.subject)) {}

  std::string make() {
    out_ = bold(a_ + " against " + b_) + "\n\n" + wrapped(compare_summary(c_), "") + "\n\n";
    figures();
    probes(Standing::kOnlyB, "stopped by " + a_ + ", reached in " + b_);
    probes(Standing::kOnlyA, "reached in " + a_ + ", stopped by " + b_);
    probes(Standing::kUnclear, "without an answer on one side");
    if (guessed_) {
      out_ += wrapped(
                  "(seen): this layer refused something of the probe's; (expected): the "
                  "catalogue's word; --why tries each layer alone",
                  "") +
              "\n\n";
    }
    calls(Standing::kOnlyB, "system calls that only " + b_ + " leaves open");
    calls(Standing::kOnlyA, "system calls that only " + a_ + " leaves open");
    lines("what it can ask for", act_lines(c_));
    lines("what it can touch", other_lines(c_));
    lines("limits", limit_lines(c_));
    for (const Side* side : {&c_.a, &c_.b}) {
      for (const std::string& note : side->surface.notes) {
        out_ += "note on " + printable(side->surface.subject) + ": " + printable(note) + "\n";
      }
      if (!side->report) continue;
      for (const std::string& note : side->report->notes) {
        out_ += "note on " + printable(side->surface.subject) + ": " + printable(note) + "\n";
      }
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string bold(const std::string& text) const {
    return colours_ == Colours::kOn ? "\x1b[1m" + text + "\x1b[0m" : text;
  }

  void row(const std::string& name, const std::string& a, const std::string& b) {
    out_ += "  " + padded(name, kNameColumn) + padded(a, 24) + b + "\n";
  }

  void figures() {
    row("", a_, b_);
    row("system calls in reach", std::to_string(count_reachable(c_.a.surface)),
        std::to_string(count_reachable(c_.b.surface)) + " of " + std::to_string(c_.calls.size()));
    if (c_.a.report || c_.b.report) row("probes that reach", reached(c_.a), reached(c_.b));
    out_ += "\n";
  }

  static std::string reached(const Side& side) {
    if (!side.report) return "none run";
    return std::to_string(count(*side.report).reached) + " of " +
           std::to_string(side.report->rows.size());
  }

  std::string stopper(const Stopped& stopped) {
    std::string text = layers_text(stopped.layers);
    if (stopped.evidence == Evidence::kNone || stopped.evidence == Evidence::kAlone) return text;
    guessed_ = true;
    return text + " (" + std::string(evidence_text(stopped.evidence)) + ")";
  }

  // Of the first side that gave no answer.
  [[nodiscard]] std::string why_unclear(const ProbePair& pair) const {
    for (const auto& [who, row] : {std::pair(a_, &pair.a), std::pair(b_, &pair.b)}) {
      if (!*row) return "not run in " + who;
      if ((*row)->got.verdict == Verdict::kInconclusive) return (*row)->got.detail;
    }
    return "";
  }

  void probes(Standing standing, const std::string& title) {
    const Category* last = nullptr;
    std::size_t found = 0;
    std::string list;
    for (const ProbePair& pair : c_.probes) {
      if (pair.standing != standing) continue;
      ++found;
      const Probe& p = *pair.probe;
      if (last == nullptr || *last != p.category) {
        list += "  " + std::string(category_text(p.category)) + "\n";
      }
      last = &p.category;
      const Stopped& by = standing == Standing::kOnlyA ? pair.stopped_b : pair.stopped_a;
      list += "    " + padded(std::string(p.id), 6) + padded(std::string(p.name), 36) +
              (standing == Standing::kUnclear ? why_unclear(pair) : stopper(by)) + "\n";
    }
    if (found == 0) return;
    out_ += bold(title + ": " + std::to_string(found)) + "\n" + list + "\n";
  }

  void calls(Standing standing, const std::string& title) {
    std::size_t found = 0;
    std::string list;
    for (const std::string& group : groups_of(c_.calls)) {
      std::string names;
      std::size_t column = 0;
      for (const CallPair& pair : c_.calls) {
        if (pair.standing != standing || pair.a.group != group) continue;
        ++found;
        if (column + pair.a.name.size() + 1 > kWidth - 20) {
          names += "\n" + std::string(19, ' ');
          column = 0;
        }
        names += " " + pair.a.name;
        column += pair.a.name.size() + 1;
      }
      if (!names.empty()) list += "  " + padded(group, 17) + names + "\n";
    }
    if (found == 0) return;
    out_ += bold(title + ": " + std::to_string(found)) + "\n" + list + "\n";
  }

  void lines(const std::string& title, const std::vector<Line>& all) {
    std::string saved = std::move(out_);
    out_.clear();
    for (const Line& raw : all) {
      if (!raw.differs()) continue;
      const Line line{printable(raw.name), printable(raw.a), printable(raw.b)};
      if (line.a.size() < 24) {
        row(line.name, line.a, line.b);
      } else {
        out_ += "  " + line.name + "\n";
        for (const auto& [who, what] : {std::pair(a_, line.a), std::pair(b_, line.b)}) {
          out_ += "    " + wrapped(who + ": " + what, std::string(6, ' ')) + "\n";
        }
      }
    }
    if (!out_.empty()) saved += bold(title) + "\n" + out_ + "\n";
    out_ = std::move(saved);
  }

  const Comparison& c_;
  Colours colours_;
  std::string a_;
  std::string b_;
  std::string out_;
  bool guessed_ = false;  // a layer was named that was not tried alone
};

std::string counted(std::size_t n, const char* thing) {
  return std::to_string(n) + " " + thing + (n == 1 ? "" : "s");
}

// "A stops 3 probes that get through under B and closes 7 system calls that B leaves open."
std::string closes(const std::string& a, const std::string& b, std::size_t probes,
                   std::size_t calls) {
  std::string text = a;
  if (probes > 0)
    text += " stops " + counted(probes, "probe") + " that " + (probes == 1 ? "gets" : "get") +
            " through under " + b;
  if (probes > 0 && calls > 0) text += ", and";
  if (calls > 0) {
    text += " closes " + counted(calls, "system call") + " that " + (probes > 0 ? "it" : b) +
            " leaves open";
  }
  return text + ".";
}

}  // namespace

std::string compare_summary(const Comparison& comparison) {
  const std::string a = printable(comparison.a.surface.subject);
  const std::string b = printable(comparison.b.surface.subject);
  const Tally probes = tally(comparison.probes);
  const Tally calls = tally(comparison.calls);
  std::string text;
  if (probes.only_b + calls.only_b > 0) text = closes(a, b, probes.only_b, calls.only_b);
  if (probes.only_a + calls.only_a > 0) {
    text += (text.empty() ? "" : " ") + closes(b, a, probes.only_a, calls.only_a);
  } else {
    text += (text.empty() ? "" : " ") + std::string("Nothing is open in ") + a + " alone.";
  }
  if (comparison.probes.empty()) text += " No probe was run: this is read off the filters.";
  if (probes.unclear > 0) {
    text += " " + counted(probes.unclear, "probe") + (probes.unclear == 1 ? " has" : " have") +
            " no answer from one side.";
  }
  return text;
}

std::string compare_text(const Comparison& comparison, Colours colours) {
  return Text(comparison, colours).make();
}

}  // namespace runner::reach
