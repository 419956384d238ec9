// Queues, expiry, quotas and tenants.
#include <catch2/catch.hpp>

#include "tests/sessions/sessions_under_test.h"
#include "tests/support/leftovers.h"

using namespace sessions_test;
using namespace runner;
using namespace std::chrono_literals;
using Status = Container::Status;

namespace {

Status status_of(SessionsUnderTest& test, const std::string& id) {
  const auto listing = test.service->list("", {}, "");  // does not refresh, as find() does
  REQUIRE(listing);
  for (const Container& one : listing->data)
    if (one.id == id) return one.status;
  FAIL("not listed");
  return Status::kExpired;
}

}  // namespace

TEST_CASE("executions wait in order, sixteen of them, and the next is refused") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const auto first = test.begin(id, {"import time; time.sleep(0.5); n = []"});
  test.until([&] { return first->order == "begin"; });
  std::vector<std::shared_ptr<Told>> told;
  told.reserve(16);
  for (int i = 0; i < 16; ++i)
    told.push_back(test.begin(id, {"n.append(" + std::to_string(i) + ")"}));
  const auto refused = test.begin(id, {"n.append(99)"});
  CHECK(refused->kind == Refusal::Kind::kTooMany);
  CHECK(contains(refused->refused, "16 executions waiting"));
  const std::string other = test.open();
  CHECK(test.run(other, "1").value() == "1");  // the queue is this container's only
  test.until([&] { return told.back()->is_over; });
  for (std::size_t i = 0; i < told.size(); ++i) CHECK(told[i]->number == i + 2);
  CHECK(test.run(id, "n == list(range(16))").value() == "True");
}

TEST_CASE("a container expires at exactly its idle time, and is listed for a day") {
  require_jails();
  const support::Leftovers leftovers;
  {
    SessionsUnderTest test;
    ContainerWish wish;
    wish.idle = 5min;
    const auto made = test.create(wish);
    REQUIRE(made);
    const std::string id = made->id;
    CHECK(made->expires_at == made->created_at + 300);
    test.move_clock(299s);
    CHECK(status_of(test, id) == Status::kRunning);
    test.move_clock(1s);
    CHECK(status_of(test, id) == Status::kExpired);
    CHECK(test.service->find("", id)->status == Status::kExpired);
    const auto told = test.begin(id, {"1"});
    CHECK(told->kind == Refusal::Kind::kExpired);
    CHECK(told->refused == "Container is expired.");
    CHECK(test.service->files("", id, {}).error().kind == Refusal::Kind::kExpired);
    CHECK(test.put(id, "a", "b").error().kind == Refusal::Kind::kExpired);
    CHECK(test.service->interrupt("", id).error().kind == Refusal::Kind::kExpired);
    test.move_clock(24h - 1s);
    CHECK(test.service->find("", id).has_value());
    test.move_clock(1s);
    CHECK(test.service->find("", id).error().kind == Refusal::Kind::kNotFound);
    CHECK(test.service->list("", {}, "")->data.empty());
  }
  CHECK(leftovers.found() == "");
}

TEST_CASE("the policy says for how long a container may be idle, at most") {
  require_jails();
  SessionsUnderTest test(std::string(SessionsUnderTest::kOwn) + "[session]\nidle = \"45m\"\n");
  CHECK(test.create()->idle == 45min);
  ContainerWish wish;
  wish.idle = 46min;
  CHECK(test.create(wish).error().kind == Refusal::Kind::kInvalid);
  CHECK(contains(test.create(wish).error().text, "from 1 to 45"));
  wish.idle = 30min;
  const auto made = test.create(wish);
  REQUIRE(made);
  CHECK(made->expires_at == made->created_at + 1800);
}

