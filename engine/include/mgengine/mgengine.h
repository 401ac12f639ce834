/* libmgengine computes the logits of a language model, token by token.
 *
 *   mge_load     opens a model: a folder of Hugging Face or a llama2.c file
 *   mge_step     takes one token for each sequence
 *   mge_logits   gives the logits of a sequence after the last step
 *   mge_free
 *
 * Functions that can fail return mge_status_t, which is 0 for success. On failure their outputs are
 * unchanged, and mge_last_error() has the message of the calling thread's last failure. Strings are
 * UTF-8 and end with a zero. No C++ exception leaves the library.
 *
 * Threads: different models may be used at the same time, one model by one thread at a time.
 */

#ifndef MGENGINE_MGENGINE_H_
#define MGENGINE_MGENGINE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(MGENGINE_BUILDING)
#define MGE_API __attribute__((visibility("default")))
#else
#define MGE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): this header is C. */

typedef enum mge_status_t {
  MGE_OK = 0,
  MGE_INVALID_ARGUMENT = 1, /* the caller's value is wrong: a token, a dtype, a null pointer */
  MGE_BAD_FILE = 2,         /* a file is missing, damaged, or not as its config says */
  MGE_UNSUPPORTED = 3,      /* a model or an option that this library cannot run */
  MGE_OUT_OF_MEMORY = 4,    /* of the host; MGE_ENVIRONMENT if weights or caches do not fit */
  MGE_INTERNAL = 5,         /* a bug of the library */
  MGE_ENVIRONMENT = 6       /* this machine has no such device, no compiler, or too little memory */
} mge_status_t;

typedef struct mge_model_t mge_model_t;

/* Set struct_size to sizeof(mge_options_t), and every field that you do not use to zero. */
typedef struct mge_options_t {
  size_t struct_size;
  uint32_t sequences; /* 1 to 8; 0 means 1 */
  uint32_t capacity;  /* positions that the caches have room for; 0: all that the model has */
  const char* dtype;  /* of weights, activations and caches: "f32", "bf16", "f16"; NULL: "f32" */
  const char* way;    /* "graph", "steps", "reference" or "auto"; NULL: "auto", see below */
  const char* device; /* of the ways steps and graph, as in mgr_open_options_t; NULL: "auto" */
} mge_options_t;

/* The way "auto" is "graph" if the machine has a GPU or `device` names one, "steps" if `device` is
 * "cpu", otherwise "reference", which needs no device and is slow. */

typedef struct mge_info_t {
  size_t struct_size;
  uint32_t sequences;
  uint32_t capacity;
  uint32_t vocabulary; /* tokens are below this */
} mge_info_t;

/* `options` may be NULL. The files are not used after this call. Free the model with mge_free(). */
MGE_API mge_status_t mge_load(const char* path, const mge_options_t* options, mge_model_t** model);
MGE_API void mge_free(mge_model_t* model); /* NULL is ignored */

/* The caller sets struct_size. */
MGE_API mge_status_t mge_info(const mge_model_t* model, mge_info_t* info);

/* Sets the position of the next step; 0 begins all sequences anew. MGE_INVALID_ARGUMENT if it is
 * above the position that the last step has reached. */
MGE_API mge_status_t mge_set_position(mge_model_t* model, uint32_t position);

/* Takes tokens[i] as the next token of sequence i. There must be one for each sequence.
 * MGE_INVALID_ARGUMENT, without any effect, if a token is not below the vocabulary or if the caches
 * are full. */
MGE_API mge_status_t mge_step(mge_model_t* model, const int32_t* tokens, size_t count);

/* Copies the logits of one sequence; `count` must be the vocabulary. MGE_INVALID_ARGUMENT before
 * the first step. */
MGE_API mge_status_t mge_logits(mge_model_t* model, uint32_t sequence, float* logits, size_t count);

/* The most likely next token of each sequence. MGE_INVALID_ARGUMENT before the first step. */
MGE_API mge_status_t mge_next_tokens(mge_model_t* model, int32_t* tokens, size_t count);

/* Valid until the next call of this thread. "" if nothing has failed. */
MGE_API const char* mge_last_error(void);

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif /* MGENGINE_MGENGINE_H_ */
