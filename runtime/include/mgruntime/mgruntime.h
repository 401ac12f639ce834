/* libmgruntime: launches the tuned variant of an operator for the GPU and the shape at hand.
 *
 *   mgr_open        a device, the families and the tuned tables
 *   mgr_plan        an operator with static dims, dtypes and flags bound; may compile and load
 *   mgr_prepare     many plans at once
 *   mgr_launch      any shape in the plan's ranges; looks up, evaluates, launches, nothing else
 *   mgr_plan_free, mgr_close
 *
 * mgruntime/operators.h has mgr_launch as a typed function for each built-in operator.
 *
 * ABI rules
 *  1. Handles are opaque. Every handle is freed by the function that names it; null is ignored
 *     there. A plan may outlive the mgr_close of its context.
 *  2. Every options struct starts with struct_size = sizeof(the struct). Fields are only ever added
 *     at the end; what a caller's older struct lacks has its zero value, which is the default. A
 *     struct_size below that of version 1 is MGR_INVALID_ARGUMENT; fields of a newer header that
 *     are not zero are MGR_UNSUPPORTED.
 *  3. Every function that can fail returns mgr_status_t, 0 for success, and leaves its outputs
 *     untouched on failure. mgr_last_error() has the message. Each says below which statuses it
 *     returns; besides those, every one may return MGR_INVALID_ARGUMENT for a null pointer that is
 *     not said to be allowed, MGR_OUT_OF_MEMORY, MGR_INTERNAL, and on a GPU MGR_DEVICE_LOST.
 *  4. Strings are UTF-8 and end with a zero. The library copies what it is passed; what it returns
 *     belongs to it and lives as long as the function says.
 *  5. Streams and device memory are void*; a stream is a CUstream (cudaStream_t), null the default
 *     stream. No CUDA header is needed. No C++ exception leaves the library.
 *  6. Symbols are mgr_*; MGR_ABI_VERSION grows when functions or fields are added. The library's
 *     soname changes when anything is removed or changes its meaning.
 *
 * Threads: a context may be used by several threads at once; its functions take turns, except that
 * mgr_plan and mgr_prepare compile at the same time, and a build once. mgr_launch,
 * mgr_workspace_bytes and mgr_explain take no lock: any number of threads may launch one plan, each
 * with a workspace of its own per stream. On a GPU every function leaves the device's primary
 * context current on the calling thread, as the CUDA runtime does. Freeing a handle that is in use
 * is the caller's mistake.
 */

#ifndef MGRUNTIME_MGRUNTIME_H_
#define MGRUNTIME_MGRUNTIME_H_

#include <stddef.h>
#include <stdint.h>

#if defined(MGRUNTIME_BUILDING)
#define MGR_API __attribute__((visibility("default")))
#else
#define MGR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MGR_ABI_VERSION 2

/* NOLINTBEGIN(modernize-use-using): this header is C. */

/* The version the loaded library implements; at least the MGR_ABI_VERSION that the caller needs. */
MGR_API int32_t mgr_abi_version(void);

typedef enum mgr_status_t {
  MGR_OK = 0,
  MGR_INVALID_ARGUMENT = 1, /* a name, a number or a pointer is wrong */
  MGR_NOT_FOUND = 2,        /* a well-formed name of something that is not there */
  MGR_ENVIRONMENT = 3,      /* this machine lacks it: a GPU, a driver, a compiler, memory */
  MGR_CORRUPT = 4,          /* a file's content is damaged; it was not touched */
  MGR_INCOMPATIBLE = 5,     /* a file of a newer or foreign format */
  MGR_IO = 6,               /* the operating system refused */
  MGR_COMPILE_FAILED = 7,
  MGR_LAUNCH_FAILED = 8,
  MGR_TIMEOUT = 9,
  MGR_DEVICE_LOST = 10,  /* nothing more can run on this device in this process */
  MGR_UNSUPPORTED = 11,  /* valid, but not on this device or not by this plan */
  MGR_INTERNAL = 12,     /* a fault of the library */
  MGR_OUT_OF_MEMORY = 13 /* of the library's own; the device's is MGR_ENVIRONMENT */
} mgr_status_t;

/* The message of this thread's last failure; "" before the first. Valid until the thread's next
 * call that fails. */
MGR_API const char* mgr_last_error(void);

/* ---- context: a device, the families and the tuned tables ---- */

