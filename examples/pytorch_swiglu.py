"""SwiGLU in PyTorch: the module, a checkpoint with separate projections, and the functional form."""

import torch

import mgtune.torch as mt

device = "cuda" if torch.cuda.is_available() else "cpu"  # on the CPU the kernels are emulated
x = torch.randn(4, 64, device=device)

mlp = mt.SwiGLU(d_model=64, hidden=128).to(device)
print(mlp(x).shape)

# A checkpoint of Llama has three matrices. Two of them become one, so that one product makes both.
checkpoint = {
    "gate_proj.weight": torch.randn(128, 64) / 8,
    "up_proj.weight": torch.randn(128, 64) / 8,
    "down_proj.weight": torch.randn(64, 128) / 11,
}
mlp.load_state_dict(checkpoint)
gate = x @ checkpoint["gate_proj.weight"].to(device).t()
up = x @ checkpoint["up_proj.weight"].to(device).t()
expected = mt.swiglu(gate, up) @ checkpoint["down_proj.weight"].to(device).t()
print("largest difference:", (mlp(x) - expected).abs().max().item())
