import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.classification.sizes import Sizes
from pipelines.support.errors import UserError
from pipelines.support.records import read_record, write_record
from tests.pipelines.small_runs import write_run

CONFIG = ClassificationConfig(data="a.csv", preset="quick").resolve()


@pytest.mark.parametrize(
    ("classes", "weightings", "is_sparse"), [(2, 2, False), (20, 2, False), (21, 1, False), (101, 1, True)]
)
def test_a_training_that_continues_has_the_form_of_its_run_whatever_labels_are_new(
    tmp_path, classes, weightings, is_sparse
):
    new = Sizes.of(CONFIG, classes, num_texts=1000)
    assert (new.num_ngrams, new.num_telling) == (120_000, 20_000)
    assert (new.num_weightings, new.is_sparse) == (weightings, is_sparse)
    shapes = {"hashes": [500], "weighted": [900 if is_sparse else 500], "bias": [classes * weightings]}
    shapes |= {"starts": [501]} if is_sparse else {}
    folder = write_run(tmp_path, "first")
    weights = {f"ngram_logits/{name}": shape for name, shape in shapes.items()}
    values = {"classes": [str(i) for i in range(classes)], "weights": weights}
    write_record(folder / "result.json", read_record(folder / "result.json", "") | values)
    config = ClassificationConfig(data="b.csv", start_weights=str(folder / "checkpoints" / "best.npz"))
    known = Sizes.of_run(config)
    assert (known.num_weightings, known.is_sparse) == (weightings, is_sparse)
    assert known.num_ngrams == 500 and (known.num_weights == 900 or not is_sparse)
    assert CONFIG.ngram_lengths(known.num_classes) == CONFIG.ngram_lengths(classes)


def test_a_run_of_an_older_version_is_refused(tmp_path):
    folder = write_run(tmp_path, "first", classes=["a", "b"], weights={})
    config = ClassificationConfig(data="b.csv", start_weights=str(folder / "checkpoints" / "best.npz"))
    with pytest.raises(UserError, match="an older version of Unroll trained that model: train again on all texts"):
        Sizes.of_run(config)


def test_all_weights_are_stored_with_an_encoder_up_to_300_labels():
    config = ClassificationConfig(data="a.csv", preset="quick", encoder="hf://org/name").resolve()
    assert not Sizes.of(config, 300, num_texts=1000).is_sparse
    with pytest.raises(UserError, match="has 301 labels, and an encoder is for 300 at most"):
        Sizes.of(config, 301, num_texts=1000)
