# Finds the CUDA Toolkit's headers: CUDA_HOME, then /usr/local/cuda. Sets MGTUNE_CUDA_INCLUDE and
# MGTUNE_CUPTI_INCLUDE, which is a folder of its own where NVIDIA's installer put the toolkit.
# Nothing links CUDA: the driver, NVRTC and CUPTI are opened at run time.

find_path(MGTUNE_CUDA_INCLUDE cuda_fp16.h
  PATHS $ENV{CUDA_HOME} /usr/local/cuda PATH_SUFFIXES include targets/x86_64-linux/include
  NO_DEFAULT_PATH)
find_path(MGTUNE_CUPTI_INCLUDE cupti.h
  PATHS $ENV{CUDA_HOME} /usr/local/cuda
  PATH_SUFFIXES include extras/CUPTI/include targets/x86_64-linux/include
  NO_DEFAULT_PATH)

set(advice "mgtune needs the headers of the CUDA Toolkit, 12.8 or newer. Set CUDA_HOME to where it \
is installed, or install it: https://developer.nvidia.com/cuda-downloads (no GPU or driver is needed \
to build; the packages cuda-nvrtc-dev, cuda-cudart-dev, cuda-cccl and cuda-cupti-dev are enough).")

if(NOT MGTUNE_CUDA_INCLUDE)
  message(FATAL_ERROR "No CUDA Toolkit found: looked in CUDA_HOME ('$ENV{CUDA_HOME}') and "
    "/usr/local/cuda.\n${advice}")
endif()

if(NOT MGTUNE_CUPTI_INCLUDE)
  message(FATAL_ERROR "The CUDA Toolkit at ${MGTUNE_CUDA_INCLUDE} lacks CUPTI's headers (cupti.h).\n"
    "${advice}")
endif()

file(STRINGS ${MGTUNE_CUDA_INCLUDE}/cuda.h version_line REGEX "^#define CUDA_VERSION [0-9]+")
string(REGEX MATCH "[0-9]+" MGTUNE_CUDA_VERSION "${version_line}")
if(MGTUNE_CUDA_VERSION LESS 12080)
  message(FATAL_ERROR "The CUDA Toolkit at ${MGTUNE_CUDA_INCLUDE} is too old "
    "(CUDA_VERSION ${MGTUNE_CUDA_VERSION}).\n${advice}")
endif()
message(STATUS "CUDA headers: ${MGTUNE_CUDA_INCLUDE} (CUDA_VERSION ${MGTUNE_CUDA_VERSION})")