TEST_CASE("any call refreshes the idle time, and what runs does not expire") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  const auto put = test.put(id, "a", "b");
  INFO((put ? "" : put.error().text));
  REQUIRE(put);
  const std::vector<std::function<void()>> calls = {
      [&] { (void)test.service->find("", id); },
      [&] { (void)test.service->files("", id, {}); },
      [&] { (void)test.service->file("", id, put->id); },
      [&] { (void)test.service->content("", id, put->id); },
      [&] { (void)test.put(id, "c", "d"); },
      [&] { (void)test.service->interrupt("", id); },
      [&] { (void)test.service->remove_file("", id, put->id); },
      [&] { (void)test.run(id, "1"); },
  };
  for (const auto& call : calls) {
    test.move_clock(1199s);
    REQUIRE(status_of(test, id) == Status::kRunning);
    call();
  }
  const auto told = test.begin(id, {"import time; time.sleep(0.3)"});
  test.move_clock(1300s);
  CHECK(status_of(test, id) == Status::kRunning);
  test.until([&] { return told->is_over; });
  CHECK(std::string(told->word()) == "ok");
  CHECK(told->finished.expires_at ==
        std::chrono::duration_cast<std::chrono::seconds>(test.now.time_since_epoch()).count() +
            1200);
  test.move_clock(1200s);
  CHECK(status_of(test, id) == Status::kExpired);
}

TEST_CASE("setting the clock makes nothing expire, and nothing live on") {
  require_jails();
  SessionsUnderTest test;
  const auto made = test.create();
  REQUIRE(made);
  const std::string& id = made->id;
  const auto told = test.begin(id, {"import time; time.sleep(0.3); 'done'"});
  const auto jump = GENERATE(std::chrono::hours(1000), std::chrono::hours(-1000));
  test.set_clock(jump);
  CHECK(status_of(test, id) == Status::kRunning);
  test.until([&] { return told->is_over; });
  CHECK(told->value() == "'done'");
  const auto wall = [&] {
    return std::chrono::duration_cast<std::chrono::seconds>(test.now.time_since_epoch()).count();
  };
  CHECK(told->finished.expires_at == wall() + 1200);
  test.set_clock(-jump);
  CHECK(test.service->list("", {}, "")->data.at(0).expires_at == wall() + 1200);
  test.move_clock(1199s);
  test.set_clock(jump);
  CHECK(status_of(test, id) == Status::kRunning);
  CHECK(test.service->list("", {}, "")->data.at(0).expires_at == wall() + 1);
  test.move_clock(1s);
  CHECK(status_of(test, id) == Status::kExpired);
  test.set_clock(-jump);
  test.move_clock(24h - 1s);
  CHECK(test.service->find("", id).has_value());
  test.move_clock(1s);
  CHECK(test.service->find("", id).error().kind == Refusal::Kind::kNotFound);
}

TEST_CASE("files bear the time of the clock that is told") {
  require_jails();
  SessionsUnderTest test;
  const std::string id = test.open();
  test.set_clock(std::chrono::hours(100));
  const auto wall =
      std::chrono::duration_cast<std::chrono::seconds>(test.now.time_since_epoch()).count();
  CHECK(test.run(id, "open('f', 'w').close()").finished.files.at(0).created_at == wall);
}

TEST_CASE("a one-shot execution's container is in no list, and counts while it runs") {
  require_jails();
  SessionsUnderTest test(std::string(SessionsUnderTest::kOwn) + "[session]\nmax_sessions = 1\n");
  OnceWish wish;
  wish.execute.code = "print('go'); import time; time.sleep(0.2); open('f', 'w').write('abc')";
  std::string out;
  std::optional<Finished> end;
  const auto handle = test.service->execute_once("", wish, [&](const ExecutionEvent& event) {
    if (const auto* output = std::get_if<Output>(&event)) out += output->bytes;
    if (const auto* finished = std::get_if<Finished>(&event)) end = *finished;
  });
  REQUIRE(handle);
  test.until([&] { return out == "go\n"; });
  CHECK(test.service->list("", {}, "")->data.empty());
  CHECK(test.create().error().kind == Refusal::Kind::kTooMany);
  test.until([&] { return end.has_value(); });
  REQUIRE(end->files.size() == 1);
  CHECK(end->files[0].content == "abc");
  CHECK(test.service->list("", {}, "")->data.empty());
  test.open();  // there is room again
}

