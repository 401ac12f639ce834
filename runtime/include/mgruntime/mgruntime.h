/* libmgruntime launches the tuned variant of an operator for your GPU and your shape.
 *
 *   mgr_open        opens a device, the families and the tuned tables
 *   mgr_plan        binds an operator's static dims, dtypes and flags; may compile and load
 *   mgr_prepare     makes many plans at the same time
 *   mgr_launch      launches any shape in the plan's ranges; it never compiles
 *   mgr_plan_free, mgr_close
 *
 * mgruntime/operators.h has a typed function around mgr_launch for each built-in operator.
 *
 * ABI rules
 *  1. Handles are opaque. The function that names a handle's type frees it; a null handle is
 *     ignored there. You may use a plan after the mgr_close of its context.
 *  2. Every options struct starts with struct_size = sizeof(the struct). New fields are only ever
 *     added at the end. If the caller's struct is older and lacks a field, the field counts as
 *     zero, which is its default. A struct_size smaller than that of version 1 gives
 *     MGR_INVALID_ARGUMENT. If the caller's header is newer than the library and a field that the
 *     library does not know is not zero, the result is MGR_UNSUPPORTED.
 *  3. Every function that can fail returns mgr_status_t, which is 0 for success. A function that
 *     fails leaves its outputs unchanged, and mgr_last_error() has the message. Each function lists
 *     its statuses below. Besides those, every function may return MGR_INVALID_ARGUMENT for a null
 *     pointer that is not allowed, MGR_OUT_OF_MEMORY, MGR_INTERNAL, on a GPU
 *     MGR_DEVICE_LOST, and in the child of a fork() MGR_FORKED.
 *  4. Strings are UTF-8 and end with a zero. The library copies the strings that you pass. Strings
 *     that it returns belong to the library; each function says how long they live.
 *  5. Streams and device memory are void*. A stream is a CUstream (cudaStream_t); null is the
 *     default stream. You need no CUDA header. No C++ exception leaves the library.
 *  6. All symbols are named mgr_*. MGR_ABI_VERSION grows when functions, fields or statuses are
 *     added. The library's soname changes when anything is removed or changes its meaning.
 *
 * Threads: several threads may use one context at the same time. mgr_plan and mgr_prepare compile
 * at the same time, and compile the same build only once; they load one after the other.
 * Allocations, copies and mgr_synchronize hold up no other thread, however long a stream takes.
 * mgr_launch, mgr_workspace_bytes and mgr_explain take no lock: any number of threads may launch
 * one plan, if each stream has a workspace of its own (and see mgr_launch about constant memory).
 * On a GPU every function leaves the device's primary context current on the calling thread, as the
 * CUDA runtime does. Freeing a handle that is in use is a mistake of the caller.
 *
 * Processes: after the first mgr_open, a child of fork() cannot use the library, because it has
 * neither the threads nor the driver of its parent. In the child every function that returns a
 * status returns MGR_FORKED, and the functions that free do nothing. Fork before mgr_open, or call
 * exec in the child.
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

#define MGR_ABI_VERSION 4

/* NOLINTBEGIN(modernize-use-using): this header is C. */

/* The version that the loaded library implements. It must be at least the MGR_ABI_VERSION of the
 * header that you compile with. */
MGR_API int32_t mgr_abi_version(void);

typedef enum mgr_status_t {
  MGR_OK = 0,
  MGR_INVALID_ARGUMENT = 1, /* a name, a number or a pointer is wrong */
  MGR_NOT_FOUND = 2,        /* a well-formed name of something that does not exist */
  MGR_ENVIRONMENT = 3,      /* the machine has no such GPU, driver, compiler or memory */
  MGR_CORRUPT = 4,          /* the content of a file is damaged; the file was not changed */
  MGR_INCOMPATIBLE = 5,     /* a file of a newer or unknown format */
  MGR_IO = 6,               /* the operating system reported an error */
  MGR_COMPILE_FAILED = 7,
  MGR_LAUNCH_FAILED = 8,
  MGR_TIMEOUT = 9,
  MGR_DEVICE_LOST = 10,   /* this process can run nothing more on this device */
  MGR_UNSUPPORTED = 11,   /* valid, but not on this device or not with this plan */
  MGR_INTERNAL = 12,      /* a bug of the library */
  MGR_OUT_OF_MEMORY = 13, /* host memory; for device memory it is MGR_ENVIRONMENT */
  MGR_FORKED = 14         /* in the child of a fork() after mgr_open */
} mgr_status_t;

/* The message of the last failure on this thread, or "" if there was none. It is valid until the
 * next call on this thread that fails. */
MGR_API const char* mgr_last_error(void);

/* ---- context: a device, the families and the tuned tables ---- */

typedef struct mgr_context_s mgr_context_t;

