# unit_arithmetic: the restricted evaluator. Its agreement with CPython is in tests/differential.
sandglass_test(unit_arithmetic LABEL unit LIBS runner_arithmetic SOURCES
  arithmetic_batch_test.cc
  arithmetic_extension_test.cc
  arithmetic_repr_test.cc
  arithmetic_sources_test.cc
  arithmetic_verdict_test.cc)
