# Of runner/: outcomes, refused calls, text, files out of a workdir.
sandglass_test(unit_runner LABEL unit LIBS runner_core SOURCES
  runner_denied_test.cc
  runner_outcome_test.cc
  runner_text_test.cc
  runner_workdir_test.cc)
