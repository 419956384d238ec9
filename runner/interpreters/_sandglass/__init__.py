"""The Python driver's parts. User code shares the process, so nothing here relies on what it can
replace: builtins are a private copy, modules are held by reference, streams are checked before use.
"""
