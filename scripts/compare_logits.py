#!/usr/bin/env python3
"""Compares the logits of mgengine with those of PyTorch, token by token: how far is each, in bf16, from PyTorch in f32?

  scripts/compare_logits.py --library build/libmgengine.so.0 --tokens 2000 -o logits.json            on a GPU
  scripts/compare_logits.py --library build/libmgengine.so.0 --tokens 40 --device cpu --way steps    without one

The model is a Llama with random weights, made by transformers (--width and --layers). Its weights are rounded to bf16 once, so all three have the same.
The tokens are random. PyTorch computes all positions at once, mgengine one after the other from its caches. The distance is the Kullback-Leibler
divergence KL(f32 || bf16) of the next token's distribution at a position. The exit code is 1 if mgengine's mean over the positions is larger than
PyTorch's, or if its most likely tokens agree with those of f32 more rarely, by more than 1 % of the positions.
"""
import argparse
import ctypes
import json
import pathlib
import sys
import tempfile


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("sequences", ctypes.c_uint32), ("capacity", ctypes.c_uint32),
                ("dtype", ctypes.c_char_p), ("way", ctypes.c_char_p), ("device", ctypes.c_char_p)]


def make_model(words, folder):
    """Saves the model in bf16."""
    import torch
    import transformers

    torch.manual_seed(words.seed)
    config = transformers.LlamaConfig(
        hidden_size=words.width, intermediate_size=4 * words.width, num_hidden_layers=words.layers, num_attention_heads=words.width // 64,
        num_key_value_heads=max(1, words.width // 256), head_dim=64, vocab_size=words.vocabulary, max_position_embeddings=words.tokens,
        tie_word_embeddings=False, bos_token_id=0, eos_token_id=1)
    # Wider than the default of 0.02, so that the distributions of tokens have peaks, as those of a trained model do.
    config.initializer_range = 0.05
    transformers.LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


def torch_logits(folder, tokens, dtype, device):
    """The model is loaded, not converted: Module.to() would round the rotary frequencies to bf16, and positions would be wrong by up to 4 radians at 2,000."""
    import torch
    import transformers

    model = transformers.LlamaForCausalLM.from_pretrained(folder, dtype=dtype).to(device).eval()
    if model.model.rotary_emb.inv_freq.dtype != torch.float32:
        sys.exit("the rotary frequencies of PyTorch's model are not f32")
    with torch.inference_mode():
        return model(torch.tensor([tokens], device=device)).logits[0].float().cpu()


def engine_logits(words, folder, tokens):
    import torch

    library = ctypes.CDLL(str(pathlib.Path(words.library).resolve()))
    library.mge_last_error.restype = ctypes.c_char_p

    def check(status):
        if status != 0:
            sys.exit(f"mgengine: {library.mge_last_error().decode()}")

    device = words.device.encode() if words.device and words.way != "reference" else None  # the reference uses none
    options = Options(ctypes.sizeof(Options), 1, len(tokens), b"bf16", words.way.encode(), device)
    model = ctypes.c_void_p()
    check(library.mge_load(str(folder).encode(), ctypes.byref(options), ctypes.byref(model)))
    logits = torch.empty(len(tokens), words.vocabulary)
    for position, token in enumerate(tokens):
        check(library.mge_step(model, ctypes.byref(ctypes.c_int32(token)), ctypes.c_size_t(1)))
        row = ctypes.cast(logits[position].data_ptr(), ctypes.POINTER(ctypes.c_float))
        check(library.mge_logits(model, ctypes.c_uint32(0), row, ctypes.c_size_t(words.vocabulary)))
    library.mge_free(model)
    return logits


def distance(reference, logits):
    import torch

    divergence = torch.nn.functional.kl_div(logits.log_softmax(-1), reference.log_softmax(-1), log_target=True, reduction="none").sum(-1)
    agreement = (reference.argmax(-1) == logits.argmax(-1)).float().mean()
    tenth = max(1, len(divergence) // 10)
    return {"mean": divergence.mean().item(), "largest": divergence.max().item(), "first_tenth": divergence[:tenth].mean().item(),
            "last_tenth": divergence[-tenth:].mean().item(), "agreement": agreement.item()}


def table(distances):
    yield "| KL from f32 | mean | largest | first tenth | last tenth | same token |"
    yield "|---|---|---|---|---|---|"
    for name, of in distances.items():
        yield f"| {name} | {of['mean']:.2e} | {of['largest']:.2e} | {of['first_tenth']:.2e} | {of['last_tenth']:.2e} | {100 * of['agreement']:.2f} % |"


def is_as_near(theirs, ours):
    """Whether ours is no farther from f32 than theirs. Two roundings of equal size may differ in one percent of the tokens."""
    return ours["mean"] <= theirs["mean"] and ours["agreement"] >= theirs["agreement"] - 0.01


def document(version, words, distances):
    """The document that is recorded. It has no paths, because they mean nothing on another machine."""
    arguments = {name: value for name, value in vars(words).items() if name not in ("library", "output")}
    return json.dumps({"torch": version, "arguments": arguments, "distances": distances}, indent=1) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="libmgengine.so.0")
    parser.add_argument("--way", default="graph", help="of mgengine: graph, steps or reference")
    parser.add_argument("--device", default="", help="cpu, or nothing for the first GPU")
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", help="where to write the distances as JSON")
    words = parser.parse_args()
    import torch

    device = "cpu" if words.device == "cpu" else "cuda"
    with tempfile.TemporaryDirectory() as folder:
        make_model(words, folder)
        tokens = torch.randint(words.vocabulary, (words.tokens,), generator=torch.Generator().manual_seed(words.seed)).tolist()
        reference = torch_logits(folder, tokens, torch.float32, device)
        distances = {"PyTorch bf16": distance(reference, torch_logits(folder, tokens, torch.bfloat16, device))}
        distances[f"mgengine bf16, {words.way}"] = distance(reference, engine_logits(words, folder, tokens))
    print("\n".join(table(distances)))
    if words.output:
        pathlib.Path(words.output).write_text(document(torch.__version__, words, distances), encoding="utf-8")
    return 0 if is_as_near(*distances.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