typedef struct mgr_context_s mgr_context_t;

typedef struct mgr_open_options_t {
  size_t struct_size;
  /* "auto" (the first GPU, else cpu), "cpu", a product name ("H200"), a CUDA index or a UUID.
   * Null: "auto". */
  const char* device;
  /* Tuned rows: a results database, a tuned table (what 'mgtune export' writes) or a pack (what
   * 'mgtune pack' writes: a table with its builds), told apart by content. Null: $MGTUNE_DB, else
   * results.db in the user's data folder and, for what that has no row of, the tables installed
   * with the library. Read once, by mgr_open. A file that does not exist is as an empty one:
   * default variants run. So is the user's where neither XDG_DATA_HOME nor HOME says where that
   * would be. A pack whose builds do not run here (another GPU, an older driver) is used as far as
   * it goes and warned of once, on stderr unless MGTUNE_QUIET is set, and in mgr_explain. */
  const char* database;
  /* Folders of families besides those that are built in. */
  const char* const* family_folders;
  size_t family_folder_count;
} mgr_open_options_t;

/* `options` may be null: everything by default.
 *
 * MGR_ENVIRONMENT, listing the devices, when none here has that name, or when the device cannot be
 * opened; MGR_INVALID_ARGUMENT when the name means several. MGR_NOT_FOUND for a family folder that
 * is not there, MGR_INVALID_ARGUMENT for one with a malformed operator, naming file and place.
 * MGR_CORRUPT, MGR_INCOMPATIBLE or MGR_IO, naming the file, for a database, table or pack that
 * cannot be read, that is of a newer format, or that names a value which a parameter does not
 * offer, or, in a table or pack, a design or parameter that there is not. The file stays. */
MGR_API mgr_status_t mgr_open(const mgr_open_options_t* options, mgr_context_t** context);
MGR_API void mgr_close(mgr_context_t* context);

/* "NVIDIA H200", or "cpu". Lives as long as the context. */
MGR_API const char* mgr_device_name(const mgr_context_t* context);

/* ---- plan: an operator ready to launch ---- */

typedef struct mgr_plan_s mgr_plan_t;

/* A static dim ("hidden" = "4096"), a dtype ("T" = "bf16"), a flag ("causal" = "true") or an
 * optional tensor that will be passed ("rstd" = "true"). Flags and optional tensors that are not
 * named are false. */
typedef struct mgr_assignment_t {
  const char* name;
  const char* value;
} mgr_assignment_t;

/* The shapes the plan is made for: inclusive bounds of a dynamic or hint dim, in elements. A dim
 * with a default (a stride) that is not named is planned at its default. Other shapes launch too
 * where a variant of the plan serves them. */
typedef struct mgr_range_t {
  const char* dim;
  int64_t low;
  int64_t high;
} mgr_range_t;

typedef struct mgr_plan_options_t {
  size_t struct_size;
  const char* operator_name; /* "rmsnorm.forward" */
  const mgr_assignment_t* assignments;
  size_t assignment_count;
  const mgr_range_t* ranges;
  size_t range_count;
} mgr_plan_options_t;

/* Chooses variants, builds those that are not in the cache ($MGTUNE_CACHE_DIR, else mgtune in the
 * user's cache folder) and loads them: from milliseconds to seconds. MGTUNE_STRICT=1 in the
 * environment refuses tuned variants whose build is not the one that was measured.
 *
 * MGR_NOT_FOUND for an operator or a family that is not known, with what was perhaps meant.
 * MGR_INVALID_ARGUMENT for assignments and ranges that the operator does not allow. MGR_UNSUPPORTED
 * when no variant serves the problem on this device. MGR_COMPILE_FAILED, MGR_LAUNCH_FAILED (a build
 * does not load), MGR_TIMEOUT (of the compiler), MGR_ENVIRONMENT (no compiler) or MGR_IO when no
 * variant could be built and loaded: that of the one that the message names. */
MGR_API mgr_status_t mgr_plan(mgr_context_t* context, const mgr_plan_options_t* options,
                              mgr_plan_t** plan);
MGR_API void mgr_plan_free(mgr_plan_t* plan);

/* mgr_plan for each of the problems, by several threads at once: before serving, so that no request
 * waits for a compiler. `threads` 0: one for each CPU. plans[i] gets the plan of problems[i], null
 * where it failed; statuses[i] its status. Both may be null: without `plans` builds are left in the
 * cache for mgr_plan to find, without `statuses` the result alone tells.
 *
 * MGR_OK when every problem was planned, else the status of the first that was not, with a line for
 * each of those in the message; the others are planned all the same. */
