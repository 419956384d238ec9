#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <thread>

#include "runner/session/input_pump.h"
#include "runner/session/output_pump.h"

using namespace runner;
using namespace std::chrono_literals;

namespace {

struct Pipe {
  jail::Fd read;
  jail::Fd write;
  Pipe() {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
};

void set_non_blocking(const jail::Fd& fd) { ::fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

std::string drain(const jail::Fd& fd) {
  std::string all;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(fd.get(), buffer, sizeof buffer)) > 0;) {
    all.append(buffer, static_cast<std::size_t>(got));
  }
  return all;
}

void fill(const jail::Fd& fd, std::size_t count) {
  const std::string block(4096, 'x');
  while (count > 0) {
    const ssize_t wrote = ::write(fd.get(), block.data(), std::min(count, block.size()));
    if (wrote <= 0) return;
    count -= static_cast<std::size_t>(wrote);
  }
}

struct IgnoreSigpipe {
  IgnoreSigpipe() { (void)std::signal(SIGPIPE, SIG_IGN); }
};
const IgnoreSigpipe ignore_sigpipe;

}  // namespace

TEST_CASE("output is kept byte for byte") {
  boost::asio::io_context io;
  Pipe pipe;
  set_non_blocking(pipe.read);
  const std::string bytes("\0\xff\n\x1b", 4);
  REQUIRE(::write(pipe.write.get(), bytes.data(), bytes.size()) == 4);
  pipe.write.reset();
  const auto pump = std::make_shared<OutputPump>(io, std::move(pipe.read), -1, jail::Bytes{100});
  int ended = 0;
  pump->start({[&] { ++ended; }, nullptr});
  io.run();
  CHECK(ended == 1);
  CHECK(pump->stream().produced == 4);
  CHECK_FALSE(pump->stream().truncated);
  CHECK(pump->take_kept() == bytes);
}

TEST_CASE("beyond the cap output is counted and dropped") {
  boost::asio::io_context io;
  Pipe pipe;
  set_non_blocking(pipe.read);
  std::thread writer([&] {
    fill(pipe.write, 5'000'000);
    pipe.write.reset();
  });
  const auto pump = std::make_shared<OutputPump>(io, std::move(pipe.read), -1, jail::Bytes{1000});
  pump->start({[] {}, nullptr});
  io.run();
  writer.join();
  CHECK(pump->stream().produced == 5'000'000);
  CHECK(pump->stream().truncated);
  CHECK(pump->take_kept().size() == 1000);
}

TEST_CASE(
    "a slow reader holds up the payload and gets everything, and our flags stay as they are") {
  boost::asio::io_context io;
  Pipe payload;
  Pipe caller;
  set_non_blocking(payload.read);
  const int flags = ::fcntl(caller.write.get(), F_GETFL);
  std::thread writer([&] {
    fill(payload.write, 400'000);
    payload.write.reset();
  });
  const auto pump = std::make_shared<OutputPump>(io, std::move(payload.read), caller.write.get(),
                                                 jail::Bytes{1'000'000});
  pump->start({[&] { caller.write.reset(); }, nullptr});
  io.run_for(200ms);
  CHECK(pump->is_held_up());
  CHECK(::fcntl(caller.write.get(), F_GETFL) == flags);
  std::string got;
  std::thread reader([&] { got = drain(caller.read); });
  io.restart();
  io.run();
  reader.join();
  writer.join();
  CHECK(got.size() == 400'000);
  CHECK_FALSE(pump->stream().truncated);
}

TEST_CASE("a reader that goes away is told once, and the rest is dropped") {
  boost::asio::io_context io;
  Pipe payload;
  Pipe caller;
  set_non_blocking(payload.read);
  caller.read.reset();
  fill(payload.write, 10'000);
  payload.write.reset();
  const auto pump = std::make_shared<OutputPump>(io, std::move(payload.read), caller.write.get(),
                                                 jail::Bytes{1'000'000});
  std::vector<int> errors;
  pump->start({[] {}, [&](int error) { errors.push_back(error); }});
  io.run();
  CHECK(errors == std::vector{EPIPE});
  CHECK(pump->is_over());
  CHECK(pump->sink_is_gone());
}

TEST_CASE("output to a file that cannot be polled") {
  boost::asio::io_context io;
  Pipe payload;
  set_non_blocking(payload.read);
  char name[] = "/tmp/test-sandglass-XXXXXX";
  const jail::Fd file(::mkstemp(name));
  ::unlink(name);
  fill(payload.write, 60'000);
  payload.write.reset();
  const auto pump =
      std::make_shared<OutputPump>(io, std::move(payload.read), file.get(), jail::Bytes{50'000});
  pump->start({[] {}, nullptr});
  io.run();
  CHECK(::lseek(file.get(), 0, SEEK_END) == 50'000);
  CHECK(pump->stream().truncated);
}

TEST_CASE("stopping a pump ends it without events") {
  boost::asio::io_context io;
  Pipe payload;
  set_non_blocking(payload.read);
  auto pump = std::make_shared<OutputPump>(io, std::move(payload.read), -1, jail::Bytes{10});
  bool told = false;
  pump->start({[&] { told = true; }, nullptr});
  io.run_for(10ms);
  pump->stop();
  payload.write.reset();
  io.restart();
  io.run();
  CHECK_FALSE(told);
}

TEST_CASE("input of any length arrives, and its end too") {
  boost::asio::io_context io;
  Pipe caller;
  Pipe payload;
  set_non_blocking(payload.write);
  std::thread writer([&] {
    fill(caller.write, 1'000'000);
    caller.write.reset();
  });
  std::string got;
  std::thread reader([&] { got = drain(payload.read); });
  std::make_shared<InputPump>(io, caller.read.get(), std::move(payload.write))->start();
  io.run();
  writer.join();
  reader.join();
  CHECK(got.size() == 1'000'000);
}

TEST_CASE("input from files and /dev/null, which cannot be polled") {
  for (const char* path : {"/proc/self/exe", "/dev/null"}) {
    boost::asio::io_context io;
    const jail::Fd file(::open(path, O_RDONLY | O_CLOEXEC));
    const off_t size = ::lseek(file.get(), 0, SEEK_END);
    ::lseek(file.get(), 0, SEEK_SET);
    Pipe payload;
    set_non_blocking(payload.write);
    std::string got;
    std::thread reader([&] { got = drain(payload.read); });
    std::make_shared<InputPump>(io, file.get(), std::move(payload.write))->start();
    io.run();
    reader.join();
    CHECK(got.size() == static_cast<std::size_t>(size));
  }
}

TEST_CASE("a payload that closes its stdin ends the pump") {
  boost::asio::io_context io;
  Pipe caller;
  Pipe payload;
  set_non_blocking(payload.write);
  payload.read.reset();
  fill(caller.write, 4096);
  std::make_shared<InputPump>(io, caller.read.get(), std::move(payload.write))->start();
  io.run();  // returns
  SUCCEED();
}

TEST_CASE("waiting for input costs no time on the processor") {
  boost::asio::io_context io;
  Pipe caller;
  Pipe payload;
  set_non_blocking(payload.write);
  const auto pump = std::make_shared<InputPump>(io, caller.read.get(), std::move(payload.write));
  pump->start();
  const std::clock_t before = std::clock();
  io.run_for(300ms);
  CHECK(std::clock() - before < CLOCKS_PER_SEC / 20);
  pump->stop();
}
