"""Adapts a library at the moment it is imported, and imports nothing itself."""
from _sandglass.private import builtins as __builtins__

import sys


class _Finder:
    """On sys.meta_path until the module is imported: lets it be, and adapts it once it is complete."""

    def __init__(self, name, adapt):
        self._name, self._adapt = name, adapt

    def find_spec(self, name, path=None, target=None):
        if name != self._name:
            return None
        for finder in list(sys.meta_path):
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    self._follow(spec.loader)
                return spec
        return None

    def _follow(self, loader):
        execute = loader.exec_module

        def exec_module(module):
            execute(module)
            self._adapt(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)

        loader.exec_module = exec_module


def when_imported(name, adapt):
    module = sys.modules.get(name)
    if module is not None:
        adapt(module)
    else:
        sys.meta_path.insert(0, _Finder(name, adapt))
