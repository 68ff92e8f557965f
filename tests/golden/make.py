"""Makes the golden exports of this version: small models, each with requests and their answers.

    python tests/golden/make.py

writes tests/golden/<version>/<name>.tar.xz. Run it once for each released version, and commit the files: every later
version must still load, check and serve them (tests/serving/test_golden_exports.py).
"""

import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.support.quiet import import_tensorflow  # noqa: E402  (after the path is set)
from pipelines.support.version import VERSION  # noqa: E402

ANSWERS = "answers.tfrecord"
_TINY = "--epochs 1 --hidden-size 8 --vocabulary-size 100"
TRAININGS = {
    "sentiment": f"sentiment --model gru --max-ngrams 1000 --embedding-size 8 {_TINY}",
    "best": "sentiment --model best --least-texts 0 --max-ngrams 1000 --epochs 1 --hidden-size 8",
    "char-lm": "char-lm --model lstm --epochs 1 --hidden-size 8 --num-layers 1 --embedding-size 8",
    "language-model": f"language-model --model transformer --tokenizer subword --num-layers 1 --num-heads 2 {_TINY}",
    "nmt-attention": f"nmt --model attention --num-layers 1 --embedding-size 8 {_TINY}",
    "nmt": f"nmt --model transformer --num-layers 1 --num-heads 2 {_TINY}",
    "encoder": f"encoder --num-layers 1 --embedding-size 8 {_TINY}",
    "words": f"language-model --model lstm --tokenizer word --num-layers 1 --embedding-size 8 {_TINY}",
    "topics": f"classification --data topics.csv --labels-separator | --model lstm --embedding-size 8 {_TINY}",
    "tagging": f"tagging --model lstm --embedding-size 8 {_TINY}",
    "names": f"tagging --data names.tsv --model lstm --embedding-size 8 {_TINY}",
    "columns": "classification --data topics.csv --feature-column label --label-column mood --model linear",
    "number": "classification --data topics.csv --label-column mood --label-type number --model linear",
    "linear-names": "tagging --data names.tsv --model linear",
    "transfer": "transfer --data topics.csv --label-column mood --encoder {folder}/saved/encoder-sample/1 "
    "--head-epochs 1 --top-epochs 0 --all-epochs 0",
    "encoded": "classification --data topics.csv --label-column mood --encoder {folder}/saved/encoder-sample/1 "
    "--model linear",
    "tuned": "transfer --data topics.csv --label-column mood --encoder {folder}/saved/encoder-sample/1 "
    "--recipe unfrozen",
}


def write_topics(path: Path) -> None:
    """Writes texts that have several labels or none, and a mood."""
    words = {"food": "bread soup rice cheese", "sport": "race goal team ball", "music": "song drum choir violin"}
    with open(path, "w", encoding="utf-8") as file:
        file.write("text,label,mood\n")
        for i in range(120):
            topics = [name for bit, name in enumerate(words) if i >> bit & 1]
            text = " ".join(words[name].split()[i % 4] for name in topics)
            file.write(f"the {text} of day {i} was {('bad', 'good')[i % 2]},{'|'.join(topics)},{i % 2}\n")


def write_names(path: Path) -> None:
    """Writes sentences with the tags of names."""
    names = ["Anna\tB-PER\nKowalska\tI-PER\n", "Bob\tB-PER\n"]
    places = ["New\tB-LOC\nYork\tI-LOC\n", "Oslo\tB-LOC\n", "Rome\tB-LOC\n"]
    sentences = [f"{names[i % 2]}lives\tO\nin\tO\n{places[i % 3]}no\tO\n{i}\tO\n" for i in range(60)]
    path.write_text("\n".join(sentences), encoding="utf-8")


def make(name: str, folder: Path) -> None:
    """Trains a model, and packs its export with requests and answers."""
    flags = TRAININGS[name].format(folder=folder).split()
    where = ["--runs", folder / "runs", "--saved-models", folder / "saved", "--name", name]
    command = [sys.executable, ROOT / "main.py", "train", *flags, *where, "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder)
    result = json.loads(done.stdout)
    export = Path(result["export"])
    write_answers(export, folder / ANSWERS)
    archive = Path(__file__).parent / VERSION / f"{name}.tar.xz"
    archive.parent.mkdir(exist_ok=True)
    with tarfile.open(archive, "w:xz") as packed:
        packed.add(export, f"{export.parent.name}/1")
        packed.add(folder / ANSWERS, ANSWERS)
    print(archive.relative_to(ROOT), archive.stat().st_size, "bytes")


def write_answers(export: Path, path: Path) -> None:
    """Writes the warm-up requests of an export with their answers, as a TFRecord file of PredictionLog."""
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    loaded = tf.saved_model.load(str(export))
    records = tf.data.TFRecordDataset(str(export / "assets.extra" / "tf_serving_warmup_requests"))
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records.as_numpy_iterator():
            log = prediction_log_pb2.PredictionLog.FromString(record)
            request = log.predict_log.request
            inputs = {name: tf.constant(tf.make_ndarray(proto)) for name, proto in request.inputs.items()}
            outputs = loaded.signatures[request.model_spec.signature_name](**inputs)
            for name, value in outputs.items():
                log.predict_log.response.outputs[name].CopyFrom(tf.make_tensor_proto(value.numpy(), shape=value.shape))
            writer.write(log.SerializeToString())


if __name__ == "__main__":
    import_tensorflow()
    with tempfile.TemporaryDirectory() as folder:
        write_topics(Path(folder) / "topics.csv")
        write_names(Path(folder) / "names.tsv")
        for name in TRAININGS:
            make(name, Path(folder))
