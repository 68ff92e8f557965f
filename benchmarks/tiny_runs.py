"""Very small trainings of every kind, for kills.py and power_cut.py."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

_ROWS = 300
_COMMON = "--epochs 10 --checkpoint-every 4 --patience 99"
_SENTIMENT = f"--batch-size 16 --hidden-size 8 --vocabulary-size 200 --max-tokens 40 --max-ngrams 500 {_COMMON}"
_NMT = f"--batch-tokens 500 --hidden-size 16 --num-layers 1 --vocabulary-size 150 {_COMMON}"

# Name -> (task, file of the data, flags).
RUNS = {
    "sentiment-lstm": (
        "sentiment",
        "reviews.csv",
        f"--model lstm --embedding-size 8 --max-encoder-tokens 20 --span-rate 0.5 {_SENTIMENT}",
    ),
    "sentiment-best": ("sentiment", "reviews.csv", f"--model best --least-texts 0 {_SENTIMENT}"),
    "tagging": (
        "tagging",
        "tokens.tsv",
        "--batch-size 16 --embedding-size 8 --hidden-size 8 --character-size 4 --word-dropout 0.3 --join-rate 0.5 "
        f"{_COMMON}",
    ),
    "char-lm": (
        "char-lm",
        "reviews.csv",
        f"--batch-size 32 --window 32 --hidden-size 16 --num-layers 2 --dropout 0.2 --schedule plateau {_COMMON}",
    ),
    "nmt-transformer": ("nmt", "pairs.tsv", f"--model transformer --num-heads 2 {_NMT}"),
    "nmt-attention": ("nmt", "pairs.tsv", f"--model attention {_NMT}"),
    "encoder": (
        "encoder",
        "reviews.csv",
        f"--batch-size 16 --window 32 --hidden-size 16 --num-layers 1 --vocabulary-size 200 --dropout 0.2 {_COMMON}",
    ),
    "transfer": (
        "transfer",
        "reviews.csv",
        "--head-epochs 3 --top-epochs 3 --all-epochs 3 --batch-size 16 --checkpoint-every 4 "
        "--encoder DATA/bert --preprocessor DATA/preprocess",
    ),
}


def write_data(folder: Path) -> None:
    """Writes the data of all runs to `folder`, and the modules bert and preprocess."""
    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    from pipelines.data import sample_pairs, sample_reviews, tagged_sentences
    from tests.layers import hub_modules

    folder.mkdir(parents=True)
    texts, labels, films, _ = sample_reviews.generate(_ROWS)
    rows = (f'"{text}",{label},{film}\n' for text, label, film in zip(texts, labels, films, strict=True))
    (folder / "reviews.csv").write_text("text,label,url\n" + "".join(rows))
    pairs = zip(*sample_pairs.generate(_ROWS), strict=True)
    (folder / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    sentences = tagged_sentences.read(None)["train"].take(slice(_ROWS))
    rows = (
        "".join(f"{token}\t{tag}\n" for token, tag in zip(tokens, tags, strict=True))
        for tokens, tags in zip(sentences.tokens, sentences.tags, strict=True)
    )
    (folder / "tokens.tsv").write_text("\n".join(rows))
    hub_modules.save_bert(folder / "bert", dropout=0.2)
    hub_modules.save_preprocessor(folder / "preprocess")


def command(name: str, data: Path, folder: Path) -> list[str]:
    """Returns the command that trains `name` with the data in `data`; the run and the export go to `folder`."""
    task, file, flags = RUNS[name]
    places = ["--data", data / file, "--run", "r", "--runs", folder / "runs", "--saved-models", folder / "saved"]
    arguments = [sys.executable, ROOT / "main.py", "train", task, *places, *flags.replace("DATA", str(data)).split()]
    return [str(argument) for argument in arguments]
