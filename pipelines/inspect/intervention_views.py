"""The inspections that set something inside of a model, and show what follows. They import nothing heavy."""

import dataclasses
from typing import Annotated, ClassVar

import tyro

from pipelines.inspect.view import TextView, cut_notes
from pipelines.support.errors import UserError

_LEAST_DIFFERENCE = 1e-3  # of two answers, so that one can say where it comes from
_MAX_NOTED = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Intervene(TextView):
    """Set gates, states, units or heads, and see what the model then answers; or take out each in turn."""

    NAME: ClassVar[str] = "intervene"
    examples: ClassVar[tuple[str, ...]] = (
        '"The list of functions" --models char-lm',
        '"The list of functions" --models char-lm --clamp forget:all:3=1',
    )

    clamp: Annotated[tuple[str, ...], tyro.conf.arg(metavar="KIND:STEP:UNIT=VALUE ...")] = ()
    """What to set: KIND:STEP:UNIT=VALUE, or LAYER:KIND:STEP:UNIT=VALUE. Steps and units count from 0; `all` means all.
    Kinds of recurrent layers: hidden, cell, input, forget, output, update, reset, candidate. Kinds of transformer
    blocks: hidden, and attention, whose unit is a head and whose step is a query (a key may follow: :KEY). Kinds whose
    value is a factor, so that 0 removes them: head, attention_output, attention_residual, feed_forward_output,
    feed_forward_residual. Without --clamp, each unit, head and sublayer is removed in turn, and the changes of the
    answer are ranked."""

    def look_at(self, model):
        """Returns the figure of one model, and the largest changes."""
        from pipelines.inspect import interventions

        (plain,) = model.intervene(self.text, [[]])
        cut = cut_notes(model, plain)
        if not self.clamp:
            found = interventions.ranking(model, self.text, plain)
            rows = found.head(_MAX_NOTED).itertuples()
            notes = [f"{model.title}: without {row.without} of {row.layer} {row.change:.3f}" for row in rows]
            return [interventions.ranking_figure(model.title, found)], [*cut, *notes]
        try:
            edits = interventions.parse(self.clamp, plain)
        except UserError as error:
            raise UserError(f"--clamp {error}") from None
        (changed,) = interventions.ask(model, self.text, [edits])
        found = interventions.changes(interventions.answer(model, plain), interventions.answer(model, changed))
        rows = found.head(_MAX_NOTED).itertuples()
        notes = [f"{model.title}: {row.answer} {row.before:.3f} -> {row.after:.3f}" for row in rows]
        return [interventions.change_figure(model.title, found, self.clamp)], [*cut, *notes]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Patch(TextView):
    """Put the states of another text into a text, layer by layer and token by token, and see where its answer comes."""

    NAME: ClassVar[str] = "patch"
    examples: ClassVar[tuple[str, ...]] = (
        '"The keys to the cabinet" --other "The key to the cabinet" --models char-lm',
    )

    other: str = ""
    """The other text. Its state at each token takes the place of that of the same token, counted from the start."""

    def check(self) -> None:
        """Checks that there is another text."""
        if not self.other.strip() or self.other == self.text:
            raise UserError("--other: give another text, such as TEXT with one word changed")
        super().check()

    def title(self) -> str:
        """Returns the title of the page."""
        return f"Patch: {self.text} with {self.other}"

    def look_at(self, model):
        """Returns the figure of one model, and the place that counts most."""
        from pipelines.inspect import interventions

        (plain,), (other,) = model.intervene(self.text, [[]]), model.intervene(self.other, [[]])
        answers = [interventions.answer(model, each) for each in (plain, other)]
        change = interventions.difference(*answers)
        if change < _LEAST_DIFFERENCE:
            raise UserError(
                f"--other: {model.title} gives both texts the same answer, so nothing can be seen: change it"
            )
        found = interventions.patching(model, self.text, plain, other)
        best = found.loc[found["restored"].idxmax()]
        notes = [
            f"{model.title}: the answers of the two texts differ by {change:.3f}; the state of {best['layer']} at "
            f"token {best['position']} ({best['token']!r}) restores {best['restored']:.0%} of it"
        ]
        tokens = plain.tokens_of(next(iter(plain.recurrent)))
        return [interventions.patching_figure(model.title, tokens, found)], [*cut_notes(model, plain), *notes]
