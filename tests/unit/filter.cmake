# unit_filter: compiled filters against libseccomp's.
sandglass_test(unit_filter LABEL unit TIMEOUT 300
  SOURCES filter_reference_test.cc ${CMAKE_SOURCE_DIR}/tests/support/reference_filter.cc
  LIBS policies jail ${SECCOMP_STATIC})
target_compile_definitions(unit_filter PRIVATE SANDGLASS_POLICIES="${CMAKE_SOURCE_DIR}/policies")
