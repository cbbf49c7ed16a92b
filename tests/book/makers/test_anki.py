"""The review's deck is one that Anki reads."""

import pytest

from rope_book.widgets._questions import questions
from tests.book.widgets.v8 import scripts

pytestmark = pytest.mark.makers


def test_anki_imports_the_deck_and_importing_it_again_adds_nothing(tmp_path):
    from anki.collection import Collection, ImportCsvRequest

    with scripts("lib/deck") as page:
        text = page.answer([("deckOf", [list(questions().values())])])[0]
    (tmp_path / "deck.txt").write_text(text, encoding="utf-8")
    collection = Collection(str(tmp_path / "collection.anki2"))
    try:
        for _ in range(2):
            path = str(tmp_path / "deck.txt")
            metadata = collection.get_csv_metadata(path, delimiter=None)
            collection.import_csv(ImportCsvRequest(path=path, metadata=metadata))
            notes = [
                collection.get_note(number) for number in collection.find_notes('deck:"RoPE, Turn by Turn"')
            ]
            assert {note.guid for note in notes} == {f"rope-turn-{name}" for name in questions()}
            assert collection.card_count() == len(notes)
        (lock,) = (note for note in notes if note.guid == "rope-turn-04-lock")
        assert "It stays the same, to the last digit" in lock.fields[0]
        assert lock.fields[1].startswith(
            "<b>It stays the same, to the last digit.</b> The whole solid picture turns"
        )
        assert lock.tags == ["chapter::04"]
    finally:
        collection.close()