typedef struct mgr_open_options_t {
  size_t struct_size;
  /* "auto" (the first GPU, or cpu if there is none), "cpu", a product name ("H200"), a CUDA index
   * or a UUID. Null means "auto". */
  const char* device;
  /* Where tuned rows come from: a results database, a tuned table (written by 'mgtune export') or a
   * pack (written by 'mgtune pack': a table with its builds). The content decides which it is.
   *
   * Null means $MGTUNE_DB. If that is not set either, the library reads results.db in the user's
   * data folder, and uses the tables that are installed with the library for everything that
   * results.db has no row for. If neither XDG_DATA_HOME nor HOME says where the user's data folder
   * is, there is no results.db. A file that does not exist counts as empty, so default variants
   * run.
   *
   * mgr_open reads the file once. If builds of a pack do not run here (another GPU, an older
   * driver), the rest of the pack is still used. There is one warning, on stderr unless
   * MGTUNE_QUIET is set, and a note in mgr_explain. */
  const char* database;
  /* Folders of more families, besides the built-in ones. */
  const char* const* family_folders;
  size_t family_folder_count;
} mgr_open_options_t;

/* Opens a device. `options` may be null, which means all defaults.
 *
 *  - MGR_ENVIRONMENT: no device here has that name (the message lists the devices), or the device
 *    cannot be opened.
 *  - MGR_INVALID_ARGUMENT: the name means several devices, or a family folder has a malformed
 *    operator (the message names file and place).
 *  - MGR_NOT_FOUND: a family folder does not exist.
 *  - MGR_CORRUPT, MGR_INCOMPATIBLE or MGR_IO, with the name of the file: a database, table or pack
 *    cannot be read, is of a newer format, or has a value that its parameter does not offer. For a
 *    table or a pack also: it has an unknown design or parameter. The tuned rows of a database
 *    are read by mgr_plan, as far as a plan needs them. The file is not changed. */
MGR_API mgr_status_t mgr_open(const mgr_open_options_t* options, mgr_context_t** context);
MGR_API void mgr_close(mgr_context_t* context);

/* "NVIDIA H200", or "cpu". The string lives as long as the context. */
MGR_API const char* mgr_device_name(const mgr_context_t* context);

/* ---- plan: an operator ready to launch ---- */

typedef struct mgr_plan_s mgr_plan_t;

/* One assignment is a static dim ("hidden" = "4096"), a dtype ("T" = "bf16"), a flag ("causal" =
 * "true"), or an optional tensor that launches will pass ("rstd" = "true"). Flags and optional
 * tensors that are not named are false. */
typedef struct mgr_assignment_t {
  const char* name;
  const char* value;
} mgr_assignment_t;

/* The shapes that the plan is made for: inclusive bounds of a dynamic or hint dim, in elements. If
 * a dim has a default (for example a stride) and is not named, the plan is made for the default.
 * Other shapes can be launched too if a variant of the plan serves them. */
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
  /* The only variant that the plan gets, for example "row THREADS_PER_ROW=128 VEC=8": a line
   * "variant" of mgr_explain. Null means that the library chooses. Set this field in a program that
   * compares variants where they run. Since MGR_ABI_VERSION 4. */
  const char* variant;
} mgr_plan_options_t;

/* Chooses variants, builds those that are not in the cache ($MGTUNE_CACHE_DIR, otherwise mgtune in
 * the user's cache folder), and loads them. This takes from milliseconds to seconds. With
 * MGTUNE_STRICT=1 in the environment, a tuned variant is refused if its build is not the one that
 * was measured, and rules that were made on another GPU are not followed.
 *
 *  - MGR_NOT_FOUND: the operator or family is unknown; the message suggests a name.
 *  - MGR_INVALID_ARGUMENT: the operator does not allow the assignments, the ranges or the variant.
 *  - MGR_UNSUPPORTED: no variant serves the problem on this device, or the one that you named does
 *    not, or it failed here before.
 *  - MGR_CORRUPT, MGR_INCOMPATIBLE or MGR_IO, with the name of the file: the database cannot be
 *    read, or a row that the plan needs has a value that its parameter does not offer.
 *  - MGR_COMPILE_FAILED, MGR_LAUNCH_FAILED (a build does not load), MGR_TIMEOUT (of the compiler),
 *    MGR_ENVIRONMENT (no compiler) or MGR_IO: no variant could be built and loaded. The status is
 *    that of the variant that the message names. */
MGR_API mgr_status_t mgr_plan(mgr_context_t* context, const mgr_plan_options_t* options,
                              mgr_plan_t** plan);
MGR_API void mgr_plan_free(mgr_plan_t* plan);

/* Calls mgr_plan for each of the problems, with several threads. Use it before a program serves
 * requests, so that no request waits for a compiler. `threads` 0 means one per CPU.
 *
 * plans[i] gets the plan of problems[i], or null if planning failed. statuses[i] gets its status.
 * Both arrays may be null. Without `plans` the builds are left in the cache, where mgr_plan finds
 * them. Without `statuses` only the return value says whether planning succeeded.
 *
 * Returns MGR_OK if every problem was planned, otherwise the status of the first problem that was
 * not. The message has a line for each problem that failed; the others are planned anyway. */
