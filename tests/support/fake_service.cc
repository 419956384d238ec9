#include "tests/support/fake_service.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstdio>

namespace support {
namespace {

constexpr std::size_t kPiece = std::size_t{64} * 1024;

std::string id_of(const char* prefix, std::uint64_t number) {
  char text[64];
  std::snprintf(text, sizeof text, "%s%032llx", prefix, static_cast<unsigned long long>(number));
  return text;
}

tl::unexpected<Refusal> refused(Refusal::Kind kind, std::string text, std::string param = "") {
  return tl::unexpected<Refusal>(Refusal{kind, std::move(text), std::move(param)});
}

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

template <class T, class IdOf>
Answer<Listing<T>> page_of(std::vector<T> all, const Page& page, const IdOf& id_of_item) {
  if (page.order == Page::Order::kDescending) std::reverse(all.begin(), all.end());
  auto from = all.begin();
  if (!page.after.empty()) {
    from = std::find_if(all.begin(), all.end(),
                        [&](const T& item) { return id_of_item(item) == page.after; });
    if (from == all.end()) return refused(Refusal::Kind::kInvalid, "no such 'after'", "after");
    ++from;
  }
  Listing<T> listing;
  for (; from != all.end() && listing.data.size() < page.limit; ++from) {
    listing.data.push_back(std::move(*from));
  }
  listing.has_more = from != all.end();
  return listing;
}

}  // namespace

// Does one word of the script a turn of the loop.
class FakeService::Run : public std::enable_shared_from_this<FakeService::Run> {
 public:
  Run(FakeService& service, const std::string& script, ExecutionSink sink)
      : service_(service), alive_(service.alive_), sink_(std::move(sink)) {
    std::size_t from = 0;
    while (from <= script.size()) {
      const std::size_t end = std::min(script.find(';', from), script.size());
      words_.push_back(script.substr(from, end - from));
      from = end + 1;
    }
  }

  void begin(std::uint64_t number, const std::string& container) {
    container_ = container;
    post([this, number] {
      tell(Begun{id_of("exec_", number), number});
      next();
    });
  }
  void interrupt() {
    ++service_.interrupts;
    if (is_over_) return;
    finish(Word::kInterrupted);
  }
  void pause() { is_paused_ = true; }
  void resume() {
    is_paused_ = false;
    post([this] { next(); });
  }
  void let_go() {
    sink_ = nullptr;
    is_paused_ = false;
  }
  [[nodiscard]] bool is_over() const { return is_over_; }
  void add_file(const File& file) { files_.push_back(file); }

 private:
  void post(std::function<void()> what) {
    if (alive_.expired()) return;
    boost::asio::post(service_.loop_,
                      [self = shared_from_this(), what = std::move(what)] { what(); });
  }
  void tell(const ExecutionEvent& event) {
    if (sink_) sink_(event);
  }
  void finish(Word word) {
    if (is_over_) return;
    is_over_ = true;
    ++service_.finished;
    Finished end;
    end.outcome.word = word;
    end.outcome.state_preserved = true;
    end.outcome.usage = {jail::Millis{3}, jail::Millis{2}, jail::mib(9), jail::Enforcer::kCgroupV1};
    end.denied = {{"socket", "AF_INET", 1, "network", ""}};
    end.files = files_;
    end.skipped = {{"pipe", "a FIFO"}};
    end.expires_at = 1'700'001'200;
    tell(end);
  }
  void next() {
    if (is_over_ || is_paused_ || is_hanging_) return;
    if (flood_left_ > 0) {
      --flood_left_;
      service_.produced += kPiece;
      tell(Output{Output::To::kOut, std::string(kPiece, 'x')});
      return post([this] { next(); });
    }
    if (words_.empty()) return finish(word_);
    const std::string word = words_.front();
    words_.pop_front();
    perform(word.substr(0, word.find(' ')),
            word.find(' ') == std::string::npos ? "" : word.substr(word.find(' ') + 1));
    post([this] { next(); });
  }
  void perform(const std::string& verb, const std::string& rest) {
    if (verb == "print") tell(Output{Output::To::kOut, rest + "\n"});
    if (verb == "err") tell(Output{Output::To::kErr, rest + "\n"});
    if (verb == "bytes") tell(Output{Output::To::kOut, from_hex(rest)});
    if (verb == "flood") flood_left_ = std::stoull(rest) * 16;
    if (verb == "hang") {
      is_hanging_ = true;
      ++service_.hanging;
    }
    if (verb == "result") {
      tell(Rich{true,
                {{"text/plain", "2"},
                 {"application/json", "{\"a\": [1]}"},
                 {"image/png", "iVBORw0KGgo="},
                 {"text/x-other", "o"}}});
    }
    if (verb == "raise") {
      word_ = Word::kRaised;
      tell(Raised{rest, "it went wrong", "Traceback ..."});
    }
    if (verb == "file") {
      File file{
          id_of("cfile_", 9999),    container_,          "/mnt/data/" + rest, 3, 1'700'000'000,
          File::Source::kAssistant, std::string(64, 'a')};
      if (container_.empty()) file.content = "abc";
      files_.push_back(file);
    }
  }

