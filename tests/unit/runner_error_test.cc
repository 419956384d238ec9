#include <catch2/catch.hpp>
#include <cerrno>

#include "runner/error.h"

using namespace runner;
using jail::Step;

namespace {

bool lacks(Step step, int error) {
  return host_cannot({ErrorKind::kSetup, "", jail::SetupError{step, 0, error}});
}

}  // namespace

TEST_CASE("what the host cannot do") {
  CHECK(lacks(Step::kOuterUserNs, EPERM));
  CHECK(lacks(Step::kOuterUserNs, ENOSPC));
  CHECK(lacks(Step::kOuterIdMap, EPERM));
  CHECK(lacks(Step::kClone, EINVAL));
  CHECK(lacks(Step::kProc, EPERM));
  CHECK(lacks(Step::kMount, EINVAL));
  CHECK(lacks(Step::kSeccomp, EINVAL));
  CHECK(lacks(Step::kLandlock, EOPNOTSUPP));
  CHECK(lacks(Step::kCgroup, EROFS));
}

TEST_CASE("what passes, and what the caller can mend") {
  CHECK_FALSE(lacks(Step::kClone, EAGAIN));
  CHECK_FALSE(lacks(Step::kOuterUserNs, ENOMEM));
  CHECK_FALSE(lacks(Step::kSlots, EBUSY));
  CHECK_FALSE(lacks(Step::kExec, ENOENT));
  CHECK_FALSE(lacks(Step::kExec, EACCES));
  CHECK_FALSE(lacks(Step::kOpenSource, ENOENT));
  CHECK_FALSE(lacks(Step::kMount, ENOENT));
  CHECK_FALSE(lacks(Step::kInput, ENOSPC));
  CHECK_FALSE(lacks(Step::kSpawnerStart, ENOENT));
  CHECK_FALSE(lacks(Step::kProtocol, ECONNRESET));
  CHECK_FALSE(host_cannot({ErrorKind::kHost, "python is not on this host"}));
  CHECK_FALSE(host_cannot({ErrorKind::kUsage, "no code"}));
}