MGR_API mgr_status_t mgr_prepare(mgr_context_t* context, const mgr_plan_options_t* const* problems,
                                 size_t problem_count, size_t threads, mgr_plan_t** plans,
                                 mgr_status_t* statuses);

/* The bytes of workspace that a launch may need, for any shape in the ranges. 0 if no launch needs
 * a workspace. */
MGR_API size_t mgr_workspace_bytes(const mgr_plan_t* plan);

/* Prepares a new workspace, in order on the stream. Call it once per workspace; launches leave the
 * workspace prepared. `workspace` may be null if mgr_workspace_bytes() is 0. MGR_LAUNCH_FAILED: the
 * device refuses. */
MGR_API mgr_status_t mgr_workspace_init(const mgr_plan_t* plan, void* workspace, void* stream);

/* clang-format off: it would join the lines of the list. */
/* Launches the operator on the stream. On a GPU the call is asynchronous; on cpu it returns when
 * the kernel has ended. It does not compile, allocate, lock or synchronize.
 *
 *  - dims: the dynamic and hint dims in the operator's order, in elements. -1 means the dim's
 *    default.
 *  - tensors: device pointers in the operator's order. Pass null for an optional tensor that the
 *    plan was made without. An empty tensor may be null. The operator's shape and strides say where
 *    elements are; without strides the tensor is contiguous, with the last dim fastest. Every
 *    pointer must be aligned to its element, or to the operator's `align` if it has one. Variants
 *    that need more alignment than a pointer has are skipped.
 *  - scalars: in the operator's order. Each is converted to its declared type. An integer type must
 *    hold the value exactly. A floating type must hold it as a finite number, unless you pass NaN
 *    or an infinity.
 *  - workspace: mgr_workspace_bytes() of device memory, aligned to 256 bytes, prepared, and not in
 *    use by a launch on another stream. Null if mgr_workspace_bytes() is 0.
 *
 * An operator's own design may keep tensors in constant memory ("constants" of the operator file).
 * Each launch then first copies these tensors there, in the order of the stream. A plan has one
 * such memory. So launches of one plan that may overlap, by several threads, on different streams
 * or in different graphs, must pass the same content for these tensors. Otherwise make a plan for
 * each stream. No operator that is shipped with the library does this.
 *
 * With MGTUNE_RECORD=FILE in the environment, a plan writes each problem that it launches to FILE,
 * once per problem, for 'mgtune sweep --shapes FILE'. Without the variable a launch costs nothing
 * extra.
 *
 *  - MGR_INVALID_ARGUMENT: the operator does not allow the arguments, or the dims make a tensor of
 *    2^48 bytes or more.
 *  - MGR_UNSUPPORTED: no variant of the plan serves the call. The message says for each variant
 *    why.
 *  - MGR_LAUNCH_FAILED: the device refuses the launch, or on cpu the kernel fails. On a GPU an
 *    error in a kernel is reported by a later call. */
/* clang-format on */
MGR_API mgr_status_t mgr_launch(const mgr_plan_t* plan, void* stream, const int64_t* dims,
                                size_t dim_count, void* const* tensors, size_t tensor_count,
                                const double* scalars, size_t scalar_count, void* workspace);

/* Says as lines of text which variant serves these dims, and why. Writes at most `size` bytes,
 * including the closing zero. `needed`, if it is not null, gets the size of the whole text.
 * `buffer` may be null if `size` is 0. Returns MGR_INVALID_ARGUMENT and MGR_UNSUPPORTED in the same
 * cases as mgr_launch. */
MGR_API mgr_status_t mgr_explain(const mgr_plan_t* plan, const int64_t* dims, size_t dim_count,
                                 char* buffer, size_t size, size_t* needed);

/* ---- memory of the context's device, for programs that have no other way to get it ---- */

/* MGR_ENVIRONMENT: the device does not have that much memory. */
MGR_API mgr_status_t mgr_allocate(mgr_context_t* context, size_t bytes, void** memory);
MGR_API void mgr_free(mgr_context_t* context, void* memory);
/* Copies after everything that is on the default stream. Pointers may be null for 0 bytes.
 * MGR_LAUNCH_FAILED: the GPU refuses. On cpu a bad address ends the process. */
MGR_API mgr_status_t mgr_copy_to_device(mgr_context_t* context, void* device, const void* host,
                                        size_t bytes);
MGR_API mgr_status_t mgr_copy_to_host(mgr_context_t* context, void* host, const void* device,
                                      size_t bytes);
/* Waits for everything on the stream. MGR_LAUNCH_FAILED or MGR_DEVICE_LOST: an earlier launch
 * failed. */
MGR_API mgr_status_t mgr_synchronize(mgr_context_t* context, void* stream);

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif /* MGRUNTIME_MGRUNTIME_H_ */