  FakeService& service_;
  std::weak_ptr<char> alive_;
  ExecutionSink sink_;
  std::deque<std::string> words_;
  std::string container_;
  std::vector<File> files_;
  std::uint64_t flood_left_ = 0;
  Word word_ = Word::kOk;
  bool is_paused_ = false;
  bool is_hanging_ = false;
  bool is_over_ = false;
};

namespace {

class Handle final : public ExecutionHandle {
 public:
  explicit Handle(std::shared_ptr<FakeService::Run> run) : run_(std::move(run)) {}
  ~Handle() override {
    run_->let_go();
    run_->resume();
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle(Handle&&) = delete;
  Handle& operator=(Handle&&) = delete;
  void interrupt() override { run_->interrupt(); }
  void pause() override { run_->pause(); }
  void resume() override { run_->resume(); }

 private:
  std::shared_ptr<FakeService::Run> run_;
};

}  // namespace

void FakeService::create(const Tenant& tenant, const ContainerWish& wish, ContainerDone done) {
  if (makes_none) return;
  if (wish.name == "full") {
    Refusal refusal{Refusal::Kind::kTooMany, "there are as many containers as may be", ""};
    refusal.retry_after = std::chrono::seconds(7);
    boost::asio::post(loop_, [done, refusal] { done(tl::unexpected<Refusal>(refusal)); });
    return;
  }
  Box box;
  box.tenant = tenant;
  Container& container = box.container;
  container.id = id_of("cntr_", ++made_);
  container.name = wish.name;
  container.policy = wish.policy.value_or("standard");
  container.language = wish.language.value_or("python");
  container.created_at = 1'700'000'000;
  container.last_active_at = 1'700'000'000;
  container.idle = wish.idle.value_or(std::chrono::minutes(20));
  container.expires_at = container.last_active_at + container.idle.count() * 60;
  container.memory = wish.memory.value_or(jail::mib(1024));
  boxes_[container.id] = box;
  boost::asio::post(loop_, [done, container] { done(container); });
}

Answer<FakeService::Box*> FakeService::open(const Tenant& tenant, std::string_view id) {
  const auto found = boxes_.find(id);
  if (found == boxes_.end() || found->second.tenant != tenant) {
    return refused(Refusal::Kind::kNotFound,
                   "Container with id '" + std::string(id) + "' not found.");
  }
  if (found->second.container.status == Container::Status::kExpired) {
    return refused(Refusal::Kind::kExpired, "");
  }
  return &found->second;
}

Answer<Container> FakeService::find(const Tenant& tenant, std::string_view id) {
  return open(tenant, id).map([](const Box* box) { return box->container; });
}

Answer<Listing<Container>> FakeService::list(const Tenant& tenant, const Page& page,
                                             std::string_view name) {
  std::vector<Container> all;
  for (const auto& [id, box] : boxes_) {
    const bool fits = name.empty() || box.container.name == name;
    if (box.tenant == tenant && fits) all.push_back(box.container);
  }
  return page_of(std::move(all), page, [](const Container& c) { return c.id; });
}

Answer<void> FakeService::remove(const Tenant& tenant, std::string_view id) {
  const auto box = open(tenant, id);
  if (!box) return tl::unexpected(box.error());
  boxes_.erase(boxes_.find(id));
  return {};
}

Answer<std::unique_ptr<ExecutionHandle>> FakeService::run(Box* box, const ExecuteWish& wish,
                                                          ExecutionSink sink) {
  auto run = std::make_shared<Run>(*this, wish.code, std::move(sink));
  if (box != nullptr) box->running = run;
  run->begin(box == nullptr ? 1 : ++box->number, box == nullptr ? "" : box->container.id);
  return std::make_unique<Handle>(run);
}

Answer<std::unique_ptr<ExecutionHandle>> FakeService::execute(const Tenant& tenant,
                                                              std::string_view id, ExecuteWish wish,
                                                              ExecutionSink sink) {
  const auto box = open(tenant, id);
  if (!box) return tl::unexpected(box.error());
  return run(*box, wish, std::move(sink));
}

Answer<std::unique_ptr<ExecutionHandle>> FakeService::execute_once(const Tenant& tenant,
                                                                   const OnceWish& wish,
                                                                   const ExecutionSink& sink) {
  if (wish.policy == "none") return Service::execute_once(tenant, wish, sink);
  return run(nullptr, wish.execute, sink);
}

Answer<void> FakeService::interrupt(const Tenant& tenant, std::string_view id) {
  const auto box = open(tenant, id);
  if (!box) return tl::unexpected(box.error());
  const auto run = (*box)->running.lock();
  if (!run || run->is_over()) return refused(Refusal::Kind::kInvalid, "nothing runs");
  boost::asio::post(loop_, [run] { run->interrupt(); });
  return {};
}

Answer<File> FakeService::put(const Tenant& tenant, std::string_view id, const std::string& name,
                              const std::string& content) {
  const auto box = open(tenant, id);
  if (!box) return tl::unexpected(box.error());
  File file{id_of("cfile_", ++made_), std::string(id), "/mnt/data/" + name,
            content.size(),           1'700'000'000,   File::Source::kUser,
            std::string(64, 'b')};
  (*box)->files.emplace_back(file, content);
  return file;
}

void FakeService::put_file(const Tenant& tenant, std::string_view id, const std::string& name,
                           Content content, FileDone done) {
  boost::asio::post(
      loop_, [done = std::move(done), answer = put(tenant, id, name, *content)] { done(answer); });
}

void FakeService::copy_file(const Tenant& tenant, std::string_view id, std::string_view file_id,
                            const FileDone& done) {
  const auto box = open(tenant, id);
  if (!box) return done(tl::unexpected(box.error()));
  for (auto& [other_id, other] : boxes_) {
    if (other.tenant != tenant) continue;
    for (auto& [file, content] : other.files) {
      if (file.id == file_id) {
        return done(put(tenant, id, file.path.substr(std::string("/mnt/data/").size()),
                        std::string(content)));
      }
    }
  }
  Service::copy_file(tenant, id, file_id, done);
}

Answer<Listing<File>> FakeService::files(const Tenant& tenant, std::string_view id,
                                         const Page& page) {
  const auto box = open(tenant, id);
  if (!box) return tl::unexpected(box.error());
  std::vector<File> all;
  for (const auto& entry : (*box)->files) all.push_back(entry.first);
  return page_of(std::move(all), page, [](const File& file) { return file.id; });
}

Answer<std::pair<File, std::string>*> FakeService::open_file(const Tenant& tenant,
                                                             std::string_view id,
                                                             std::string_view file_id) {
  const auto box = open(tenant, id);
  if (!box) return tl::unexpected(box.error());
  for (auto& entry : (*box)->files) {
    if (entry.first.id == file_id) return &entry;
  }
  return refused(Refusal::Kind::kNotFound,
                 "File with id '" + std::string(file_id) + "' not found.");
}

Answer<File> FakeService::file(const Tenant& tenant, std::string_view id,
                               std::string_view file_id) {
  return open_file(tenant, id, file_id).map([](const auto* entry) { return entry->first; });
}

Answer<File> FakeService::file_at(const Tenant& tenant, std::string_view id,
                                  std::string_view path) {
  const auto box = open(tenant, id);
  if (!box) return tl::unexpected(box.error());
  for (const auto& entry : (*box)->files) {
    if (entry.first.path == path) return entry.first;
  }
  return refused(Refusal::Kind::kNotFound, "there is no file " + std::string(path), "path");
}

Answer<std::string> FakeService::content(const Tenant& tenant, std::string_view id,
                                         std::string_view file_id) {
  return open_file(tenant, id, file_id).map([](const auto* entry) { return entry->second; });
}

Answer<void> FakeService::remove_file(const Tenant& tenant, std::string_view id,
                                      std::string_view file_id) {
  const auto entry = open_file(tenant, id, file_id);
  if (!entry) return tl::unexpected(entry.error());
  auto& files = (*open(tenant, id))->files;
  files.erase(files.begin() + (*entry - files.data()));
  return {};
}

}  // namespace support
