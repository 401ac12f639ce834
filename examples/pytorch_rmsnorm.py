"""RMSNorm in PyTorch: the functional form, the module, and the fused residual add."""

import torch

import mgtune.torch as mt

device = "cuda" if torch.cuda.is_available() else "cpu"  # on the CPU the kernels are emulated
x = torch.randn(16, 256, device=device, requires_grad=True)
weight = torch.ones(256, device=device, requires_grad=True)

y = mt.rms_norm(x, weight, eps=1e-6)
y.sum().backward()
expected = torch.nn.functional.rms_norm(x, (256,), weight, 1e-6)
print("largest difference from PyTorch:", (y - expected).abs().max().item())

norm = mt.RMSNorm(256, eps=1e-6, device=device)  # in the place of torch.nn.RMSNorm
norm.load_state_dict(torch.nn.RMSNorm(256, eps=1e-6).state_dict())
print(norm, norm(x).shape)

add_norm = mt.AddRMSNorm(256, eps=1e-6, device=device)
y, residual = add_norm(x, torch.randn_like(x))  # norm(x + residual), x + residual, by one kernel
print("y", tuple(y.shape), "residual", tuple(residual.shape))
