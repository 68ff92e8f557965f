import pytest

from pipelines.support.errors import UserError
from pipelines.tagging.config import TaggingConfig


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_tokens": 3}, "--max-tokens 3: it must be from 4 to 1000"),
        ({"max_characters": 101}, "--max-characters 101: it must be from 4 to 100"),
        ({"word_dropout": 1.0}, "--word-dropout 1.0"),
        ({"join_rate": 1.1}, "--join-rate 1.1: it must be from 0 to 1"),
        ({"learning_rate": 0.0}, "--learning-rate 0.0"),
        ({"characters": "none", "character_size": 7}, "--character-size has no effect here"),
        ({"num_heads": 2}, "--num-heads has no effect here: it needs --model transformer"),
        ({"model": "transformer", "num_heads": 7}, "--num-heads 7"),
        ({"model": "transformer", "bidirectional": False}, "--no-bidirectional has no effect here"),
        ({"max_bytes": 0}, "--max-bytes 0"),
    ],
)
def test_impossible_settings_are_refused(changes, message):
    with pytest.raises(UserError) as error:
        TaggingConfig(preset="full", **changes).resolve().check()
    assert message in str(error.value)


def test_few_sentences_have_more_epochs():
    config = TaggingConfig(data="x.conll").resolve()
    assert config.model == "best" and config.epochs is None
    assert [config.complete(n).epochs for n in (10, 1600, 4000, 10**6)] == [40, 16, 7, 6]
    assert TaggingConfig(data="x.conll", epochs=3).resolve().complete(10).epochs == 3
    assert TaggingConfig(data="x.conll", model="lstm").resolve().complete(10).epochs == 12
