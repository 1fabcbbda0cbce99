# SPDX-License-Identifier: MIT
# As ESP-IDF does first: it reads the component as a script, until it registers, and wants its requirements only.
set(ESP_PLATFORM 1)
macro(idf_component_register)
  message(STATUS "registered")
  return()
endmacro()
include(${COMPONENT}/CMakeLists.txt)
