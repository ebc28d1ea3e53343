"""Files of papers, read: one module per form, one :class:`Paper` per record, one report of the rest.

To add a form, write a :data:`Loader` in one file and register it as an entry point of the group
``rag_assistant.loaders`` under the file's extension, or a :class:`Form` that knows its files by their content.
"""

from rag_assistant.loaders.base import Form, Loader, LoadReport, OnProgress, Problem, Source, grouped, read_text
from rag_assistant.loaders.exports import papers_of_export
from rag_assistant.loaders.fields import Record, papers_from
from rag_assistant.loaders.load import load_papers
from rag_assistant.loaders.registry import extensions, loader_for

__all__ = [
    "Form",
    "LoadReport",
    "Loader",
    "OnProgress",
    "Problem",
    "Record",
    "Source",
    "extensions",
    "grouped",
    "load_papers",
    "loader_for",
    "papers_from",
    "papers_of_export",
    "read_text",
]
