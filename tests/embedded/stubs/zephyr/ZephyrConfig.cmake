# SPDX-License-Identifier: MIT
# A stand-in for Zephyr's package, with the commands that the module and its sample use. It builds for this machine.
project(stub C)
add_compile_options(-Wall -Wextra -Werror)
add_executable(app)
target_include_directories(app PRIVATE ${CMAKE_CURRENT_LIST_DIR})

file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/prj.conf settings REGEX "^CONFIG_[A-Z0-9_]+=y$")
foreach(setting ${settings})
  string(REPLACE "=y" "" setting ${setting})
  set(${setting} y)
endforeach()

macro(zephyr_library_named name)
  set(ZEPHYR_CURRENT_LIBRARY ${name})
  add_library(${name} STATIC)
  target_link_libraries(app PRIVATE ${name})
endmacro()

function(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGV})
endfunction()

function(zephyr_include_directories)
  foreach(folder ${ARGV})
    get_filename_component(folder ${folder} ABSOLUTE)
    target_include_directories(app PRIVATE ${folder})
  endforeach()
endfunction()

# MODULE_CMAKE is the folder that module.yml names.
foreach(module ${EXTRA_ZEPHYR_MODULES})
  add_subdirectory(${module}/${MODULE_CMAKE} modules)
endforeach()
