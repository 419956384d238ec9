// How long a verdict takes on this core. Reads JSON strings, one a line, from a file and prints
// nanoseconds for one evaluate() and for one batch_line(), best of several rounds over all of them:
//   arithmetic_bench FILE [ROUNDS]
// arithmetic_bench.py runs it against Python on the same file.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "runner/arithmetic/arithmetic.h"
#include "runner/arithmetic/json_string.h"

namespace {

using runner::arithmetic::Options;

struct Inputs {
  std::vector<std::string> lines;  // as they stand in the file
  std::vector<std::string> texts;  // decoded
};

Inputs read_inputs(const char* path) {
  Inputs inputs;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string storage;
    inputs.texts.emplace_back(runner::arithmetic::read_json_string(line, 0, storage).text);
    inputs.lines.push_back(line);
  }
  return inputs;
}

// What this thread has taken of a processor.
double processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// The fastest round, in nanoseconds for one input.
template <class Round>
double best(int rounds, std::size_t inputs, const Round& round) {
  double least = 1e18;
  for (int i = 0; i < rounds; ++i) {
    const double began = processor_ns();
    round();
    least = std::min(least, (processor_ns() - began) / static_cast<double>(inputs));
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const Inputs inputs = read_inputs(argv[1]);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 10;
  if (inputs.lines.empty()) return 2;
  const Options options;
  std::size_t values = 0;
  const double evaluate = best(rounds, inputs.texts.size(), [&] {
    for (const std::string& text : inputs.texts)
      values += runner::arithmetic::evaluate(text, options).value.size();
  });
  std::string out;
  const double batch = best(rounds, inputs.lines.size(), [&] {
    for (const std::string& line : inputs.lines) {
      runner::arithmetic::batch_line(line, options, out);
      if (out.size() > 60'000) out.clear();
    }
  });
  std::printf("{\"evaluate_ns\": %.1f, \"batch_ns\": %.1f, \"bytes\": %zu}\n", evaluate, batch,
              values);
  return 0;
}
