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
gate_weight, up_weight, down_weight = (one.to(device) for one in checkpoint.values())
expected = mt.swiglu(x @ gate_weight.t(), x @ up_weight.t()) @ down_weight.t()
print("largest difference:", (mlp(x) - expected).abs().max().item())

# Both products and SwiGLU in one kernel, where that was measured to be faster; prefer="mgtune" asks for it
# elsewhere. There are kernels for float16 and bfloat16, so these float32 tensors have PyTorch's products.
h = mt.swiglu_gate_up(x, gate_weight, up_weight)
print("largest difference:", (h @ down_weight.t() - expected).abs().max().item())
