/* Continues a text with a language model: takes tokens as numbers, and prints the most likely ones
 * that follow.
 *
 *   next_tokens MODEL COUNT TOKEN...
 *   next_tokens tests/engine/models/stories260K 8 1 403 407 261 378
 */

#include <mgengine/mgengine.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, mge_last_error());
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: %s MODEL COUNT TOKEN...\n", argv[0]);
    return 2;
  }
  const int count = atoi(argv[2]);
  const int prompt = argc - 3;

  mge_model_t* model = NULL;
  mge_options_t options = {0};
  options.struct_size = sizeof(options);
  options.dtype = "f32";
  if (mge_load(argv[1], &options, &model) != MGE_OK) return fail("mge_load");

  for (int i = 0; i < prompt + count - 1; ++i) {
    int32_t token = 0;
    if (i < prompt) {
      token = (int32_t)atoi(argv[3 + i]);
    } else if (mge_next_tokens(model, &token, 1) != MGE_OK) {
      return fail("mge_next_tokens");
    }
    if (mge_step(model, &token, 1) != MGE_OK) return fail("mge_step");
    if (i >= prompt - 1) {
      int32_t next = 0;
      if (mge_next_tokens(model, &next, 1) != MGE_OK) return fail("mge_next_tokens");
      printf("%d\n", (int)next);
    }
  }
  mge_free(model);
  return 0;
}
