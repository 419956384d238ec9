# Of runner/trace and runner/replay: records, and what is compared.
sandglass_test(unit_trace LABEL unit LIBS runner_core SOURCES trace_record_test.cc)
