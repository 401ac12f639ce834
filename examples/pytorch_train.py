"""A training loop with mgtune's modules: a small gated MLP network that learns to sort bytes into classes."""

import time

import torch
from torch import nn

import mgtune.torch as mt

device = "cuda" if torch.cuda.is_available() else "cpu"  # on the CPU the kernels are emulated


class Block(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm = mt.AddRMSNorm(size, eps=1e-6)
        self.mlp = mt.SwiGLU(size, 2 * size)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        normed, residual = self.norm(x, residual)
        return self.mlp(normed), residual


class Network(nn.Module):
    def __init__(self, size: int = 64, blocks: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(256, size)
        self.blocks = nn.ModuleList(Block(size) for _ in range(blocks))
        self.norm = mt.AddRMSNorm(size, eps=1e-6)
        self.head = nn.Linear(size, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        residual = torch.zeros_like(x)
        for block in self.blocks:
            x, residual = block(x, residual)
        return self.head(self.norm(x, residual)[0])


torch.manual_seed(0)
network = Network().to(device)
optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
start = time.perf_counter()
for step in range(40):
    tokens = torch.randint(0, 256, (64,), device=device)
    loss = nn.functional.cross_entropy(network(tokens), tokens // 64)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 9:
        rate = 64 * (step + 1) / (time.perf_counter() - start)
        print(f"step {step + 1}: loss {loss.item():.3f}, {rate:.0f} tokens/s")
