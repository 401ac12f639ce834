#!/usr/bin/env python3
"""Makes the tiny random models of the engine's tests, and what transformers compute with them.

    pip install torch transformers safetensors tokenizers
    tests/engine/make_models.py

The weights are random, but the same in every run with the same versions of the libraries. They are
larger than those of a fresh model, so that attention prefers some keys and activations bend.
"""

import json
import pathlib

import safetensors.torch
import tokenizers
import torch
import transformers

FOLDER = pathlib.Path(__file__).resolve().parent / "models"
VOCABULARY = 96
POSITIONS = 32
TOKENS = 24


def llama_like(config_class, model_class, **more):
    return model_class(config_class(
        hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=VOCABULARY, max_position_embeddings=POSITIONS,
        bos_token_id=1, eos_token_id=2, pad_token_id=None, **more))


def models():
    yield "gpt2", transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_embd=32, n_layer=2, n_head=4, n_positions=POSITIONS, vocab_size=VOCABULARY,
        bos_token_id=1, eos_token_id=2))
    # With 16 original positions, frequencies are kept, blended and stretched.
    yield "llama", llama_like(
        transformers.LlamaConfig, transformers.LlamaForCausalLM,
        attention_bias=True, mlp_bias=True,
        rope_scaling={"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0,
                      "high_freq_factor": 4.0, "original_max_position_embeddings": 16})
    yield "mistral", llama_like(
        transformers.MistralConfig, transformers.MistralForCausalLM, sliding_window=7, head_dim=10)
    yield "qwen2", llama_like(
        transformers.Qwen2Config, transformers.Qwen2ForCausalLM, tie_word_embeddings=True)


def fill(model):
    for name, parameter in model.named_parameters():
        is_norm = "norm" in name or "ln_" in name
        center = 1.0 if is_norm and name.endswith("weight") else 0.0
        with torch.no_grad():
            parameter.normal_(center, 0.2)


def make_model(name, model):
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    fill(model)
    model.eval()
    tokens = torch.randint(0, VOCABULARY, (2, TOKENS))
    with torch.no_grad():
        logits = model(tokens, use_cache=False).logits
    # Saved by hand: save_pretrained adds files that nobody reads.
    config = {key: value for key, value in model.config.to_dict().items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    weights = {key: value.contiguous() for key, value in model.state_dict().items()
               if not (key == "lm_head.weight" and model.config.tie_word_embeddings)}
    safetensors.torch.save_file(weights, folder / "model.safetensors")
    safetensors.torch.save_file({"tokens": tokens.int(), "logits": logits.contiguous()},
                                folder / "expected.safetensors")


TEXTS = [
    "Once upon a time, there was a little girl named Lily.",
    "It's 1984, and we'll see  what they've\tdone!\n\n  Indented   text \n",
    "naïve café – “quoted” 中文字符 🙂🚀 Ünïcödé",
    "<|endoftext|>a<|endoftext|>",
    "x=3.14159;if(a!=b){return -1;} //end",
    "",
    " ",
    "\u00a0\u2003odd\u3000blanks\r\nand lines",
    "I'D'll we'RE don't '' 's ''s",
    "١٢٣ ½ Ⅷ ①②",
]


LLAMA3_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
                  r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2_PATTERN = LLAMA3_PATTERN.replace("{1,3}", "")


def byte_level(pattern):
    if pattern is None:
        return tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    return tokenizers.pre_tokenizers.Sequence(
        [split, tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def make_tokenizer(name, pattern):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(ignore_merges=name == "llama3"))
    tokenizer.pre_tokenizer = byte_level(pattern)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    if name == "qwen2":
        tokenizer.normalizer = tokenizers.normalizers.NFC()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=360, min_frequency=2, special_tokens=["<|begin|>", "<|endoftext|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    lines = TEXTS * 3 + ["the cat sat on the mat and the dog ran"] * 5
    tokenizer.train_from_iterator(lines, trainer)
    if name == "llama3":
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            single="<|begin|> $A", special_tokens=[("<|begin|>", 0)])
    folder = FOLDER / "tokenizers" / name
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    cases = [{"text": text, "tokens": tokenizer.encode(text).ids} for text in TEXTS]
    (folder / "expected.json").write_text(json.dumps(cases, indent=1) + "\n")


def main():
    torch.manual_seed(20240501)
    for name, model in models():
        make_model(name, model)
    for name, pattern in (("gpt2", None), ("llama3", LLAMA3_PATTERN), ("qwen2", QWEN2_PATTERN)):
        make_tokenizer(name, pattern)
    (FOLDER / "versions.txt").write_text(
        f"torch {torch.__version__}, transformers {transformers.__version__}, "
        f"tokenizers {tokenizers.__version__}\n")


if __name__ == "__main__":
    main()
