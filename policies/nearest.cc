#include "policies/nearest.h"

#include <algorithm>
#include <vector>

namespace policies {
namespace {

// Insertions, deletions, substitutions and swaps of neighbours that turn a into b.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> known) {
  word = word.substr(0, 64);
  std::size_t best = std::clamp<std::size_t>(word.size() / 3, 1, 3);
  std::string found;
  for (const std::string& k : known) {
    const std::size_t d = distance(word, k);
    if (d < best || (d == best && found.empty())) {
      best = d;
      found = k;
    }
  }
  return found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string found = nearest(word, known);
  return found.empty() ? std::string() : "; did you mean \"" + found + "\"?";
}

std::string join(std::span<const std::string> words) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : ", ") + w;
  return all;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string shown;
  for (const char c : text.substr(0, kShown)) shown += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > kShown) shown += "...";
  return shown;
}

}  // namespace policies