MGR_API mgr_status_t mgr_prepare(mgr_context_t* context, const mgr_plan_options_t* const* problems,
                                 size_t problem_count, size_t threads, mgr_plan_t** plans,
                                 mgr_status_t* statuses);

/* Bytes of workspace that a launch of any shape in the ranges may need; 0 when none does. */
MGR_API size_t mgr_workspace_bytes(const mgr_plan_t* plan);

/* Prepares a new workspace, in order on the stream. Once for each; launches leave it prepared.
 * `workspace` may be null where mgr_workspace_bytes() is 0. MGR_LAUNCH_FAILED when the device
 * refuses. */
MGR_API mgr_status_t mgr_workspace_init(const mgr_plan_t* plan, void* workspace, void* stream);

/* clang-format off: it would run the list together. */
/* Launches the operator on the stream: asynchronous on a GPU, run to its end on cpu. Compiles,
 * allocates, locks and synchronizes nothing.
 *
 *  - dims: the dynamic and hint dims in the operator's order, in elements; -1 for a dim's default.
 *  - tensors: device pointers in the operator's order, null for an optional tensor that the plan
 *    was made without; an empty tensor may be null. Elements lie as the operator's shape and
 * strides say (without strides: contiguous, last dim fastest). Every pointer is aligned to its
 * element, or to the operator's `align` where that is stated; variants that want more are passed
 * over when a pointer has less.
 *  - scalars: in the operator's order; converted to the declared type. An integer type must hold
 * the value exactly, a floating one as a finite number unless NaN or an infinity is what is passed.
 *  - workspace: mgr_workspace_bytes() of device memory, aligned to 256 bytes, prepared, and not in
 *    use by a launch on another stream; null when that is 0.
 *
 * With MGTUNE_RECORD=FILE in the environment a plan writes each problem that it launches into FILE,
 * once, for 'mgtune sweep --shapes FILE'; without it a launch pays nothing for that.
 *
 * MGR_INVALID_ARGUMENT for arguments the operator does not allow, also dims that make a tensor of
 * 2^48 bytes or more; MGR_UNSUPPORTED when no variant
 * of the plan serves the call; the message says what kept each out. MGR_LAUNCH_FAILED when the
 * device refuses the launch, or, on cpu, when the kernel fails; on a GPU what a kernel does wrong
 * comes from a later call. */
/* clang-format on */
MGR_API mgr_status_t mgr_launch(const mgr_plan_t* plan, void* stream, const int64_t* dims,
                                size_t dim_count, void* const* tensors, size_t tensor_count,
                                const double* scalars, size_t scalar_count, void* workspace);

/* Which variant serves these dims and why, as lines of text for people. Writes at most `size` bytes
 * with the closing zero; `needed`, unless null, gets the size that the whole text takes. `buffer`
 * may be null where `size` is 0. MGR_INVALID_ARGUMENT and MGR_UNSUPPORTED as mgr_launch. */
MGR_API mgr_status_t mgr_explain(const mgr_plan_t* plan, const int64_t* dims, size_t dim_count,
                                 char* buffer, size_t size, size_t* needed);

/* ---- memory of the context's device, for programs that have no other means ---- */

/* MGR_ENVIRONMENT when the device has not that much memory. */
MGR_API mgr_status_t mgr_allocate(mgr_context_t* context, size_t bytes, void** memory);
MGR_API void mgr_free(mgr_context_t* context, void* memory);
/* In order after everything on the default stream; pointers may be null for 0 bytes.
 * MGR_LAUNCH_FAILED when the GPU refuses; on cpu a bad address ends the process. */
MGR_API mgr_status_t mgr_copy_to_device(mgr_context_t* context, void* device, const void* host,
                                        size_t bytes);
MGR_API mgr_status_t mgr_copy_to_host(mgr_context_t* context, void* host, const void* device,
                                      size_t bytes);
/* Waits for everything on the stream. MGR_LAUNCH_FAILED or MGR_DEVICE_LOST for what an earlier
 * launch did wrong. */
MGR_API mgr_status_t mgr_synchronize(mgr_context_t* context, void* stream);

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif /* MGRUNTIME_MGRUNTIME_H_ */
