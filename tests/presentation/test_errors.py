"""Errors in the language of the reader: every message of the source has an entry in each catalogue, and is found by it."""

import errno
import os
import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from error_texts import messages, shape, texts
from pydantic import Field, TypeAdapter, ValidationError

from hippocampe.language.i18n import catalogue
from hippocampe.language.lexicon import languages
from hippocampe.presentation.decisions import ERROR, PLACEHOLDER, error


@cache
def entries(language: str) -> dict[str, str]:
    return {
        str(entry.id): str(entry.string)
        for entry in catalogue(language)
        if entry.context == ERROR and entry.id
    }


def filled(form: str, mark: str = "x{}x") -> str:
    return PLACEHOLDER.sub(lambda name: mark.format(name[1]), form)


@pytest.mark.parametrize("language", languages())
def test_every_message_of_an_error_has_an_entry(language: str) -> None:
    shapes = {shape(each) for each in entries(language)}
    missing = {text: place for text, place in messages().items() if shape(text) not in shapes}
    assert missing == {}


def test_every_entry_is_a_text_of_the_source_or_of_what_it_runs_on() -> None:
    system = {os.strerror(number) for number in errno.errorcode}
    limited = Annotated[int, Field(ge=1, le=9)]
    numbers = {refused(int, "x"), refused(float, "x"), refused(limited, 0), refused(limited, 10)}
    foreign = {shape(entry) for entry in entries("en")} - texts() - system - numbers
    of_typer = typed()
    assert {each for each in foreign if not of_typer.fullmatch(each)} == {"[Errno {}] {}: {}"}


def refused(kind: Any, value: object) -> str:
    """What Pydantic says of a text that is no number, or of a number beyond a limit."""
    with pytest.raises(ValidationError) as error:
        TypeAdapter(kind).validate_python(value)
    return re.sub(r"\d+$", "{}", error.value.errors()[0]["msg"])


def typed() -> re.Pattern[str]:
    """What Typer says of a command line, with anything in its placeholders."""
    parts = [re.split(r"{[^}]*}", text) for text in texts(Path(typer.__file__).parent)]
    worded = [each for each in parts if re.search("[A-Za-z]{3}", "".join(each))]
    return re.compile("|".join(".*".join(map(re.escape, each)) for each in worded))


def test_a_name_of_two_words_is_told_from_a_quoted_value() -> None:
    message = "unknown log format 'x y': choose from text, json."
    assert error(message, "fr") == (
        "format de journal inconnu 'x y' : choisissez parmi text, json."
    )
    assert error(message, "en") == message


def test_a_message_is_found_by_its_form() -> None:
    french = entries("fr")
    assert {filled(form): error(filled(form), "fr") for form in french} == {
        filled(form): filled(entry) for form, entry in french.items()
    }
    assert {error(filled(form), "en") for form in french} == {filled(form) for form in french}


@pytest.mark.parametrize(
    ("message", "french"),
    [
        ("memory 'a1' is forgotten: restore it first.", "le souvenir 'a1' est oublié : "),
        (
            "user must be text, not int. user is set by HIPPOCAMPE_USER.",
            "et non int. user vient de",
        ),
        ("no words of ours", "no words of ours"),
        (
            "interrupted: so far, 512 messages are stored. Import the same file again to resume: what is stored is "
            "skipped.",
            "interrompu : déjà enregistrés : 512 messages. Réimportez",
        ),
        (
            "coalesce_ms must be a whole number from 0 to 9, not 'x'. Nothing was changed.",
            "doit être un nombre entier de 0 à 9, et non 'x'. Rien n’a changé.",
        ),
        ("there is no note 'forgotten: {x}' in the vault.", "'forgotten: {x}'"),
        ("1,050.98 GB free", "1\u202f050,98 Go libres"),
        ("limit must be a whole number from 1 to 1000, not 2.5.", "et non 2.5."),
        ("cannot read x: [Errno 2] No such file or directory: 'x'.", "dossier inexistant"),
    ],
)
def test_what_is_inserted_is_translated_too_but_not_what_a_person_wrote(
    message: str, french: str
) -> None:
    assert french in error(message, "fr")


def test_values_of_several_lines_stay() -> None:
    message = f"{'x'}: there is no setting 'one\ntwo': did you mean user?"
    assert re.search(r"pas de réglage 'one\ntwo' : vouliez-vous", error(message, "fr"))
