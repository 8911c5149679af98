"""Makes the small tokenizers of this folder, and expected.json: what a plain implementation, written independently of
the C++ one and with the real regular expressions, makes of some texts.

    python3 make_fixtures.py     # needs the `regex` package

A training text, a seed and this script decide everything, so that running it again changes nothing.
"""

import json
import random
from collections import Counter

import regex

MARK = "\u2581"
GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3 = (r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
          r"""|\s*[\r\n]+|\s+(?!\S)|\s+""")
TRAINING = """The quick brown fox jumps over the lazy dog, and the dog doesn't mind: it's used to that. We'll measure
how many tokens per second the loader makes of 1234567 words in 2024, and whether they're the same as before.
    for (int i = 0; i < 10; ++i) { total += values[i]; }
        return total;
Grüße aus Köln, où est la gare ? Это простой текст. 東京の天気は晴れです。 東京 東京 今天天气很好，今天。 한국어 문장입니다. 🙂🙂 🚀
"""


def byte_alphabet():
    """GPT-2's characters for bytes."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


ALPHABET = byte_alphabet()


def to_alphabet(text):
    return "".join(ALPHABET[byte] for byte in text.encode())


def train(words, count):
    """The `count` most frequent pairs, one after the other."""
    counted = [(list(word), times) for word, times in Counter(words).items()]
    merges = []
    for _ in range(count):
        pairs = Counter()
        for symbols, times in counted:
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += times
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for symbols, _ in counted:
            i = 0
            while i + 1 < len(symbols):
                if (symbols[i], symbols[i + 1]) == best:
                    symbols[i:i + 2] = [best[0] + best[1]]
                i += 1
    return merges


def numbered(tokens):
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}


def added(content, number, **flags):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True} | flags


def byte_level(pattern, merge_count, extra=()):
    merges = train([to_alphabet(word) for word in regex.findall(pattern, TRAINING)], merge_count)
    vocabulary = numbered([*ALPHABET, *(a + b for a, b in merges), *map(to_alphabet, extra)])
    return vocabulary, merges


def gpt2():
    vocabulary, merges = byte_level(GPT2, 120)
    end = len(vocabulary)
    vocabulary["<|endoftext|>"] = end
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added("<|endoftext|>", end, normalized=True)],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        "post_processor": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
        "model": {"dropout": None, "unk_token": "", "continuing_subword_prefix": "", "end_of_word_suffix": "",
                  "fuse_unk": False, "vocab": vocabulary, "merges": [" ".join(pair) for pair in merges]}}


def llama3():
    # Words that no merges lead to: they are found only where merges are ignored.
    vocabulary, merges = byte_level(LLAMA3, 120, extra=[" benchmark", "zebra", "今天天气"])
    number = len(vocabulary)
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added("<|begin_of_text|>", number), added("<|eot_id|>", number + 1),
                         added("<|eot|>", number + 2), added("<mask>", number + 3, lstrip=True),
                         added("<end>", number + 4, rstrip=True, special=False)],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": LLAMA3}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
                  "vocab": vocabulary, "merges": merges}}


def pieces(merge_count, special, byte_fallback):
    """Merges within words; runs of marks are words of their own kind, as in the real ones."""
    text = MARK + TRAINING.replace(" ", MARK)
    merges = train(regex.findall(f"{MARK}*[^{MARK}\n]*", text), merge_count)
    characters = sorted(set(text) - set("🚀東\n"))
    fallback = [f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else []
    merges = [pair for pair in merges if not set("🚀東\n") & set(pair[0] + pair[1])]
    return numbered([*special, *fallback, *characters, *(a + b for a, b in merges)]), merges


def sentencepiece(special, merge_count, byte_fallback=True, arrays=False, **parts):
    vocabulary, merges = pieces(merge_count, special, byte_fallback)
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added(token, vocabulary[token]) for token in special],
        "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": byte_fallback, "vocab": vocabulary,
                  "merges": merges if arrays else [" ".join(pair) for pair in merges]}} | parts


def tinyllama():
    return sentencepiece(["<unk>", "<s>", "</s>"], 150, normalizer={"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": MARK},
        {"type": "Replace", "pattern": {"String": " "}, "content": MARK}]})


def mistral():
    return sentencepiece(["<unk>", "<s>", "</s>", "[INST]", "[/INST]"], 150, arrays=True, pre_tokenizer={
        "type": "Metaspace", "replacement": MARK, "prepend_scheme": "first", "split": False})


def metaspace():
    """As written before `prepend_scheme`, and without bytes to fall back on."""
    return sentencepiece(["<unk>"], 100, byte_fallback=False, pre_tokenizer={
        "type": "Metaspace", "replacement": MARK, "add_prefix_space": True})


def join(symbols, ranks):
    """The plainest BPE: joins the best pair, the leftmost of equals, until there is none."""
    symbols = list(symbols)
    while True:
        found = [(ranks[pair], i) for i, pair in enumerate(zip(symbols, symbols[1:])) if pair in ranks]
        if not found:
            return symbols
        _, i = min(found)
        symbols[i:i + 2] = [symbols[i] + symbols[i + 1]]


class Reference:
    def __init__(self, tokenizer):
        self.model = tokenizer["model"]
        self.vocabulary = self.model["vocab"]
        merges = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in self.model["merges"]]
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.normalizer = tokenizer["normalizer"]
        self.pre_tokenizer = tokenizer["pre_tokenizer"]
        self.added = {token["content"]: token for token in tokenizer["added_tokens"]}

    def encode(self, text):
        alternatives = sorted(self.added, key=len, reverse=True)
        found = regex.compile("(" + "|".join(
            (r"\s*" if self.added[t]["lstrip"] else "") + regex.escape(t) + (r"\s*" if self.added[t]["rstrip"] else "")
            for t in alternatives) + ")")
        ids = []
        first = True
        for piece in found.split(text):
            token = self.added.get(piece.strip()) if found.fullmatch(piece) else None
            if token:
                ids.append(token["id"])
            elif piece:
                ids += [i for word in self.words(piece, first) for i in self.word(word)]
            first = first and not piece
        return ids

    def words(self, text, first):
        if self.normalizer:
            return [MARK + text.replace(" ", MARK)]
        if self.pre_tokenizer["type"] == "ByteLevel":
            return [to_alphabet(word) for word in regex.findall(GPT2, text)]
        if self.pre_tokenizer["type"] == "Sequence":
            return [to_alphabet(word) for word in regex.findall(LLAMA3, text)]
        text = text.replace(" ", MARK)
        always = self.pre_tokenizer.get("prepend_scheme", "always") == "always"
        if not text.startswith(MARK) and (always or first):
            text = MARK + text
        return regex.findall(f"(?s){MARK}?[^{MARK}]+|{MARK}", text) if self.pre_tokenizer.get("split", True) else [text]

    def word(self, word):
        if self.model.get("ignore_merges") and word in self.vocabulary:
            return [self.vocabulary[word]]
        symbols = []
        for character in word:
            fallback = [f"<0x{byte:02X}>" for byte in character.encode()]
            if character in self.vocabulary:
                symbols.append(character)
            elif self.model.get("byte_fallback"):
                symbols += fallback
            elif not symbols or symbols[-1] != "<unk>":
                symbols.append("<unk>")
        return [self.vocabulary[symbol] for symbol in join(symbols, self.ranks)]


def texts(count):
    chosen = [
        "", " ", "  ", "\n", "a", "Hello, world!", "  two spaces", "trailing  ", "tab\tand\r\nnewlines\n\n\n  x",
        "It's we'LL THEY'RE 'S 'x ''s I'm you'd 'ſ", "1234567 12 3.14159 ½ ² Ⅷ ٣٤٥", " \u00a0\u3000 wide\u2003spaces ",
        "\u2581marks\u2581 \u2581", "e\u0301 combining n\u0303o", "🙂🚀👩‍👩‍👧 東京 한국어 今天天气 zebra benchmark", "\x00\x01\x1f\x7f control",
        "<|endoftext|>a<|endoftext|> b", "<|begin_of_text|>Hi<|eot_id|><|eot|><|eot", "x  <mask>  y <end>  z<end>",
        "<s>the dog</s> <s> x", "[INST] the quick [/INST] brown", "    for (int i = 0; i < 10; ++i) {\n\treturn;\n    }\n",
        "don't stop...\n\n!!!\r\n  \r\n \n x", "The quick brown fox jumps over the lazy dog." * 3]
    pool = ("  \t\n\r" + "aabcdeéhlnorstтест東京今天한½²٣07!?.,'\"-_()<>|" + "\u2581\u00a0\u2003\u2028\u0301\u200d🙂🚀\x00\x7f")
    words = TRAINING.split(" ") + ["'s", "'RE", "\n\n", "  ", "<|eot_id|>", "<s>", "<mask>", "123456", "東京", "🙂"]
    source = random.Random(1)
    while len(chosen) < count:
        if len(chosen) % 2:
            chosen.append("".join(source.choice(pool) for _ in range(source.randint(1, 24))))
        else:
            chosen.append(source.choice(["", " "]).join(source.choice(words) for _ in range(source.randint(1, 8))))
    return chosen


FIXTURES = {make.__name__: make() for make in (gpt2, llama3, tinyllama, mistral, metaspace)}


def save(name, content):
    with open(name, "w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    expected = {"texts": texts(90)}
    for name, tokenizer in FIXTURES.items():
        save(f"{name}.json", tokenizer)
        expected[name] = [Reference(tokenizer).encode(text) for text in expected["texts"]]
    save("expected.json", expected)
