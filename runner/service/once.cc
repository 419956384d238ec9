// One-shot executions: a container of the tenant's, for one execution.
#include <boost/asio/post.hpp>
#include <utility>

#include "runner/service/sessions.h"

namespace runner {
namespace {

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
  create(tenant, container, [this, tenant, shared, state, sink](const Answer<Container>& made) {
    if (!made) return fail(sink, made.error());
    const std::string id = made->id;
    for (const auto& [name, content] : shared->files) {
      const auto put = put_file(tenant, id, name, content);
      if (put) continue;
      (void)remove(tenant, id);
      return fail(sink, put.error());
    }
    auto handle = execute(
        tenant, id, std::move(shared->execute), [this, tenant, id, sink](const ExecutionEvent& e) {
          const auto* finished = std::get_if<Finished>(&e);
          if (finished == nullptr) return sink(e);
          Finished with_content = *finished;
          for (File& file : with_content.files)
            if (auto bytes = content(tenant, id, file.id)) file.content = std::move(*bytes);
          sink(with_content);
          boost::asio::post(io_, [this, tenant, id, alive = std::weak_ptr(alive_)] {
            if (!alive.expired()) (void)remove(tenant, id);
          });
        });
    if (!handle) {
      (void)remove(tenant, id);
      return fail(sink, handle.error());
    }
    state->real = std::move(*handle);
    if (state->interrupted) state->real->interrupt();
    if (state->paused) state->real->pause();
  });
  return std::make_unique<OnceHandle>(state);
}

}  // namespace runner
