#include <algorithm>
#include <array>
#include <map>

#include "jail/error.h"
#include "runner/reach/report.h"
#include "runner/text.h"

namespace runner::reach {
namespace {

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string counted(std::size_t n, const std::string& thing) {
  return std::to_string(n) + " " + thing + (n == 1 ? "" : "s");
}

class Text {
 public:
  Text(const Report& report, Colours colours) : report_(report), colours_(colours) {}

  std::string all() {
    for (const Category category : kCategories) section(category);
    findings();
    summary();
    return std::move(text_);
  }

 private:
  std::string paint(const char* code, const std::string& text) const {
    return colours_ == Colours::kOn ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
  }

  std::string mark(const Row& row) const {
    const std::string word = padded(std::string(verdict_text(row.got.verdict)), 12);
    if (row.is_wrong()) return paint("31", word);
    return row.got.verdict == Verdict::kBlocked ? paint("32", word) : word;
  }

  std::string layers(const Row& row) {
    const Stopped by = stopped(row);
    if (by.evidence == Evidence::kNone) return "";
    if (by.evidence != Evidence::kAlone) {
      guessed_ = true;
      return "  [" + std::string(evidence_text(by.evidence)) + ": " + layers_text(by.layers) + "]";
    }
    const std::size_t n = by.layers.size();
    std::string text = "by no layer alone";
    if (n > 0)
      text = std::to_string(n) + (n == 1 ? " layer: " : " layers, each alone: ") +
             layers_text(by.layers);
    if (row.why->together) text += n > 0 ? "; without these, others together" : ", by several";
    return "  [" + text + "]";
  }

  void section(Category category) {
    bool headed = false;
    for (const Row& row : report_.rows) {
      if (row.probe->category != category) continue;
      if (!headed) text_ += paint("1", std::string(category_text(category))) + "\n";
      headed = true;
      line(row);
    }
  }

  void line(const Row& row) {
    text_ += "  " + padded(std::string(row.probe->id), 5) + mark(row) +
             padded(std::string(row.probe->name), 25);
    std::string detail = row.got.detail;
    if (row.got.error != 0) detail += " (" + jail::errno_name(row.got.error) + ")";
    text_ += detail + paint("2", layers(row));
    if (row.control && !row.is_proven() && row.got.verdict != Verdict::kReached)
      text_ += paint("2", "  [unproven: without a sandbox " +
                              std::string(verdict_text(row.control->verdict)) + " too]");
    text_ += "\n";
  }

  void findings() {
    for (const Row& row : report_.rows) {
      if (!row.is_wrong()) continue;
      text_ += paint("31", "\n" + std::string(row.probe->id) + " " + std::string(row.probe->name) +
                               " is " + std::string(verdict_text(row.got.verdict)) +
                               ", expected: " + std::string(verdict_text(*row.expected))) +
               "\n  it " + std::string(row.probe->tries) +
               "\n  stands for: " + std::string(row.probe->source) +
               "\n  came of it: " + row.got.detail + "\n";
    }
  }

  void depths() {
    std::map<std::size_t, std::size_t> depths;
    for (const Row& row : report_.rows)
      if (row.why) ++depths[row.why->stopped_by.size()];
    if (depths.empty()) return;
    text_ += "stopped by this many layers, each of which is enough:";
    for (const auto& [layers, probes] : depths)
      text_ += "  " + std::to_string(layers) + ": " + std::to_string(probes) +
               (probes == 1 ? " probe" : " probes");
    text_ += "\n";
    std::map<std::string_view, std::size_t> untried;
    for (const Row& row : report_.rows)
      if (row.why)
        for (const Layer layer : row.why->untried) ++untried[layer_text(layer)];
    for (const auto& [layer, probes] : untried)
      text_ += "not tried alone: " + std::string(layer) + ", for " + std::to_string(probes) +
               (probes == 1 ? " probe\n" : " probes\n");
  }

  [[nodiscard]] bool has_mute_control() const {
    return std::any_of(report_.rows.begin(), report_.rows.end(), [](const Row& row) {
      return row.control && row.control->verdict == Verdict::kInconclusive;
    });
  }

  void summary() {
    const Counts counts = count(report_);
    text_ += "\n" + paint("1", printable(report_.subject)) + ", by " + report_.mode + ": " +
             counted(report_.rows.size(), "probe") + " in " +
             duration_text(jail::Millis(report_.elapsed.count())) + "; " +
             std::to_string(counts.blocked) + " blocked, " + std::to_string(counts.reached) +
             " reached, " + std::to_string(counts.inconclusive) + " inconclusive\n";
    if (counts.unproven > 0)
      text_ += std::to_string(counts.unproven) +
               " of those blocked prove nothing here: without a sandbox they did not get through "
               "either" +
               (has_mute_control() ? ", or gave no answer" : "") + "\n";
    if (guessed_)
      text_ +=
          "seen: this layer refused something of the probe's; expected: the catalogue's word; "
          "--why tries each layer alone\n";
    depths();
    for (const std::string& note : report_.notes) text_ += printable(note) + "\n";
    if (counts.holes > 0)
      text_ += paint("31", std::to_string(counts.holes) + " reached that must be blocked") + "\n";
    else if (counts.wrong > 0)
      text_ += paint("31", std::to_string(counts.wrong) + " not as expected") + "\n";
    else if (std::any_of(report_.rows.begin(), report_.rows.end(),
                         [](const Row& row) { return row.expected.has_value(); }))
      text_ += paint("32", "all as expected") + "\n";
    else
      text_ += "nothing is declared for this subject: compare it with a shipped policy\n";
  }

  const Report& report_;
  Colours colours_;
  std::string text_;
  bool guessed_ = false;  // a layer was named that was not tried alone
};

}  // namespace

std::string report_text(const Report& report, Colours colours) {
  return Text(report, colours).all();
}

}  // namespace runner::reach
