# Installs the build, builds the project against that, and compares what it predicts with what the program predicts.
file(REMOVE_RECURSE ${WORK})
foreach(part library data)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed --component ${part}
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${PROJECT} -B ${WORK}/build -D CMAKE_PREFIX_PATH=${WORK}/installed
                        -D CMAKE_CXX_COMPILER=${CXX_COMPILER}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build OUTPUT_VARIABLE log RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${log}")
endif()
execute_process(COMMAND ${WORK}/build/consumer ${SCENARIO} OUTPUT_VARIABLE of_consumer COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${MIRFAK} simulate ${SCENARIO} --format json OUTPUT_VARIABLE json COMMAND_ERROR_IS_FATAL ANY)
string(JSON of_program GET "${json}" iteration_time_s)
string(STRIP "${of_consumer}" of_consumer)
if(NOT of_consumer EQUAL of_program)
  message(FATAL_ERROR "the consumer predicts '${of_consumer}' s, the program '${of_program}' s")
endif()
message(STATUS "both predict ${of_program} s")
