# Of runner/reach/: what can be read off a policy, and two subjects side by side.
sandglass_test(unit_compare LABEL unit LIBS runner_compare SOURCES
  reach_compare_test.cc
  reach_door_test.cc
  reach_facts_test.cc
  reach_running_test.cc
  reach_static_test.cc)
target_compile_definitions(unit_compare PRIVATE
  SANDGLASS_POLICIES="${PROJECT_SOURCE_DIR}/policies")
