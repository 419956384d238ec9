// The same rules compiled by libseccomp: what jail/filter.cc must agree with.
#pragma once

#include "jail/bpf.h"

namespace support {

jail::Result<jail::BpfProgram> compile_by_libseccomp(const jail::SyscallFilter& filter);

}  // namespace support
