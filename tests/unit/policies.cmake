sandglass_test(unit_policies LABEL unit LIBS policies jail SOURCES
  policies_argtest_test.cc
  policies_compile_test.cc
  policies_explain_test.cc
  policies_hostile_test.cc
  policies_load_test.cc
  policies_narrow_test.cc
  policies_parse_test.cc
  policies_quantity_test.cc
  policies_settings_test.cc
  policies_syscalls_test.cc
  policies_validate_test.cc)
target_compile_definitions(unit_policies PRIVATE
  POLICY_FOLDER="${CMAKE_CURRENT_LIST_DIR}/../../policies")
