"""A copy of the builtins, made before user code runs.

A module whose first line is `from _sandglass.private import builtins as __builtins__` resolves
len, str, print ... in this copy: functions take their builtins from their globals when they are
defined. User code may replace builtins.len and breaks only itself.
"""

import builtins as _shared

builtins = dict(vars(_shared))
