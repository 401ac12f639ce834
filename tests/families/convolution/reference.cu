template <class Problem>
__global__ void convolution_reference(double* output, const float* input, const float* filter,
                                      Problem problem) {
  const long long width = problem.image_width, count = width * problem.image_height;
  const long long input_width = width + problem.filter_width - 1;
  const long long threads = (long long)gridDim.x * blockDim.x;
  for (long long e = blockIdx.x * blockDim.x + threadIdx.x; e < count; e += threads) {
    const long long y = e / width, x = e % width;
    double sum = 0;
    for (long long i = 0; i < problem.filter_height; ++i) {
      for (long long j = 0; j < problem.filter_width; ++j) {
        sum += (double)input[(y + i) * input_width + x + j] * filter[i * problem.filter_width + j];
      }
    }
    output[e] = sum;
  }
}
