# The pure half of jail/: plans, filters, parsing, words.
sandglass_test(unit_jail
  LABEL unit
  SOURCES
    jail_cgroup_find_test.cc
    jail_error_test.cc
    jail_filter_kernel_test.cc
    jail_filter_test.cc
    jail_plan_test.cc
    jail_plan_hostile_test.cc
  LIBS jail
  TIMEOUT 120)
