# cmake -DWARM=FOLDER -P warm.cmake: makes matplotlib's font list by the interpreter the policies
# name, in a home of its own. Without matplotlib there is nothing to warm, and that is said.
set(python /usr/bin/python3)
file(REMOVE_RECURSE ${WARM})
file(MAKE_DIRECTORY ${WARM}/matplotlib ${WARM}/home)
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env HOME=${WARM}/home MPLCONFIGDIR=${WARM}/matplotlib MPLBACKEND=agg
          PYTHONDONTWRITEBYTECODE=1 ${python} -s -c "import matplotlib.font_manager"
  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
file(REMOVE_RECURSE ${WARM}/home)
if(failed)
  message("no matplotlib for ${python}: plots are not possible (apt-get install python3-matplotlib)")
endif()
file(TOUCH ${WARM}/stamp)
