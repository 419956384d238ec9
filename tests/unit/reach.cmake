sandglass_test(unit_reach LABEL unit
  SOURCES reach_catalogue_test.cc reach_judge_test.cc reach_report_test.cc reach_why_test.cc
  LIBS runner_reach)
