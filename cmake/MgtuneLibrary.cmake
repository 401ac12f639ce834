# mgtune_library(NAME [SOURCES ...] [LINKS ...] [PRIVATE_LINKS ...]): one folder, one static library.
#
# Sources include the folder's headers as "NAME/header.h". That path exists only for targets that
# link the library (each gets an include root of its own with one link in it), so an include that
# points the wrong way through the layers does not compile.

add_library(mgtune_options INTERFACE)
target_compile_options(mgtune_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlapping copies in "literal" + std::string at -O3: https://gcc.gnu.org/PR105329
  target_compile_options(mgtune_options INTERFACE $<$<CONFIG:Release>:-Wno-restrict>)
endif()
if(MGTUNE_WERROR)
  target_compile_options(mgtune_options INTERFACE -Werror)
endif()
if(MGTUNE_SANITIZE)
  target_compile_options(mgtune_options INTERFACE -fsanitize=${MGTUNE_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(mgtune_options INTERFACE -fsanitize=${MGTUNE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND MGTUNE_SANITIZE MATCHES "address")
    # As GCC does: the cpu device tells AddressSanitizer of its fibers where it is defined.
    target_compile_definitions(mgtune_options INTERFACE __SANITIZE_ADDRESS__=1)
  endif()
endif()
if(MGTUNE_STATIC_LIBRARIES)
  target_link_options(mgtune_options INTERFACE -static-libstdc++ -static-libgcc)
endif()

function(mgtune_include_root name folder)
  set(root ${CMAKE_BINARY_DIR}/include_roots/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${folder} ${root}/${name} SYMBOLIC)
  set(MGTUNE_INCLUDE_ROOT ${root} PARENT_SCOPE)
endfunction()

function(mgtune_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS")
  add_library(${name} STATIC ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME mgtune_${name}
    ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  mgtune_include_root(${name} ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(${name} PUBLIC ${MGTUNE_INCLUDE_ROOT})
  target_link_libraries(${name} PUBLIC ${ARG_LINKS} PRIVATE mgtune_options ${ARG_PRIVATE_LINKS})
endfunction()
