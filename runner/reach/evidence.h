// What the spawner's word for how a payload ended says about layers. Pure; any thread.
#pragma once

#include "jail/client.h"
#include "runner/reach/subject.h"

namespace runner::reach {

// wait_status, exited, ended_by and refused_by; the rest is empty.
Answer answer_from(const jail::Ended& ended, const jail::Hello& hello);

}  // namespace runner::reach
