"""A Zotero library with the tables of Zotero 5 to 8, as far as they hold papers."""

from __future__ import annotations

import sqlite3
from pathlib import Path

_TABLES = """
CREATE TABLE libraries (libraryID INTEGER PRIMARY KEY, type TEXT NOT NULL, editable INT NOT NULL);
CREATE TABLE itemTypes (itemTypeID INTEGER PRIMARY KEY, typeName TEXT, templateItemTypeID INT, display INT DEFAULT 1);
CREATE TABLE fields (fieldID INTEGER PRIMARY KEY, fieldName TEXT, fieldFormatID INT);
CREATE TABLE creatorTypes (creatorTypeID INTEGER PRIMARY KEY, creatorType TEXT);
CREATE TABLE items (
    itemID INTEGER PRIMARY KEY, itemTypeID INT NOT NULL, dateAdded TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    dateModified TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, libraryID INT NOT NULL, key TEXT NOT NULL,
    version INT NOT NULL DEFAULT 0, synced INT NOT NULL DEFAULT 0, UNIQUE (libraryID, key));
CREATE TABLE itemDataValues (valueID INTEGER PRIMARY KEY, value UNIQUE);
CREATE TABLE itemData (itemID INT, fieldID INT, valueID, PRIMARY KEY (itemID, fieldID));
CREATE TABLE itemNotes (itemID INTEGER PRIMARY KEY, parentItemID INT, note TEXT, title TEXT);
CREATE TABLE itemAttachments (
    itemID INTEGER PRIMARY KEY, parentItemID INT, linkMode INT, contentType TEXT, path TEXT);
CREATE TABLE creators (
    creatorID INTEGER PRIMARY KEY, firstName TEXT, lastName TEXT, fieldMode INT,
    UNIQUE (lastName, firstName, fieldMode));
CREATE TABLE itemCreators (
    itemID INT NOT NULL, creatorID INT NOT NULL, creatorTypeID INT NOT NULL DEFAULT 1,
    orderIndex INT NOT NULL DEFAULT 0, PRIMARY KEY (itemID, creatorID, creatorTypeID, orderIndex));
CREATE TABLE collections (
    collectionID INTEGER PRIMARY KEY, collectionName TEXT NOT NULL, parentCollectionID INT, libraryID INT NOT NULL,
    key TEXT NOT NULL);
CREATE TABLE collectionItems (
    collectionID INT NOT NULL, itemID INT NOT NULL, orderIndex INT NOT NULL DEFAULT 0,
    PRIMARY KEY (collectionID, itemID));
CREATE TABLE feedItems (itemID INTEGER PRIMARY KEY, guid TEXT NOT NULL UNIQUE, readTime TIMESTAMP);
CREATE TABLE deletedItems (itemID INTEGER PRIMARY KEY, dateDeleted DEFAULT CURRENT_TIMESTAMP NOT NULL);
INSERT INTO libraries VALUES (1, 'user', 1), (2, 'feed', 0);
INSERT INTO creatorTypes VALUES (8, 'author'), (10, 'editor');
"""
TYPES = ("annotation", "attachment", "conferencePaper", "journalArticle", "note", "preprint", "thesis")
FIELDS = ("title", "abstractNote", "date", "DOI", "url", "extra", "archiveID", "repository", "publicationTitle")
FIELDS += ("proceedingsTitle", "conferenceName", "university", "pages")


class ZoteroLibrary:
    """A library to be filled; its connection stays open, as Zotero's does."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.path = folder / "zotero.sqlite"
        self.connection = sqlite3.connect(self.path)
        self.connection.executescript(_TABLES)
        self.connection.executemany("INSERT INTO itemTypes (typeName) VALUES (?)", [(name,) for name in TYPES])
        self.connection.executemany("INSERT INTO fields (fieldName) VALUES (?)", [(name,) for name in FIELDS])
        self.connection.commit()

    def add(self, kind: str, *creators: tuple[str, str, str], commit: bool = True, **fields: str) -> int:
        """An item; of a creator the type, the first and the last name."""
        run = self.connection.execute
        number = run("SELECT 1 + coalesce(max(itemID), 0) FROM items").fetchone()[0]
        run("INSERT INTO items (itemID, itemTypeID, libraryID, key) VALUES (?, ?, 1, ?)",
            (number, 1 + TYPES.index(kind), f"KEY{number:05}"))  # fmt: skip
        for name, value in fields.items():
            run("INSERT OR IGNORE INTO itemDataValues (value) VALUES (?)", (value,))
            run("INSERT INTO itemData SELECT ?, ?, valueID FROM itemDataValues WHERE value = ?",
                (number, 1 + FIELDS.index(name), value))  # fmt: skip
        for order, (role, first, last) in enumerate(creators):
            run("INSERT OR IGNORE INTO creators (firstName, lastName, fieldMode) VALUES (?, ?, ?)",
                (first, last, int(not first)))  # fmt: skip
            run("INSERT INTO itemCreators SELECT ?, creatorID, creatorTypeID, ? FROM creators, creatorTypes"
                " WHERE firstName = ? AND lastName = ? AND creatorType = ?",
                (number, order, first, last, role))  # fmt: skip
        if commit:
            self.connection.commit()
        return number

    def trash(self, item: int) -> None:
        self.connection.execute("INSERT INTO deletedItems (itemID) VALUES (?)", (item,))
        self.connection.commit()

    def feed(self, item: int) -> None:
        self.connection.execute("INSERT INTO feedItems VALUES (?, ?, NULL)", (item, str(item)))
        self.connection.commit()
