"""The version of Unroll. It is in the record of every run and on the card of every export."""

VERSION = "0.15.0"
