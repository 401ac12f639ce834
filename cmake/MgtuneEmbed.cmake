# mgtune_embed(TARGET FILES...): puts files of this repository into the target's binary, as the
# table that core/embedded.h declares. Paths are relative to the repository's root.

function(mgtune_embed target)
  list(SORT ARGN)
  set(assembly ".section .rodata\n")
  set(declarations "")
  set(rows "")
  set(index 0)
  set(absolute_files "")
  foreach(file IN LISTS ARGN)
    set(path ${CMAKE_SOURCE_DIR}/${file})
    string(APPEND assembly
      ".globl mgtune_embedded_${index}\n.hidden mgtune_embedded_${index}\n"
      "mgtune_embedded_${index}:\n.incbin \"${path}\"\n"
      ".globl mgtune_embedded_end_${index}\n.hidden mgtune_embedded_end_${index}\n"
      "mgtune_embedded_end_${index}:\n.byte 0\n")
    string(APPEND declarations
      "extern \"C\" const char mgtune_embedded_${index}[], mgtune_embedded_end_${index}[];\n")
    string(APPEND rows
      "    {\"${file}\", {mgtune_embedded_${index}, "
      "static_cast<std::size_t>(mgtune_embedded_end_${index} - mgtune_embedded_${index})}},\n")
    list(APPEND absolute_files ${path})
    math(EXPR index "${index} + 1")
  endforeach()
  string(APPEND assembly ".section .note.GNU-stack,\"\",@progbits\n")

  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded_data.S CONTENT "${assembly}" @ONLY)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded_table.cpp @ONLY CONTENT
"#include \"core/embedded.h\"

${declarations}
namespace mgtune {

std::span<const EmbeddedFile> embedded_files() {
  static const EmbeddedFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace mgtune
")
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/embedded_data.S PROPERTIES
    OBJECT_DEPENDS "${absolute_files}")
  target_sources(${target} PRIVATE
    ${CMAKE_CURRENT_BINARY_DIR}/embedded_data.S ${CMAKE_CURRENT_BINARY_DIR}/embedded_table.cpp)
endfunction()
