// What the files of Sessions share: sessions.cc (containers and their time), session_kits.cc
// (policies in use, and the idle interpreters ahead of those who will want one), session_files.cc.
// Theirs alone.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runner/service/sessions.h"

namespace runner {

inline tl::unexpected<Refusal> too_many(std::string text) {
  return tl::unexpected(
      Refusal{Refusal::Kind::kTooMany, std::move(text), "", std::chrono::seconds(5)});
}

// What a client may know of our own failure: no path of the host.
inline Refusal unavailable(const Error& error) {
  std::string text = "no session can be started here";
  if (error.setup) text += ": " + jail::describe(*error.setup, nullptr);
  return Refusal{Refusal::Kind::kUnavailable, text, "", std::chrono::seconds(5)};
}

template <class T, class IdOf>
Answer<Listing<T>> page_of(std::vector<T> all, const Page& page, const IdOf& id_of) {
  if (page.limit < 1 || page.limit > 100)
    return refuse(Refusal::Kind::kInvalid, "limit must be from 1 to 100", "limit");
  if (page.order == Page::Order::kDescending) std::reverse(all.begin(), all.end());
  auto begin = all.begin();
  if (!page.after.empty()) {
    begin = std::find_if(all.begin(), all.end(),
                         [&](const T& one) { return id_of(one) == page.after; });
    if (begin == all.end()) return refuse(Refusal::Kind::kInvalid, "after: no such id", "after");
    ++begin;
  }
  Listing<T> listing;
  const auto left = static_cast<std::size_t>(all.end() - begin);
  const std::size_t count = std::min(left, page.limit);
  listing.has_more = left > count;
  listing.data.assign(std::make_move_iterator(begin),
                      std::make_move_iterator(begin + static_cast<std::ptrdiff_t>(count)));
  return listing;
}

// Puts one file after the other in; `done` hears once, of the first that failed or of the end.
template <class T, class Put>
void each_in_turn(std::vector<T> files, Put put, std::function<void(Answer<void>)> done) {
  struct Turn : std::enable_shared_from_this<Turn> {
    std::vector<T> files;
    Put put;
    std::function<void(Answer<void>)> done;
    std::size_t next = 0;
    Turn(std::vector<T> files_in, Put put_in, std::function<void(Answer<void>)> done_in)
        : files(std::move(files_in)), put(std::move(put_in)), done(std::move(done_in)) {}
    void go() {
      if (next == files.size()) return done({});
      put(files[next++], [self = this->shared_from_this()](const Answer<File>& answer) {
        if (!answer) return self->done(tl::unexpected(answer.error()));
        self->go();
      });
    }
  };
  std::make_shared<Turn>(std::move(files), std::move(put), std::move(done))->go();
}

struct Sessions::Kit {
  std::shared_ptr<const SessionPlan> plan;
  std::unique_ptr<PrototypeKeeper> prototype;
  std::unique_ptr<PrototypeKeeper> heir;  // is being started, to follow it
  std::size_t joined = 0;                 // payloads of it
  Starting starting;
  std::vector<std::unique_ptr<Interpreter>> warm;
  std::deque<Waiting> waiting;
  std::deque<std::pair<Waiting, std::unique_ptr<Interpreter>>> given;  // in the loop's next turn
  bool refilling = false;
  std::size_t opening = 0;  // containers that are being made
  std::size_t running = 0;  // that have been, and are neither expired nor deleted

  // Whoever waits holds the kit, which so would hold itself; and nothing of it outlives the
  // launcher.
  void empty() {
    (void)std::exchange(waiting, {});
    given.clear();
    starting.clear();
    warm.clear();
    prototype.reset();
    heir.reset();
  }
};

struct Sessions::Entry {
  Container info;
  Tenant tenant;
  std::shared_ptr<Kit> kit;
  std::shared_ptr<const SessionPlan> plan;
  std::shared_ptr<Session> session;
  Shown shown = Shown::kListed;
  Steady idle_until;
  Steady dies_at;
  Steady expired_at;
  std::int64_t clock_offset = 0;  // of the wall clock, in seconds, when expires_at was told
  std::uint64_t order = 0;
};

}  // namespace runner
