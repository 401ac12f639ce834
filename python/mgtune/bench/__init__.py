"""Times mgtune's kernels beside PyTorch's, on the GPU at hand: `python -m mgtune.bench`."""
