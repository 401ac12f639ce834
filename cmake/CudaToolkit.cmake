# Finds the CUDA Toolkit's headers: CUDA_HOME, then /usr/local/cuda. Sets MGTUNE_CUDA_HOME, the
# toolkit's folder; MGTUNE_CUDA_INCLUDE; and MGTUNE_CUPTI_INCLUDE, which is a folder of its own where
# NVIDIA's installer put the toolkit. Nothing links CUDA: the driver, NVRTC and CUPTI are opened at
# run time.

set(MGTUNE_CUDA_HOME "")
foreach(folder IN ITEMS "$ENV{CUDA_HOME}" /usr/local/cuda)
  if(folder AND EXISTS ${folder}/include/nvrtc.h AND EXISTS ${folder}/include/cuda_fp16.h)
    set(MGTUNE_CUDA_HOME ${folder})
    break()
  endif()
endforeach()
set(advice "scripts/quickstart.sh and scripts/test.sh install what is missing. Otherwise install the \
CUDA Toolkit, 12.8 or newer (https://developer.nvidia.com/cuda-downloads), and set CUDA_HOME to its \
folder. No GPU or driver is needed to build; the packages cuda-nvrtc-dev, cuda-cudart-dev, cuda-cccl \
and cuda-cupti-dev are enough.")
if(NOT MGTUNE_CUDA_HOME)
  message(FATAL_ERROR "mgtune needs the headers of the CUDA Toolkit. Neither CUDA_HOME "
    "('$ENV{CUDA_HOME}') nor /usr/local/cuda has include/nvrtc.h and include/cuda_fp16.h.\n${advice}")
endif()
set(MGTUNE_CUDA_INCLUDE ${MGTUNE_CUDA_HOME}/include)

find_path(MGTUNE_CUPTI_INCLUDE cupti.h NO_CACHE
  PATHS ${MGTUNE_CUDA_HOME} PATH_SUFFIXES include extras/CUPTI/include NO_DEFAULT_PATH)
if(NOT MGTUNE_CUPTI_INCLUDE)
  message(FATAL_ERROR "The CUDA Toolkit at ${MGTUNE_CUDA_HOME} lacks CUPTI's headers (cupti.h).\n"
    "${advice}")
endif()

file(STRINGS ${MGTUNE_CUDA_INCLUDE}/cuda.h version_line REGEX "^#define CUDA_VERSION [0-9]+")
string(REGEX MATCH "[0-9]+" MGTUNE_CUDA_VERSION "${version_line}")
if(MGTUNE_CUDA_VERSION LESS 12080)
  message(FATAL_ERROR "The CUDA Toolkit at ${MGTUNE_CUDA_HOME} is too old "
    "(CUDA_VERSION ${MGTUNE_CUDA_VERSION}).\n${advice}")
endif()
message(STATUS "CUDA Toolkit: ${MGTUNE_CUDA_HOME} (CUDA_VERSION ${MGTUNE_CUDA_VERSION})")
