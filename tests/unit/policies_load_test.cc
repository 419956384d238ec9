#include "policies_fixture.h"

using namespace policies;
using namespace policies_test;

TEST_CASE("the shipped policies load and are what they say") {
  CHECK(shipped().names() == std::vector<std::string>{"loose", "restricted", "standard", "tight"});
  for (const std::string& name : shipped().names()) CHECK(find(name).name == name);
  const Policy tight = find("tight");
  CHECK(tight.unsafe.empty());
  CHECK(tight.limits.wall_time == Millis(10'000));
  CHECK(tight.limits.open_files == 256);
  CHECK(tight.files.proc == jail::ProcView::kNone);
  CHECK(!tight.fallback);
  CHECK(find("restricted").mode == Mode::kRestricted);
  CHECK(find("loose").limits.open_files == 960);
  CHECK(find("loose").network.loopback == jail::Loopback::kUp);
}

TEST_CASE("an unknown name lists what there is") {
  CHECK(error_of("standrad") ==
        "there is no policy \"standrad\"; did you mean \"standard\"? There are loose, restricted, "
        "standard, tight; a file of your own is named by its path, e.g. ./mine.toml");
  CHECK(error_of("zzz").starts_with("there is no policy \"zzz\"; there are loose,"));
  CHECK(error_of("").starts_with("a policy's name is empty; there are "));
  CHECK(error_of("syscalls").starts_with("there is no policy \"syscalls\""));
}

TEST_CASE("a file of one's own extends a shipped policy") {
  const Policy mine =
      own("extends = \"tight\"\nwhy = \"more memory\"\n[limits]\nmemory = \"2G\"\n");
  CHECK(mine.limits.memory == jail::mib(2048));
  CHECK(mine.limits.processes == 64);
}

TEST_CASE("a file extends another file beside it") {
  const Folder folder;
  folder.write("a.toml", "name = \"aa\"\nextends = \"tight\"\n[limits]\nprocesses = 7\n");
  CHECK(find(folder.write("b.toml", "name = \"bb\"\nextends = \"./a.toml\"\n")).limits.processes ==
        7);
}

TEST_CASE("an unknown parent names the chain") {
  CHECK(own_error("extends = \"tigth\"\n") ==
        "mine.toml:2:11: extends: there is no policy \"tigth\" (mine -> tigth); did you mean "
        "\"tight\"? There are loose, restricted, standard, tight");
}

TEST_CASE("a loop names the chain") {
  const Folder folder;
  folder.write("b.toml", "name = \"bb\"\nextends = \"./a.toml\"\n");
  const std::string a = folder.write("a.toml", "name = \"aa\"\nextends = \"./b.toml\"\n");
  CHECK(error_of(a) == folder.path() +
                           "/./b.toml:2:11: extends: a loop: aa -> bb -> ./a.toml; a policy cannot "
                           "extend itself");
}

TEST_CASE("a chain is at most eight long") {
  const Folder folder;
  for (int i = 0; i < 9; ++i)
    folder.write("p" + std::to_string(i) + ".toml", "name = \"p" + std::to_string(i) +
                                                        "\"\nextends = \"./p" +
                                                        std::to_string(i + 1) + ".toml\"\n");
  CHECK(error_of(folder.path() + "/p0.toml").find("extends: more than 8 policies: p0 -> p1") !=
        std::string::npos);
}

TEST_CASE("a name means one policy") {
  const Folder folder;
  const std::string path = folder.write("x.toml", "name = \"tight\"\nextends = \"standard\"\n");
  CHECK(error_of(path) == path +
                              ":1:8: name: \"tight\" is a policy that comes with Sandglass; "
                              "choose another name");
  CHECK(find(std::string(POLICY_FOLDER) + "/tight.toml") == find("tight"));
}

TEST_CASE("a folder without syscalls.toml is no library") {
  const Folder folder;
  CHECK(Library::open(folder.path()).error().text ==
        folder.path() +
            "/syscalls.toml: cannot be read: ENOENT; the folder of policies must hold "
            "syscalls.toml");
}

TEST_CASE("reasons go with what they were given for") {
  const Policy plain = own("extends = \"standard\"\nwhy = \"x\"\n[syscalls]\ndeny = [\"@jit\"]\n");
  REQUIRE(plain.unsafe.size() == 1);
  CHECK(plain.unsafe[0].key == "shared_locks");
  CHECK(own_error("extends = \"tight\"\nwhy = \"x\"\n[unsafe]\nwritable_code = \"for fun\"\n") ==
        "mine.toml:5:17: unsafe.writable_code: nothing in this policy needs it; remove the line");
}
