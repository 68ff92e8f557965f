"""Compares words, sentences and tags of raw text with those of a treebank, by the official scorer of CoNLL 2018.

    python benchmarks/tagging_raw_text.py --data PATH/TO/en_ewt-ud-dev.conllu.xz [--kind english]
    python benchmarks/tagging_raw_text.py --data PATH/TO/en_ewt-ud-dev.conllu.xz --model saved_models/NAME/VERSION

With --model, an export of `train tagging` with UPOS tags reads the text, else only the splitter of words does.

The raw text of a document is that of its sentences, with an empty line between paragraphs, so sentence boundaries are
predicted. The scorer is in the package udtools (requirements-dev.txt).
"""

import argparse
import json
import lzma
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
_BATCH_SIZE = 64
_METRICS = ("Words", "Sentences", "UPOS")


def documents(conllu: str) -> list[str]:
    """Returns the raw text of each document of a CoNLL-U file."""
    texts, until = [], 0  # `until`: the last word of the multiword token that was read
    for line in conllu.splitlines():
        if line.startswith("# newdoc") or not texts:
            texts.append("")
        elif line.startswith("# newpar") and texts[-1]:
            texts[-1] = texts[-1].rstrip(" ") + "\n\n"
        columns = line.split("\t")
        number = columns[0]
        until = until if line else 0
        if len(columns) < 10 or "." in number or ("-" not in number and int(number) <= until):
            continue
        if "-" in number:
            until = int(number.split("-")[1])
        space = "" if "SpaceAfter=No" in columns[9].split("|") else " "
        texts[-1] += columns[1] + space
    return [text.strip() for text in texts]


def to_conllu(tokens: list[str], sentences: list[int], tags: Iterable[str]) -> str:
    """Returns a document as CoNLL-U, with a flat tree: the scorer refuses a sentence without one."""
    lines, number = [], 0
    for index, (token, sentence, tag) in enumerate(zip(tokens, sentences, tags, strict=True)):
        is_start = not index or sentence != sentences[index - 1]
        if is_start and index:
            lines.append("")
        number = 1 if is_start else number + 1
        relation = "0\troot" if is_start else "1\tdep"
        lines.append(f"{number}\t{token}\t_\t{tag}\t_\t_\t{relation}\t_\t_")
    return "\n".join([*lines, "", ""]) if lines else ""


def main() -> None:
    """Prints precision, recall and F1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, type=Path, help="CoNLL-U file of Universal Dependencies, .xz or not")
    parser.add_argument("--kind", default="english", help="english, unicode or whitespace")
    parser.add_argument("--model", help="folder of an exported tagger")
    arguments = parser.parse_args()
    from udtools.udeval import evaluate, load_conllu_file

    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    import tensorflow as tf

    from pipelines.text.words import WordSplitter

    data = arguments.data.read_bytes()
    gold = (lzma.decompress(data) if arguments.data.suffix == ".xz" else data).decode()
    texts = documents(gold)
    if arguments.model:
        max_bytes = json.loads((Path(arguments.model) / "model_card.json").read_text())["window"]["max_bytes"]
        too_long = sum(len(text.encode()) > max_bytes for text in texts)
        print(f"{too_long} documents are longer than the model reads ({max_bytes:,} bytes)")
        loaded = tf.saved_model.load(arguments.model)
        call = loaded.signatures["serving_default"]
    else:
        splitter = WordSplitter(arguments.kind, max(len(text.encode()) for text in texts))
        split = tf.function(splitter.__call__, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)

        def call(text):
            words = split(text)
            tags = words.tokens.with_flat_values(tf.fill(tf.shape(words.tokens.flat_values), "_"))
            return {
                "tokens": words.tokens.to_tensor(),
                "sentence": words.sentence.to_tensor(),
                "tags": tags.to_tensor(),
                "num_tokens": words.tokens.row_lengths(),
            }

    def words_of(texts: list[str]) -> list[dict]:
        batches = [call(text=tf.constant(texts[i : i + _BATCH_SIZE])) for i in range(0, len(texts), _BATCH_SIZE)]
        return [{name: value.numpy() for name, value in batch.items()} for batch in batches]

    words_of(texts)  # the graph is traced
    start = time.perf_counter()
    batches = words_of(texts)
    seconds = time.perf_counter() - start
    predicted = ""
    for batch in batches:
        for tokens, sentences, tags, num_tokens in zip(
            batch["tokens"], batch["sentence"], batch["tags"], batch["num_tokens"], strict=True
        ):
            tokens, tags = ([each.decode() for each in row[:num_tokens]] for row in (tokens, tags))
            predicted += to_conllu(tokens, sentences[:num_tokens].tolist(), tags)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "gold.conllu", Path(folder) / "predicted.conllu"
        for file, text in zip(files, (gold, predicted), strict=True):
            file.write_text(text, encoding="utf-8")
        scores = evaluate(*(load_conllu_file(str(file)) for file in files))
    print(f"{len(texts)} documents, {sum(len(text.encode()) for text in texts):,} bytes, {seconds * 1000:.0f} ms")
    for name in _METRICS[: 3 if arguments.model else 2]:
        score = scores[name]
        print(f"{name:10} precision {score.precision:.4f}  recall {score.recall:.4f}  F1 {score.f1:.4f}")


if __name__ == "__main__":
    main()
