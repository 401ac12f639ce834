# mgtune_embed(TARGET FUNCTION FILES...): puts files of this repository into the target's binary, as
# a table that the function returns: std::span<const EmbeddedFile> FUNCTION(). core/embedded.h declares
# the type. Paths are relative to the repository's root.

function(mgtune_embed target function)
  list(SORT ARGN)
  set(assembly ".section .rodata\n")
  set(declarations "")
  set(rows "")
  set(index 0)
  set(absolute_files "")
  foreach(file IN LISTS ARGN)
    set(path ${CMAKE_SOURCE_DIR}/${file})
    string(APPEND assembly
      ".globl mgtune_${function}_${index}\n.hidden mgtune_${function}_${index}\n"
      "mgtune_${function}_${index}:\n.incbin \"${path}\"\n"
      ".globl mgtune_${function}_end_${index}\n.hidden mgtune_${function}_end_${index}\n"
      "mgtune_${function}_end_${index}:\n.byte 0\n")
    string(APPEND declarations
      "extern \"C\" const char mgtune_${function}_${index}[], mgtune_${function}_end_${index}[];\n")
    string(APPEND rows
      "    {\"${file}\", {mgtune_${function}_${index}, "
      "static_cast<std::size_t>(mgtune_${function}_end_${index} - mgtune_${function}_${index})}},\n")
    list(APPEND absolute_files ${path})
    math(EXPR index "${index} + 1")
  endforeach()
  string(APPEND assembly ".section .note.GNU-stack,\"\",@progbits\n")

  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${function}_data.S CONTENT "${assembly}" @ONLY)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${function}_table.cpp @ONLY CONTENT
"#include \"core/embedded.h\"

${declarations}
namespace mgtune {

std::span<const EmbeddedFile> ${function}() {
  static const EmbeddedFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace mgtune
")
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/${function}_data.S PROPERTIES
    OBJECT_DEPENDS "${absolute_files}")
  target_sources(${target} PRIVATE
    ${CMAKE_CURRENT_BINARY_DIR}/${function}_data.S ${CMAKE_CURRENT_BINARY_DIR}/${function}_table.cpp)
endfunction()
