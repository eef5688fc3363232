# Installs sheaf in a new folder, then builds and runs a project that finds it there.
#
# Takes BUILD (sheaf's build folder), EXAMPLE (the project's folder), WORK (a folder to work in),
# LIBTORCH (the one sheaf was built with), VERSION, CXX_COMPILER and GENERATOR.

# run(out command...): what the command writes; an error ends the test.
function(run out)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "exit code ${code} from: ${command}\n${text}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(expect_text text expected)
  string(FIND "${text}" "${expected}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "expected '${expected}' in:\n${text}")
  endif()
endfunction()

# configure(folder libtorch [NAME=value...] cmake [option...]): the project must find that LibTorch.
function(configure folder libtorch)
  run(text ${CMAKE_COMMAND} -E env --unset=VIRTUAL_ENV --unset=CONDA_PREFIX --unset=LIBTORCH
      ${ARGN} -S ${EXAMPLE} -B ${WORK}/${folder} -G ${GENERATOR}
      -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
  expect_text("${text}" "CUDA: ${libtorch}\n")
endfunction()

# The same LibTorch under another name, and a Python environment that has it.
function(make_other_libtorch)
  file(MAKE_DIRECTORY ${WORK}/other ${WORK}/environment/bin)
  file(CREATE_LINK ${LIBTORCH}/include ${WORK}/other/include SYMBOLIC)
  file(CREATE_LINK ${LIBTORCH}/lib ${WORK}/other/lib SYMBOLIC)
  file(WRITE ${WORK}/environment/bin/python3 "#!/bin/sh\necho ${WORK}/other\n")
  file(CHMOD ${WORK}/environment/bin/python3 PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
run(ignored ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(version ${WORK}/prefix/bin/sheaf --version)
expect_text("${version}" "sheaf ${VERSION}")

configure(project ${LIBTORCH} ${CMAKE_COMMAND})
run(ignored ${CMAKE_COMMAND} --build ${WORK}/project)
run(output ${WORK}/project/use_sheaf)
expect_text("${output}" "the sum over 2 ranks is 3\n")

# What the user names comes before the LibTorch that sheaf was built with.
make_other_libtorch()
configure(by_environment ${WORK}/other VIRTUAL_ENV=${WORK}/environment ${CMAKE_COMMAND})
configure(by_variable ${WORK}/other ${CMAKE_COMMAND} -DSHEAF_LIBTORCH=${WORK}/other)
file(REMOVE_RECURSE ${WORK})
