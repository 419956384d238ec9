// One-shot executions: a container that no list shows, for one execution.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "runner/service/sessions_inner.h"
#include "runner/text.h"

namespace runner {
namespace {

constexpr std::uint64_t kMostContent = std::uint64_t{64} << 20U;

// Stands for an execution whose container is still being made.
class OnceHandle final : public ExecutionHandle {
 public:
  struct State {
    std::unique_ptr<ExecutionHandle> real;
    bool interrupted = false;
    bool paused = false;
  };
  explicit OnceHandle(std::shared_ptr<State> state) : state_(std::move(state)) {}
  void interrupt() override {
    state_->interrupted = true;
    if (state_->real) state_->real->interrupt();
  }
  void pause() override {
    state_->paused = true;
    if (state_->real) state_->real->pause();
  }
  void resume() override {
    state_->paused = false;
    if (state_->real) state_->real->resume();
  }

 private:
  std::shared_ptr<State> state_;
};

void fail(const ExecutionSink& sink, const Refusal& refusal) {
  Finished finished;
  finished.outcome.word = Word::kRefused;
  finished.outcome.text = refusal.text;
  sink(finished);
}

}  // namespace

Answer<std::unique_ptr<ExecutionHandle>> Sessions::execute_once(const Tenant& tenant,
                                                                const OnceWish& wish,
                                                                const ExecutionSink& sink) {
  ContainerWish container;
  container.policy = wish.policy;
  container.language = wish.execute.language;
  container.memory = wish.memory;
  const auto state = std::make_shared<OnceHandle::State>();
  const auto shared = std::make_shared<OnceWish>(wish);
  create(tenant, container, Shown::kNever,
         [this, tenant, shared, state, sink](const Answer<Container>& made) {
           if (!made) return fail(sink, made.error());
           const std::string id = made->id;
           const auto tell = [this, tenant, id, sink,
                              alive = std::weak_ptr(alive_)](const ExecutionEvent& event) {
             const auto* finished = std::get_if<Finished>(&event);
             if (finished == nullptr || alive.expired()) return sink(event);
             const Finished last = with_content(tenant, id, *finished);
             (void)remove(tenant, id);  // so that there is room again when its client hears of it
             sink(last);
           };
           const auto put = [this, tenant, id](const auto& file, const FileDone& done) {
             put_file(tenant, id, file.first, std::make_shared<const std::string>(file.second),
                      done);
           };
           each_in_turn(shared->files, put, [=, this](const Answer<void>& all) {
             auto handle = all ? execute(tenant, id, std::move(shared->execute), tell)
                               : tl::unexpected(all.error());
             if (!handle) {
               (void)remove(tenant, id);
               return fail(sink, handle.error());
             }
             state->real = std::move(*handle);
             if (state->interrupted) state->real->interrupt();
             if (state->paused) state->real->pause();
           });
         });
  return std::make_unique<OnceHandle>(state);
}

// All of it is held in memory, several times over: files that need no room on disk must not need
// any number of gigabytes here.
Finished Sessions::with_content(const Tenant& tenant, const std::string& id, Finished finished) {
  std::uint64_t left = kMostContent;
  std::vector<File> files;
  for (File& file : finished.files) {
    const std::string name = file.path.substr(file.path.find_last_of('/') + 1);
    if (file.bytes > left) {
      finished.skipped.push_back({name, "the files of a one-shot execution may have " +
                                            size_text(jail::Bytes{kMostContent}) +
                                            " in all; use a container"});
      continue;
    }
    if (auto bytes = content(tenant, id, file.id)) {
      left -= std::min<std::uint64_t>(left, bytes->size());
      file.content = std::move(*bytes);
    }
    files.push_back(std::move(file));
  }
  finished.files = std::move(files);
  return finished;
}

}  // namespace runner
