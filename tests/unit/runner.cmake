# Of runner/: outcomes, refused calls, text, pumps, jobs, files out of a workdir.
sandglass_test(unit_runner LABEL unit LIBS runner_core SOURCES
  runner_denied_test.cc
  runner_error_test.cc
  runner_job_test.cc
  runner_metrics_test.cc
  runner_outcome_test.cc
  runner_pumps_test.cc
  runner_rules_test.cc
  runner_text_test.cc
  runner_workdir_test.cc)
target_compile_definitions(unit_runner PRIVATE
  SANDGLASS_POLICIES="${PROJECT_SOURCE_DIR}/policies")
