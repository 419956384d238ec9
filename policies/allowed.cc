#include "policies/allowed.h"

#include <algorithm>

#include "jail/syscalls.h"
#include "policies/nearest.h"

namespace policies {
namespace {

template <class T>
bool contains(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Throws AllowError.
class Resolver {
 public:
  Resolver(const Syscalls& syscalls, const SyscallTable& table)
      : syscalls_(syscalls), table_(table) {}

  Allowed resolve() {
    for (const std::string& word : syscalls_.allow) {
      key_ = "syscalls.allow " + word;
      if (word.starts_with('@'))
        allow_set(word);
      else
        allow_call(word);
    }
    for (const std::string& word : syscalls_.deny) {
      key_ = "syscalls.deny " + word;
      deny(word);
    }
    return std::move(allowed_);
  }

 private:
  void allow_set(const std::string& word) {
    const SyscallSet& set = find_set(word);
    // A set that is denied by its own name weakens nothing.
    if (contains(syscalls_.deny, word)) return;
    if (!set.weakens.empty()) weaken(set.weakens);
    for (const SyscallEntry& entry : set.entries) add(entry, word);
  }

  void allow_call(const std::string& word) {
    refuse_never(word);
    number_of(word);
    const auto sets = must(table_.sets_with(word));
    if (sets.empty())
      refuse("\"" + word + "\" is in no set of syscalls.toml; put it into one, with its why");
    std::string weakens = sets.front()->weakens;
    std::vector<std::string> names;
    const SyscallEntry* plain = nullptr;
    bool tested = false;
    for (const SyscallSet* set : sets) {
      names.push_back("\"@" + set->name + '"');
      if (set->weakens.empty()) weakens.clear();
      for (const SyscallEntry& entry : set->entries) {
        if (entry.name != word) continue;
        tested = tested || !entry.alternatives.empty();
        plain = &entry;
      }
    }
    if (tested)
      refuse("\"" + word +
             "\" is allowed with tests on its arguments only; allow a set: " + join(names));
    if (!weakens.empty()) weaken(weakens);
    add(*plain, word);
  }

  void deny(const std::string& word) {
    if (!word.starts_with('@')) {
      allowed_.calls.erase(number_of(word));
      return;
    }
    for (const SyscallEntry& entry : find_set(word).entries) allowed_.calls.erase(entry.number);
  }

  void add(const SyscallEntry& entry, const std::string& word) {
    const auto [place, fresh] = allowed_.calls.try_emplace(entry.number);
    AllowedCall& call = place->second;
    call.words.push_back(word);
    if (fresh) {
      call.name = entry.name;
      call.alternatives = entry.alternatives;
      return;
    }
    if (call.alternatives.empty()) return;  // unconditional already
    if (entry.alternatives.empty()) {
      call.alternatives.clear();
      return;
    }
    for (const Tests& tests : entry.alternatives)
      if (!contains(call.alternatives, tests)) call.alternatives.push_back(tests);
  }

  void weaken(const std::string& what) {
    if (!contains(allowed_.weakenings, what)) allowed_.weakenings.push_back(what);
  }

  const SyscallSet& find_set(const std::string& word) {
    const SyscallSet* set = must(table_.set(word.substr(1)));
    if (set != nullptr) return *set;
    std::vector<std::string> known;
    for (const std::string& name : table_.set_names()) known.push_back('@' + name);
    std::string hint = did_you_mean(word, known);
    if (hint.empty()) hint = "; the sets are " + join(known);
    refuse("there is no set \"" + printable(word) + '"' + hint);
  }

  int number_of(const std::string& word) {
    if (const auto number = jail::syscall_number(word)) return *number;
    const auto names = table_.set_names();
    const bool is_set = contains(names, word);
    refuse("\"" + printable(word) + "\" is not a system call of x86-64" +
           (is_set ? "; write \"@" + word + "\" for the set" : "; sets are written \"@files\""));
  }

  void refuse_never(const std::string& word) {
    for (const NeverEntry& n : *must(table_.never()))
      if (n.name == word)
        refuse("\"" + word + "\" is on the never list: " + n.why + "; no policy may allow it");
  }

  template <class T>
  T must(Result<T> result) {
    if (!result) throw AllowError{"", result.error().text};
    return *result;
  }

  [[noreturn]] void refuse(std::string text) { throw AllowError{key_, std::move(text)}; }

  const Syscalls& syscalls_;
  const SyscallTable& table_;
  Allowed allowed_;
  std::string key_;
};

}  // namespace

tl::expected<Allowed, AllowError> allowed_calls(const Syscalls& syscalls,
                                                const SyscallTable& table) {
  try {
    return Resolver(syscalls, table).resolve();
  } catch (AllowError& e) {
    return tl::unexpected<AllowError>(std::move(e));
  }
}

}  // namespace policies
