import pytest

from pipelines.language_model.cache_options import cache_options, exported_cache_options, require_cache
from pipelines.support.errors import UserError
from tests.pipelines.language_model.models import FakeExport, make

SCORES = {"validation": {"cache_theta": 0.8, "cache_lambda": 0.2}}


class Export:
    title = "words/1"

    def __init__(self, model="lstm", tokenizer="word"):
        self._card = {"config": {"model": model, "tokenizer": tokenizer}, "scores": SCORES}

    def card(self):
        return self._card


def test_without_a_size_there_is_no_cache():
    assert cache_options({}) is None and cache_options({"cache_size": 0, "cache_theta": None}) is None


def test_theta_and_lambda_are_those_of_the_model_unless_given():
    assert exported_cache_options(Export(), {"cache_size": 50}) == {
        "cache_size": 50,
        "cache_theta": 0.8,
        "cache_lambda": 0.2,
    }
    assert exported_cache_options(Export(), {"cache_size": 50, "cache_theta": 0.1})["cache_theta"] == 0.1
    assert cache_options({"cache_size": 50})["cache_lambda"] == 0.1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cache_theta": 0.1}, "--cache-theta has no effect without --cache-size"),
        ({"cache_size": 0, "cache_lambda": 0.1}, "--cache-lambda has no effect without --cache-size"),
        ({"cache_size": -1}, "--cache-size -1: it must be at least 0"),
        ({"cache_size": 10, "cache_lambda": 1.0}, "--cache-lambda 1.0: it must be at least 0, at most 0.99"),
        ({"cache_size": 10, "cache_theta": -1.0}, "--cache-theta -1.0"),
    ],
)
def test_options_that_mean_nothing_are_refused(given, message):
    with pytest.raises(UserError, match=message):
        cache_options(given)


@pytest.mark.parametrize(
    ("export", "message"),
    [
        (Export(tokenizer="character"), "words/1 was trained with --model lstm --tokenizer character"),
        (Export("transformer"), "--model transformer --tokenizer word"),
        (Export("ngram"), "--model ngram"),
    ],
)
def test_models_without_a_cache_are_refused(export, message):
    with pytest.raises(UserError, match=message):
        exported_cache_options(export, {"cache_size": 10})
    assert exported_cache_options(export, {}) is None


def test_an_older_export_is_refused():
    with pytest.raises(UserError, match="words/1 has no cache.*training command again"):
        require_cache(Export(), {"token_losses": None})


@pytest.mark.long
def test_the_commands_use_the_cache(tmp_path):
    from pipelines.language_model.evaluate import evaluate, format_measures
    from pipelines.language_model.predict import continue_texts
    from pipelines.language_model.scores import score_texts

    export = FakeExport(make(tokenizer="word")[-1])
    (tmp_path / "a.txt").write_text("To be , " * 30)
    cache = {"cache_size": 20, "cache_theta": 0.7, "cache_lambda": 0.5}
    without = evaluate(export, str(tmp_path / "a.txt"))
    measures = evaluate(export, str(tmp_path / "a.txt"), cache)
    assert measures["perplexity"] < without["perplexity"] and cache.items() <= measures.items()
    assert "cache of 20 tokens, theta 0.7, lambda 0.5" in format_measures(measures)
    assert "cache" not in format_measures(without)
    texts = ["To be To be To be"]
    assert score_texts(export, texts, cache)[0]["perplexity"] < score_texts(export, texts)[0]["perplexity"]
    likely = continue_texts(export, texts, {"temperature": 0.0, "max_length": 8} | cache)[0]
    assert likely["tokens"] == 8
