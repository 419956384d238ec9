// What an interpreter knows beside the code it runs: its host's secrets, its channel, what it
// shares with the interpreters of others. Run by the policy's Python.
#include "runner/reach/catalogue_parts.h"

namespace runner::reach {
namespace {

using enum Layer;

// Everything the collector knows, and every frame above ours.
constexpr std::string_view kSecrets = R"(
import gc, os, sys
word = 'SECRET-OF-' + 'THE-CALLER'
def texts():
    yield from os.environ.values()
    frame = sys._getframe()
    while frame is not None:
        yield from (v for v in list(frame.f_globals.values()) + list(frame.f_locals.values())
                    if isinstance(v, str))
        frame = frame.f_back
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            yield from (v for v in list(thing.values()) if isinstance(v, str))
if any(word in text for text in texts() if text is not word):
    print('REACHED a secret of the caller in the interpreter')
else:
    print('BLOCKED - no secret of the caller in frames, objects or environment')
)";

// Writes nothing: whether it could is enough.
constexpr std::string_view kChannel = R"(
import os, stat
found = []
for fd in range(3, 64):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode): found.append(fd)
    except OSError: pass
print(f'REACHED the channel of its session is descriptor {found[0]}' if found
      else 'BLOCKED EBADF no channel among the descriptors')
)";

constexpr std::string_view kPlanted = R"(
import json
seen = hasattr(json, 'reach_was_here')
json.reach_was_here = True
print('VALUE seen' if seen else f'VALUE {id(json)}-{__import__("os").urandom(8).hex()}')
)";

constexpr std::string_view kRawCalls = R"(
try:
    import ctypes
    pid = ctypes.CDLL(None).getpid()
    print('REACHED system calls of its own making' if pid > 0 else 'BLOCKED - getpid failed')
except (ImportError, OSError, MemoryError) as error:
    print('BLOCKED -', type(error).__name__)
)";

constexpr std::string_view kLoader = R"(
import os
names = ('LD_PRELOAD', 'LD_LIBRARY_PATH', 'LD_AUDIT', 'PYTHONPATH', 'PYTHONSTARTUP', 'PYTHONHOME',
         'BASH_ENV', 'NODE_OPTIONS', 'PERL5OPT', 'RUBYOPT', 'GCONV_PATH')
found = [name for name in names if name in os.environ]
print(f'REACHED {found[0]} is set' if found else 'BLOCKED - none is set')
)";

// Where modules are looked for, the working folder and what lies in the home aside.
constexpr std::string_view kModules = R"(
import os, sys
made = None
here = os.getcwd()
for folder in sys.path:
    if not folder or folder.startswith(here): continue
    path = os.path.join(folder, 'reach_made_here.py')
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.remove(path)
        made = folder
    except OSError: pass
print(f'REACHED a module could be put into {made}' if made
      else 'BLOCKED EROFS no folder of modules is writable')
)";

constexpr std::string_view kHash = "print('VALUE', hash('reach'))\n";

constexpr std::string_view kRandom = R"(
import random
print('VALUE', random.random(), random.getrandbits(64))
)";

constexpr std::string_view kNames = R"(
import tempfile, uuid
print('VALUE', next(tempfile._get_candidate_names()), uuid.uuid4())
)";

constexpr std::string_view kLayout = "import sys\nprint('VALUE', id(sys.modules), id(sys))\n";

// Forks of one prototype share what it was started with: said in interpreters/README.md.
constexpr Expected kPrototypes{kB, kR, kR};

constexpr Probe make(std::string_view id, std::string_view name, std::string_view tries,
                     std::string_view source, Category category, Layer layer,
                     std::string_view code) {
  return {id, name, tries, source, category, layer, kNever, By::kPython, Room::kFull, code};
}

constexpr Probe pair(std::string_view id, std::string_view name, std::string_view tries,
                     std::string_view source, std::string_view code,
                     std::optional<Expected> joined = std::nullopt) {
  Probe probe = make(id, name, tries, source, Category::kInformation, kSupervisor, code);
  probe.twice = Twice::kYes;
  probe.joined = joined;
  return probe;
}

constexpr Probe channel() {
  Probe probe =
      make("c21", "session-channel", "finds the channel between session and supervisor",
           "peers B13 (control apart from code)", Category::kProtocol, kSupervisor, kChannel);
  // User code shares the driver's process: what it writes there is taken for user output.
  probe.joined = kAlways;
  return probe;
}

constexpr Probe raw_calls() {
  Probe probe =
      make("c22", "raw-calls", "makes system calls of its own by ctypes",
           "Grist CVE-2026-24002; Pyodide in Node", Category::kProtocol, kNone, kRawCalls);
  probe.expected = kAlways;
  return probe;
}

constexpr Probe kProbes[] = {
    make("c20", "interpreter-secrets", "looks for a secret of our caller's in frames and objects",
         "Glass Sandbox (Checkmarx 2024); n8n CVE-2026-0863", Category::kProtocol, kSupervisor,
         kSecrets),
    channel(),
    raw_calls(),
    make("c23", "loader-environment", "finds variables that change how programs are loaded",
         "Cursor CVE-2026-22708; dify-sandbox 27", Category::kProtocol, kSupervisor, kLoader),
    make("f55", "poison-modules", "puts a module where others will import it",
         "session poisoning class; SandboxEval 29", Category::kFiles, kMount, kModules),
    pair("i30", "hash-seed", "shares the seed of hash() with another sandbox", "oCERT-2011-003",
         kHash, kPrototypes),
    pair("i31", "random-state", "draws the same random numbers as another sandbox",
         "numpy 9650; sagecell 214; passenger 219", kRandom),
    pair("i32", "names-and-ids", "draws the same temporary names and UUIDs as another sandbox",
         "sagecell 214", kNames),
    pair("i33", "address-layout", "has the same addresses as another sandbox",
         "zygote class (Android's)", kLayout, kPrototypes),
    pair("i34", "state-of-others", "sees what another sandbox left in a module",
         "openbkn 451 (pooled workspace)", kPlanted),
};

}  // namespace

std::span<const Probe> python_catalogue() { return kProbes; }

}  // namespace runner::reach
