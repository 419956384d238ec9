// toml++ itself, compiled here once. Debian's shared library would bring the shared C++ library
// with it, and loading the two costs a whole `sandglass exec` a third of its time.
#define TOML_IMPLEMENTATION
#include "policies/toml_reader.h"
