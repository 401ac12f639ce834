// Whether a CUDA stream is being captured into a graph.
#pragma once

namespace mgtune::torch {

// False if this process has no CUDA driver.
bool is_capturing(void* stream);

}  // namespace mgtune::torch
