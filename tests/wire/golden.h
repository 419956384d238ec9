// Golden texts: what clients read, byte for byte, in golden/.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace wire_test {

// Compares with golden/FILE; SANDGLASS_UPDATE_GOLDEN=1 writes it instead.
inline void check_golden(const std::string& file, const std::string& text) {
  const std::string path = std::string(SANDGLASS_GOLDEN) + "/" + file;
  if (std::getenv("SANDGLASS_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream in(path);
  std::stringstream want;
  want << in.rdbuf();
  CHECK(text == want.str());
}

}  // namespace wire_test
