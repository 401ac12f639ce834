# mgtune_library(NAME FOLDERS ... [SOURCES ...] [LINKS ...] [PRIVATE_LINKS ...]): a static library of
# all sources of the folders.
#
# A file of the library, or of one that links it, includes a header of folder x/y as "y/header.h".
# That path exists only for targets that link the library: each library has an include root of its
# own with one link per folder in it. An include that points the wrong way through the layers does
# therefore not compile. A folder below another one of the same library, such as device/cuda, needs
# no root of its own.

add_library(mgtune_options INTERFACE)
target_compile_options(mgtune_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wno-sign-conversion)
# `assert` and GoogleTest write __FILE__ into the object: without the path of the checkout, a compiler
# cache finds the objects of another clone.
target_compile_options(mgtune_options INTERFACE -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlapping copies and impossible sizes and unset members in "literal" + std::string when it optimizes:
  # https://gcc.gnu.org/PR105329, https://gcc.gnu.org/PR105651
  target_compile_options(mgtune_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict
    -Wno-array-bounds -Wno-maybe-uninitialized -Wno-stringop-overread -Wno-stringop-overflow>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND MGTUNE_UNITY_BUILD)
  # g++ first collects its garbage at half a gigabyte. A tenth to a sixth of the compile time goes away, and the
  # largest unit needs 2.6 GB instead of 2.3 GB of memory.
  target_compile_options(mgtune_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()
if(MGTUNE_WERROR)
  target_compile_options(mgtune_options INTERFACE -Werror)
endif()
if(MGTUNE_SANITIZE)
  target_compile_options(mgtune_options INTERFACE -fsanitize=${MGTUNE_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(mgtune_options INTERFACE -fsanitize=${MGTUNE_SANITIZE})
  if(MGTUNE_SANITIZE MATCHES "address" AND MGTUNE_SANITIZE MATCHES "undefined")
    # UBSan would check before an access what AddressSanitizer reports at the access. These checks take a
    # large part of the compile time.
    target_compile_options(mgtune_options INTERFACE -fno-sanitize=null,object-size)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND MGTUNE_SANITIZE MATCHES "address")
    # Tests start thousands of programs. In a position-independent program the loader adjusts the addresses in
    # AddressSanitizer's record of each global variable. Such a program takes 90 ms of processor time to start,
    # and one at a fixed address takes 50 ms.
    target_link_options(mgtune_options INTERFACE
      $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND MGTUNE_SANITIZE MATCHES "address")
    # As GCC does: the cpu device tells AddressSanitizer of its fibers where it is defined.
    target_compile_definitions(mgtune_options INTERFACE __SANITIZE_ADDRESS__=1)
  endif()
endif()
if(MGTUNE_STATIC_LIBRARIES AND MGTUNE_PYTHON)
  # Every Python has libgcc_s. libgcc.a, and parts of libstdc++.a that nothing here needs, would call
  # functions of the newest glibc: a wheel that is built on Debian 12 would need glibc 2.36, not 2.34.
  target_link_options(mgtune_options INTERFACE -static-libstdc++ -Wl,--gc-sections)
elseif(MGTUNE_STATIC_LIBRARIES)
  target_link_options(mgtune_options INTERFACE -static-libstdc++ -static-libgcc)
endif()

# The headers that most sources include, compiled once for all libraries. Its target has no definitions
# of its own: GCC takes a precompiled header only where all of its definitions hold.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cpp CONTENT "")
add_library(mgtune_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
target_link_libraries(mgtune_precompiled PRIVATE mgtune_options)
# The list below names no path of the checkout, so that ccache finds the objects of another clone.
target_include_directories(mgtune_precompiled PRIVATE ${CMAKE_BINARY_DIR}/include_roots/mgtune_core)
target_precompile_headers(mgtune_precompiled PRIVATE
  <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <span> <string> <string_view>
  <utility> <variant> <vector> <core/status.h>)

# Makes "NAME/header.h" mean FOLDER/header.h in everything that has ROOT among its include folders.
function(mgtune_include_root root name folder)
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${folder} ${root}/${name} SYMBOLIC)
endfunction()

function(mgtune_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "FOLDERS;SOURCES;LINKS;PRIVATE_LINKS")
  set(root ${CMAKE_BINARY_DIR}/include_roots/${name})
  set(sources ${ARG_SOURCES})
  foreach(folder IN LISTS ARG_FOLDERS)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
    list(APPEND sources ${found})
    # A unity build compiles the sources of a folder as one: their headers are read once.
    string(MAKE_C_IDENTIFIER ${folder} group)
    if(MGTUNE_UNITY_LIBRARIES)
      set(group all)
    endif()
    set_source_files_properties(${found} PROPERTIES UNITY_GROUP ${group})
    if(NOT folder MATCHES "/")
      mgtune_include_root(${root} ${folder} ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
    endif()
  endforeach()
  add_library(${name} STATIC ${sources})
  set_target_properties(${name} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
    UNITY_BUILD ${MGTUNE_UNITY_BUILD} UNITY_BUILD_MODE GROUP)
  target_include_directories(${name} PUBLIC ${root})
  target_link_libraries(${name} PUBLIC ${ARG_LINKS} PRIVATE mgtune_options ${ARG_PRIVATE_LINKS})
  target_precompile_headers(${name} REUSE_FROM mgtune_precompiled)
endfunction()
