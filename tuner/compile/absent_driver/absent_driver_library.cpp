// The library that stands where the CUDA driver would, see absent_driver.h. It is all that there is
// of it: whoever opens the driver asks cuInit first.

extern "C" __attribute__((visibility("default"))) int cuInit(unsigned int /*flags*/) {
  return 100;  // CUDA_ERROR_NO_DEVICE
}
