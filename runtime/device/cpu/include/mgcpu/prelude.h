// Included before the first line of every kernel source. It lets a host C++ compiler accept CUDA
// C++ without changes. The CUDA headers find their keywords already defined and do not redefine
// them.

#pragma once

#define MGTUNE_CPU_DEVICE 1

// Comes before any CUDA header: host_defines.h keeps existing definitions. Otherwise it would
// define __shared__ as nothing, which silently turns a shared array into one array per thread.
#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
// One OS thread runs a block from start to end, so its thread-local storage is the block's. This
// works, but the sanitizers and the race checker do not see it. The kernels of this repository use
// MG_SHARED.
#define __shared__ static thread_local

// <assert.h> may be included any number of times and redefines assert() each time. So its failure
// function is replaced instead.
#define __assert_fail mgcpu_assert_fail

#include <assert.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <vector_functions.h>
#include <vector_types.h>

#undef __maxnreg__
#define __maxnreg__(...)

#include "mgcpu/atomics.h"
#include "mgcpu/barriers.h"
#include "mgcpu/entry.h"
#include "mgcpu/execution.h"
#include "mgcpu/intrinsics.h"
#include "mgcpu/memory.h"
#include "mgcpu/warp.h"
