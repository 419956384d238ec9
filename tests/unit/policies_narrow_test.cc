#include "policies/narrow.h"
#include "policies_fixture.h"

using namespace policies;
using namespace policies_test;

TEST_CASE("a request may ask for less") {
  Wish wish;
  wish.memory = jail::mib(128);
  wish.cpu_time = Millis(1'000);
  wish.wall_time = Millis(2'000);
  wish.processes = 8;
  wish.file_size = jail::mib(1);
  wish.workdir_size = jail::mib(64);
  wish.output = jail::kib(64);
  const Policy policy = narrow(find("standard"), wish).value();
  CHECK(policy.limits.memory == jail::mib(128));
  CHECK(policy.limits.cpu_time == Millis(1'000));
  CHECK(policy.limits.wall_time == Millis(2'000));
  CHECK(policy.limits.processes == 8);
  CHECK(policy.limits.file_size == jail::mib(1));
  CHECK(policy.files.workdir.size == jail::mib(64));
  CHECK(policy.limits.output == jail::kib(64));
}

TEST_CASE("no wish changes nothing") { CHECK(narrow(find("loose"), {}).value() == find("loose")); }

TEST_CASE("more than the policy gives is refused by name") {
  Wish wish;
  wish.memory = jail::mib(4096);
  CHECK(narrow(find("tight"), wish).error().text ==
        "memory: 4G was asked for, but the policy \"tight\" gives 1G; ask for at most that, take "
        "another policy, or write a policy file that extends \"tight\" with more");
  Wish longer;
  longer.wall_time = Millis(10'001);
  CHECK(narrow(find("tight"), longer)
            .error()
            .text.starts_with(
                "wall_time: 10001ms was asked for, but the policy \"tight\" gives 10s;"));
  Wish more;
  more.processes = 65;
  CHECK(narrow(find("tight"), more)
            .error()
            .text.starts_with("processes: 65 was asked for, but the policy \"tight\" gives 64;"));
}

TEST_CASE("zero is not 'unlimited'") {
  Wish nothing;
  nothing.processes = 0;
  CHECK(narrow(find("tight"), nothing).error().text ==
        "processes: 0 was asked for; nothing runs with less than 1");
  Wish no_memory;
  no_memory.memory = Bytes{0};
  CHECK(narrow(find("tight"), no_memory).error().text ==
        "memory: 0B was asked for; nothing runs with less than 16M");
}

TEST_CASE("writable folders shrink with the memory") {
  Wish wish;
  wish.memory = jail::mib(20);
  const Policy policy = narrow(find("standard"), wish).value();
  CHECK(policy.files.workdir.size == jail::mib(20));
  CHECK(policy.files.max_file == jail::mib(20));
  for (const Tmpfs& fs : policy.files.scratch) CHECK(fs.size == jail::mib(20));
}
