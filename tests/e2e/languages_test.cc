// Real interpreters and real libraries, under the policies that promise them.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/e2e/e2e.h"
#include "tests/support/require.h"

using namespace e2e;
using namespace std::chrono_literals;

namespace {

void require_library(const std::string& name) {
  support::require_program("python3");
  Call call{.args = {"-c", "import " + name}};
  call.program = "/usr/bin/python3";
  const Ran bare = support::run_binary(call);
  INFO("install python3-" << name);
  REQUIRE(bare.code == 0);
}

Ran code_in(const std::string& policy, const std::string& code) {
  return run({"run", "--policy", policy, "-c", code});
}

constexpr const char* kPlot = R"(import os
def seen():
    folder = os.environ["MPLCONFIGDIR"]
    return {name: (os.stat(folder + "/" + name).st_mtime_ns, os.stat(folder + "/" + name).st_size)
            for name in (os.listdir(folder) if os.path.isdir(folder) else [])}
before = seen()
import matplotlib.pyplot as plt
from matplotlib import font_manager
print(os.path.basename(font_manager.findfont(font_manager.FontProperties())))
figure, axes = plt.subplots(figsize=(2, 1), dpi=50)
axes.axis("off")
figure.savefig("blank.png")
axes.text(0.1, 0.4, "Energie: 1,5 kWh \u00e9", fontsize=14)
figure.savefig("text.png")
print("cache untouched" if seen() == before and before else f"cache {before} -> {seen()}")
)";

}  // namespace

TEST_CASE("python, bash and perl, by name and by the file's ending") {
  require_jails();
  const support::TempDir folder;
  const std::tuple<const char*, const char*, const char*> languages[] = {
      {"python", "py", "import sys; print(sum(map(int, sys.argv[1:])))"},
      {"bash", "sh", "echo $(($1 + $2))"},
      {"perl", "pl", "print $ARGV[0] + $ARGV[1], \"\\n\";"}};
  for (const auto& [language, ending, code] : languages) {
    INFO(language);
    const Ran named = run({"run", "--lang", language, "-c", code, "--", "40", "2"});
    CHECK(named.out == "42\n");
    CHECK(named.code == 0);
    const std::string file = folder / (std::string("code.") + ending);
    write(file, code);
    CHECK(run({"run", file, "--", "40", "2"}).out == "42\n");
    Call piped{.args = {"run", "--lang", language, "-", "--", "40", "2"}};
    piped.input = code;
    CHECK(run(piped).out == "42\n");
  }
}

TEST_CASE("python and perl under tight make no refused call") {
  require_jails();
  const Ran python = code_in("tight", "import json, math\nprint(json.dumps(math.comb(50, 25)))");
  CHECK(python.out == "126410606437752\n");
  CHECK(python.err == "");
  const Ran perl = run({"run", "--policy", "tight", "--lang", "perl", "-c", "print 2 ** 0.5;"});
  CHECK(perl.out == "1.4142135623731");
  CHECK(perl.err == "");
}

TEST_CASE("node runs, timers and promises included") {
  require_jails();
  support::require_program("node");
  const Ran ran = run({"run", "--lang", "node", "-c",
                       std::string("setTimeout(() => console.log(6 * 7), 10); "
                                   "Promise.resolve('then').then(console.log)")});
  CHECK(ran.code == 0);
  CHECK(ran.out == "then\n42\n");
}

TEST_CASE("stdin is the code's, under run as under exec") {
  require_jails();
  Call call{.args = {"run", "--policy", "tight", "-c",
                     "import sys; print(sys.stdin.buffer.read().hex())"}};
  call.input = std::string("a\0\xff", 3);
  CHECK(run(call).out == "6100ff\n");
}

TEST_CASE("numpy and pandas compute under tight and standard") {
  require_jails();
  require_library("pandas");
  for (const char* policy : {"tight", "standard"}) {
    INFO(policy);
    const Ran ran = code_in(policy,
                            "import numpy as np, pandas as pd\n"
                            "a = np.arange(40000.0).reshape(200, 200)\n"
                            "print(int(np.linalg.matrix_rank(a)), int((a @ a).sum()))\n"
                            "frame = pd.DataFrame({'k': list('abab'), 'v': [1, 2, 3, 4]})\n"
                            "frame.to_csv('f.csv', index=False)\n"
                            "print(pd.read_csv('f.csv').groupby('k')['v'].sum().to_dict())\n");
    CHECK(ran.code == 0);
    CHECK(ran.out == "2 3205173202000000\n{'a': 4, 'b': 6}\n");
  }
}

