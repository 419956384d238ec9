sandglass_test(unit_policies LABEL unit LIBS policies jail SOURCES
  policies_argtest_test.cc
  policies_compile_test.cc
  policies_explain_test.cc
  policies_hostile_test.cc
  policies_load_test.cc
  policies_narrow_test.cc
  policies_parse_test.cc
  policies_quantity_test.cc
  policies_syscalls_test.cc
  policies_validate_test.cc)
target_compile_definitions(unit_policies PRIVATE
  POLICY_FOLDER="${CMAKE_CURRENT_LIST_DIR}/../../policies")
# GCC 12 sees an overlap in  "literal" + std::string  that is not there (GCC bug 105651).
target_compile_options(unit_policies PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
