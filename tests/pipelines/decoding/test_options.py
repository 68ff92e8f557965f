"""One declaration of an option gives the signature, its checks, the flag, and the example request."""

import dataclasses

import pytest
import tensorflow as tf
import tyro

from pipelines.decoding import options as generation_options
from pipelines.decoding.options import SAMPLING, SEARCH, TRANSLATION, Option
from pipelines.support.errors import UserError

OPTIONS = (
    Option(
        name="share",
        dtype="float32",
        default=0.5,
        minimum=0,
        maximum=1,
        above_minimum=True,
        example=(1.0, 0.5, 0.1),
        help="A share.",
    ),
    Option(
        name="count", dtype="int32", default=3, minimum=0, maximum=10, clip=True, example=(0, 1, 2), help="A number."
    ),
    Option(name="ending", dtype="string", default="", example=("", "", "x"), help="A text."),
)


def tensors(**values):
    return {name: tf.constant([value]) for name, value in values.items()}


def test_given_values_replace_defaults():
    with_defaults = generation_options.with_defaults
    assert with_defaults(OPTIONS, {}, {}) == {"share": 0.5, "count": 3, "ending": ""}
    assert with_defaults(OPTIONS, {"count": 0, "share": None}, {"count": 5, "share": 0.25}) == {
        "share": 0.25,
        "count": 0,
        "ending": "",
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": 0.0}, "--share 0.0: it must be above 0, at most 1"),
        ({"share": 1.5}, "--share 1.5"),
        ({"share": float("nan")}, "--share nan"),
        ({"count": -1}, "--count -1: it must be at least 0, at most 10"),
        ({"count": 11}, "--count 11"),
    ],
)
def test_values_out_of_range_are_refused_in_python(given, message):
    with pytest.raises(UserError, match=message):
        generation_options.with_defaults(OPTIONS, given, {})


@pytest.mark.parametrize("values", [{"share": 0.0}, {"share": 1.5}, {"share": float("nan")}, {"count": -1}])
def test_values_out_of_range_are_refused_in_the_graph(values):
    name = next(iter(values))

    @tf.function
    def run(options):
        with tf.control_dependencies(generation_options.in_range(OPTIONS, options)):
            return tf.identity(options["count"])

    run(tensors(share=0.5, count=3, ending=""))
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{name} must be"):
        run(tensors(**{"share": 0.5, "count": 3, "ending": ""} | values))


def test_limits_of_the_server_clip_instead_of_refusing():
    given = tensors(share=0.5, count=99, ending="a")
    assert len(generation_options.in_range(OPTIONS, given)) == 3  # two limits of share, one of count
    values = generation_options.clipped(OPTIONS, given)
    assert values["count"].numpy() == [10] and values["share"].numpy() == [0.5] and values["ending"].numpy() == [b"a"]


def test_flags_have_type_range_and_default_in_their_help(capsys):
    flags = generation_options.flags_class("Flags", OPTIONS)
    parsed = tyro.cli(flags, args=["--count", "4", "--ending", "end"])
    assert vars(parsed) == {"share": None, "count": 4, "ending": "end"}
    with pytest.raises(SystemExit):
        tyro.cli(flags, args=["--help"])
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "--share X A share. Range: above 0, at most 1. (default: 0.5)" in text
    assert "--ending TEXT A text. (default: none)" in text


def test_every_example_and_default_is_in_range_and_of_the_dtype():
    for option in {option for options in (SAMPLING, SEARCH, TRANSLATION) for option in options}:
        assert len(option.example) == 3
        for value in (*option.example, option.default):
            assert option.dtype == "string" or option.accepts(value), option
            tf.constant(value, option.dtype)


def test_the_options_that_are_off_by_default():
    values = generation_options.defaults(SAMPLING)
    assert (values["top_k"], values["min_p"], values["repetition_penalty"], values["stop"]) == (0, 0.0, 1.0, "")


def test_signature_inputs_have_the_declared_names_and_dtypes():
    specs = generation_options.signature_specs(SAMPLING)
    assert list(specs) == [option.name for option in SAMPLING]
    assert all(
        spec.shape.as_list() == [None] and spec.dtype.name == specs[name].dtype.name for name, spec in specs.items()
    )
    assert specs["stop"].dtype == tf.string and specs["min_p"].dtype == tf.float32 and specs["seed"].dtype == tf.int32


def test_values_are_repeated_for_each_text():
    values = generation_options.filled(OPTIONS, {"share": 1, "count": 2, "ending": "x"}, tf.constant(["a", "b"]))
    assert {name: value.numpy().tolist() for name, value in values.items()} == {
        "share": [1.0, 1.0],
        "count": [2, 2],
        "ending": [b"x", b"x"],
    }


def test_an_option_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SAMPLING[0].default = 5
