// The library that is opened in place of the CUDA driver (keep_driver_out() in compile_worker.h).
// One function is enough, because every program that opens the driver calls cuInit first.

extern "C" __attribute__((visibility("default"))) int cuInit(unsigned int /*flags*/) {
  return 100;  // CUDA_ERROR_NO_DEVICE
}
