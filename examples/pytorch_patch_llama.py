"""patch() on a Llama with random weights, and what it replaces. Needs transformers."""

import sys

import torch

import mgtune.torch as mt

try:
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError:
    sys.exit("this example needs transformers: pip install transformers")

device = "cuda" if torch.cuda.is_available() else "cpu"  # on the CPU the kernels are emulated
config = LlamaConfig(
    vocab_size=256,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
)
model = LlamaForCausalLM(config).to(device).eval()
tokens = torch.randint(3, 256, (1, 12), device=device)
with torch.no_grad():
    before = model(input_ids=tokens).logits
    print(mt.patch(model))
    after = model(input_ids=tokens).logits
print("largest difference:", (after - before).abs().max().item())
print("undone:", mt.unpatch(model), "changes")