TEST_CASE("matplotlib draws text, and finds its list of fonts made") {
  require_jails();
  require_library("matplotlib");
  for (const char* policy : {"tight", "standard"}) {
    INFO(policy);
    const support::TempDir folder;
    const Ran ran = run({"run", "--policy", policy, "--out", folder / "out", "-c", kPlot});
    CHECK(ran.code == 0);
    CHECK(ran.out == "DejaVuSans.ttf\ncache untouched\n");
    CHECK_FALSE(contains(ran.err, "font cache"));
    const std::string blank = contents(folder / "out/blank.png");
    const std::string plot = contents(folder / "out/text.png");
    CHECK(plot.substr(0, 8) == "\x89PNG\r\n\x1a\n");
    CHECK(plot.size() > blank.size() + 300);
  }
  // And the check can fail: elsewhere the list is not made, and is written.
  const Ran cold = run({"run", "--env", "MPLCONFIGDIR=/tmp/cold", "-c", kPlot});
  CHECK(contains(cold.out, "fontlist"));
  CHECK_FALSE(contains(cold.out, "untouched"));
}

TEST_CASE("processes under standard: multiprocessing, subprocess, asyncio, sqlite") {
  require_jails();
  const Ran pool = code_in("standard",
                           "import multiprocessing as mp\n"
                           "def square(n): return n * n\n"
                           "if __name__ == '__main__':\n"
                           "    for way in 'fork', 'spawn':\n"
                           "        with mp.get_context(way).Pool(2) as p:\n"
                           "            print(sum(p.map(square, range(100))))\n"
                           "    lock = mp.Lock()\n"
                           "    with lock: print('locked')\n");
  CHECK(pool.out == "328350\n328350\nlocked\n");
  CHECK(pool.code == 0);
  const Ran sub =
      code_in("standard",
              "import subprocess, asyncio\n"
              "print(subprocess.run('echo $((40 + 2)); exit 3', shell=True, "
              "capture_output=True, text=True))\n"
              "async def main():\n"
              "    p = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)\n"
              "    print((await p.communicate(b'through'))[0])\n"
              "asyncio.run(main())\n");
  CHECK(sub.out ==
        "CompletedProcess(args='echo $((40 + 2)); exit 3', returncode=3, "
        "stdout='42\\n', stderr='')\nb'through'\n");
  const Ran sqlite = code_in("standard",
                             "import sqlite3\nd = sqlite3.connect('d.sqlite')\n"
                             "d.execute('create table t (n)')\n"
                             "d.executemany('insert into t values (?)', [(i,) for i in range(9)])\n"
                             "d.commit()\nprint(d.execute('select sum(n) from t').fetchone())\n");
  CHECK(sqlite.out == "(36,)\n");
}

TEST_CASE("under tight there are threads, and no second process") {
  require_jails();
  const Ran threads = code_in("tight",
                              "from concurrent.futures import ThreadPoolExecutor as T\n"
                              "print(sum(T(4).map(lambda n: n * n, range(100))))\n");
  CHECK(threads.out == "328350\n");
  CHECK(threads.err == "");
  const Ran sub = code_in("tight", "import subprocess; subprocess.run(['/bin/true'])");
  CHECK(sub.code == 1);
  CHECK(contains(sub.err, "PermissionError"));
}

TEST_CASE("loose compiles and runs, and talks to itself over loopback") {
  require_jails();
  support::require_program("gcc");
  const Ran built =
      run({"exec", "--policy", "loose", "--", "sh", "-c",
           std::string("printf '#include <stdio.h>\\nint main(){puts(\"built\");}' >a.c && "
                       "gcc -o a a.c && ./a")});
  CHECK(built.out == "built\n");
  CHECK(built.code == 0);
  const Ran tcp = code_in("loose",
                          "import socket\ns = socket.create_server(('127.0.0.1', 8080))\n"
                          "c = socket.create_connection(('127.0.0.1', 8080))\n"
                          "s.accept()[0].send(b'hello'); print(c.recv(9))\n");
  CHECK(tcp.out == "b'hello'\n");
}
