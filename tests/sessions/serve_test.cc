// Sessions by the built program over HTTP, and what a server that ends leaves.
#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/sessions/served.h"
#include "tests/sessions/sessions_under_test.h"
#include "tests/support/leftovers.h"
#include "tests/support/temp_dir.h"

using namespace sessions_test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST_CASE("a container over HTTP: streams, files, interrupt, delete") {
  require_jails();
  const support::Leftovers leftovers;
  {
    Served served;
    Client client = served.client();
    const std::string id = make(client);
    const std::string base = "/v1/containers/" + id;
    send_execute(
        client, id,
        {{"code", "import sys\nprint('a')\nprint('b', file=sys.stderr)\n1 / 0"}, {"stream", true}});
    const auto events = rest_of_stream(client);
    CHECK(types_of(events) == "number_of_executions stdout stderr error outcome end_of_execution ");
    for (std::size_t i = 0; i < events.size(); ++i)
      CHECK(events[i].at("seq") == static_cast<std::int64_t>(i));
    CHECK(outcome_of(events).at("outcome") == "raised");
    CHECK(outcome_of(events).at("state_preserved") == true);

    const Response up = client.call("POST", base + "/files", "col\n1\n2\n",
                                    "Content-Type: application/octet-stream\r\n"
                                    "Content-Disposition: attachment; filename=\"in.csv\"\r\n");
    INFO(up.body);
    REQUIRE(up.status == 200);
    const Response sum = post(client, base + "/execute",
                              {{"code",
                                "import pandas as pd\nd = pd.read_csv('in.csv')\n"
                                "d.to_csv('out.csv', index=False)\nint(d.col.sum())"}});
    REQUIRE(sum.status == 200);
    CHECK(contains(sum.body, "\"text\":\"3\""));
    const Json files = client.call("GET", base + "/files").json().at("data");
    REQUIRE(files.as_array().size() == 2);
    for (const Json& file : files.as_array())
      CHECK(client.call("GET", base + "/files/" + text(file.at("id")) + "/content").body ==
            "col\n1\n2\n");

    Client streaming = served.client();
    send_execute(streaming, id,
                 {{"code", "import time\nx = 5\nprint('go')\ntime.sleep(60)"}, {"stream", true}});
    streaming.read_until("go");
    CHECK(client.call("POST", base + "/interrupt").status == 200);
    CHECK(contains(streaming.read_until("end_of_execution"), "\"outcome\":\"interrupted\""));
    CHECK(contains(post(client, base + "/execute", {{"code", "x"}}).body, "\"text\":\"5\""));

    Client deleted = served.client();
    send_execute(deleted, id, {{"code", "print('go')\ntime.sleep(60)"}, {"stream", true}});
    deleted.read_until("go");
    CHECK(client.call("DELETE", base).status == 200);
    const std::string end = deleted.read_until("end_of_execution");
    INFO(end);
    CHECK(contains(end, "\"outcome\":\"killed\""));
    CHECK(post(client, base + "/execute", {{"code", "1"}}).status == 404);
    served.child().signal(SIGTERM);
    CHECK(served.child().finish().code == 0);
  }
  CHECK(leftovers.found() == "");
}

TEST_CASE("what a policy wants preloaded and the host lacks is named, in the log and by the API") {
  require_jails();
  const support::TempDir folder;
  std::ofstream(folder / "own.toml")
      << "name = \"own\"\nextends = \"standard\"\nwhy = \"a test\"\n[interpreters.python]\n"
         "preload = []\n";
  std::ofstream(folder / "more.toml")
      << "name = \"more\"\nextends = \"./own.toml\"\nwhy = \"a test\"\n[interpreters.python]\n"
         "preload = [\"json\", \"no_such_library.at_all\"]\n";
  Served served({"--listen", "127.0.0.1:0", "--policy", folder / "more.toml"});
  const std::string told =
      "no_such_library.at_all is not preloaded: ModuleNotFoundError: "
      "No module named 'no_such_library'";
  CHECK(served.child().warns(told, 20s));
  Client client = served.client();
  const Json preload = client.call("GET", "/v1/capabilities").json().at("preload");
  REQUIRE(preload.as_array().size() == 1);
  CHECK(preload.at(0).at("policy") == "more");
  CHECK(preload.at(0).at("state") == "ready");
  CHECK(preload.at(0).at("wanted") == Json({"json", "no_such_library.at_all"}));
  REQUIRE(preload.at(0).at("missing").as_array().size() == 1);
  CHECK(preload.at(0).at("missing").at(0).at("module") == "no_such_library.at_all");
  const std::string id = make(client);
  const Response loaded =
      post(client, "/v1/containers/" + id + "/execute",
           {{"code", "import sys\n[n in sys.modules for n in ('json', 'numpy')]"}});
  CHECK(contains(loaded.body, "\"text\":\"[True, False]\""));
}