TEST_CASE("files without end of a one-shot execution cost no memory without end") {
  require_jails();
  SessionsUnderTest test;
  OnceWish wish;
  wish.execute.code = "for i in range(50): open(f'f{i:02}', 'wb').truncate(29 << 20)";
  std::optional<Finished> end;
  const auto handle = test.service->execute_once("", wish, [&](const ExecutionEvent& event) {
    if (const auto* finished = std::get_if<Finished>(&event)) end = *finished;
  });
  test.until([&] { return end.has_value(); });
  CHECK(end->files.size() == 2);
  CHECK(end->files.at(0).content->size() == std::size_t{29} << 20U);
  REQUIRE(end->skipped.size() == 48);
  CHECK(contains(end->skipped[0].reason, "64M in all"));
}

TEST_CASE("a container's lifetime ends, whatever it does, and its code is told") {
  require_jails();
  SessionsUnderTest test(std::string(SessionsUnderTest::kOwn) + "[session]\nlifetime = \"30m\"\n");
  const auto made = test.create();
  REQUIRE(made);
  test.move_clock(1000s);
  (void)test.service->find("", made->id);
  test.move_clock(799s);
  CHECK(test.service->find("", made->id)->expires_at == made->created_at + 1800);
  const auto told = test.begin(made->id, {"import time; time.sleep(30)"});
  const auto waits = test.begin(made->id, {"1"});
  test.until([&] { return told->order == "begin"; });
  test.move_clock(1s);
  test.until([&] { return told->is_over && waits->is_over; });
  CHECK(std::string(told->word()) == "expired");
  CHECK(std::string(waits->word()) == "expired");
  CHECK_FALSE(told->kept());
}

TEST_CASE("no more containers than the policy says, and room again when one goes") {
  require_jails();
  SessionsUnderTest test(std::string(SessionsUnderTest::kOwn) + "[session]\nmax_sessions = 2\n");
  const std::string first = test.open();
  const std::string second = test.open();
  const auto third = test.create();
  REQUIRE_FALSE(third);
  CHECK(third.error().kind == Refusal::Kind::kTooMany);
  CHECK(third.error().retry_after.has_value());
  REQUIRE(test.service->remove("", first));
  test.open();
  test.move_clock(1200s);
  test.open();  // the others have expired
}

TEST_CASE("containers that are being made count as well") {
  require_jails();
  SessionsUnderTest test(std::string(SessionsUnderTest::kOwn) + "[session]\nmax_sessions = 2\n");
  int made = 0;
  int refused = 0;
  for (int i = 0; i < 6; ++i) {
    test.service->create("", {}, [&](const Answer<Container>& answer) {
      ++(answer ? made : refused);
      if (!answer) CHECK(answer.error().kind == Refusal::Kind::kTooMany);
    });
  }
  test.until([&] { return made + refused == 6; });
  CHECK(made == 2);
}

TEST_CASE("containers of one tenant do not exist for another") {
  require_jails();
  SessionsUnderTest test;
  const auto made = test.create({}, "alice");
  REQUIRE(made);
  const std::string& id = made->id;
  const auto file = test.put(id, "secret", "s", "alice");
  INFO((file ? "" : file.error().text));
  REQUIRE(file);
  const auto none = Refusal::Kind::kNotFound;
  for (const Tenant& stranger : {Tenant("bob"), Tenant("")}) {
    CHECK(test.service->find(stranger, id).error().kind == none);
    CHECK(test.service->list(stranger, {}, "")->data.empty());
    CHECK(test.begin(id, {"1"}, stranger)->kind == none);
    CHECK(test.service->interrupt(stranger, id).error().kind == none);
    CHECK(test.put(id, "a", "b", stranger).error().kind == none);
    CHECK(test.service->files(stranger, id, {}).error().kind == none);
    CHECK(test.service->file(stranger, id, file->id).error().kind == none);
    CHECK(test.service->content(stranger, id, file->id).error().kind == none);
    CHECK(test.service->remove_file(stranger, id, file->id).error().kind == none);
    CHECK(test.service->remove(stranger, id).error().kind == none);
    ContainerWish wish;
    wish.file_ids = {file->id};
    CHECK(test.create(wish, stranger).error().kind == none);
  }
  ContainerWish wish;
  wish.file_ids = {file->id};
  const auto copy = test.create(wish, "alice");
  REQUIRE(copy);
  CHECK(test.service->files("alice", copy->id, {})->data.at(0).path == "/mnt/data/secret");
}
