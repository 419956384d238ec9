// JSON strings in, one a line; one verdict a line out. What the differential test asks.
//   arithmetic_verdicts [--operators % // ...] [--functions sqrt ...]
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "runner/arithmetic/arithmetic.h"

int main(int argc, char** argv) {
  std::vector<std::string> operators;
  std::vector<std::string> functions;
  std::vector<std::string>* list = nullptr;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (const std::string& argument : arguments) {
    if (argument == "--operators")
      list = &operators;
    else if (argument == "--functions")
      list = &functions;
    else if (list != nullptr)
      list->push_back(argument);
  }
  const auto options = runner::arithmetic::make_options(operators, functions);
  if (!options) {
    std::cerr << options.error() << '\n';
    return 2;
  }
  std::ios::sync_with_stdio(false);
  std::string out;
  for (std::string line; std::getline(std::cin, line);) {
    runner::arithmetic::batch_line(line, *options, out);
    if (out.size() < 60'000) continue;
    std::cout << out;
    out.clear();
  }
  std::cout << out;
}