TEST_CASE("SIGTERM while code runs: its client gets an outcome, and nothing is left") {
  require_jails();
  const support::Leftovers leftovers;
  Served served;
  Client client = served.client();
  const std::string id = make(client);
  send_execute(client, id,
               {{"code", "print('go')\nimport time\ntime.sleep(60)"}, {"stream", true}});
  client.read_until("go");
  Client waiting = served.client();
  send_execute(waiting, id, {{"code", "1"}});
  std::this_thread::sleep_for(50ms);
  const auto start = Clock::now();
  served.child().signal(SIGTERM);
  const std::string rest = client.read_to_end();
  CHECK(contains(rest, "\"type\":\"outcome\""));
  CHECK(contains(rest, "\"outcome\":\"killed\""));
  CHECK(contains(rest, "\"type\":\"end_of_execution\""));
  CHECK_FALSE(waiting.read_to_end().empty());
  CHECK(served.child().finish().code == 0);
  CHECK(Clock::now() - start < 5s);
  CHECK(leftovers.found() == "");
}

TEST_CASE("asked to end again and again, it ends as well as when asked once") {
  require_jails();
  const support::Leftovers leftovers;
  const int signal = GENERATE(SIGTERM, SIGINT);
  Served served;
  Client client = served.client();
  (void)make(client);
  // Most of them while it releases what it has.
  for (int i = 0; i < 2000; ++i) {
    served.child().signal(signal);
    std::this_thread::sleep_for(1ms);
  }
  CHECK(served.child().finish().code == 0);
  CHECK(leftovers.found() == "");
}

TEST_CASE("a killed server leaves nothing") {
  require_jails();
  const support::Leftovers leftovers;
  {
    Served served;
    Client client = served.client();
    const std::string id = make(client);
    send_execute(client, id,
                 {{"code",
                   "import os\nif os.fork():\n  print('go', flush=True)\n"
                   "while True: pass"},
                  {"stream", true}});
    client.read_until("go");
    served.child().signal(SIGKILL);
    CHECK(served.child().finish().code == -SIGKILL);
  }
  CHECK(leftovers.found(2s) == "");
}

TEST_CASE("a stream with gaps carries keep-alive lines, and a client that goes may stop its code") {
  require_jails();
  Served served;
  Client client = served.client();
  const std::string id = make(client);
  const std::string base = "/v1/containers/" + id;
  {
    Client goes = served.client();
    send_execute(goes, id,
                 {{"code",
                   "import time\nn = 0\nwhile True:\n  n += 1\n"
                   "  if n == 1: print('go')\n  time.sleep(0.01)"},
                  {"stream", true},
                  {"on_disconnect", "interrupt"}});
    goes.read_until("go");
  }
  const auto start = Clock::now();
  CHECK(contains(post(client, base + "/execute", {{"code", "n > 0"}}).body, "\"text\":\"True\""));
  CHECK(Clock::now() - start < 3s);
  send_execute(client, id, {{"code", "import time\ntime.sleep(5.5)"}, {"stream", true}});
  const auto events = rest_of_stream(client);
  CHECK(std::any_of(events.begin(), events.end(),
                    [](const Json& event) { return event.at("type") == "keepalive"; }));
  CHECK(outcome_of(events).at("outcome") == "ok");
}
