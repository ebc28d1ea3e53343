"""Small PDFs, written by hand: lines of text, each with its size, its font and where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

Line = tuple[float, str] | tuple[float, str, str]
"""A size, a text, and "bold" or "turned"."""


def pdf(*pages: Sequence[Line], about: str = "") -> bytes:
    """A file of these pages; ``about`` is what it says of itself, as PDF writes it: ``/Title (...)``."""
    kids = " ".join(f"{6 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Bold /Encoding /WinAnsiEncoding >>",
        f"<< {about} >>".encode("cp1252"),
    ]
    for number, lines in enumerate(pages):
        resources = "<< /Font << /F1 3 0 R /F2 4 0 R >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources {resources}"
            f" /Contents {7 + 2 * number} 0 R >>".encode()
        )
        stream = _stream(lines)
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
    return _file(objects)


def write_pdf(path: Path, *pages: Sequence[Line], about: str = "") -> Path:
    path.write_bytes(pdf(*pages, about=about))
    return path


def _stream(lines: Sequence[Line]) -> bytes:
    y, parts = 760.0, []
    for size, text, *how in lines:
        y -= 1.4 * size
        matrix = "0 1 -1 0 30 200" if "turned" in how else f"1 0 0 1 72 {y:.1f}"
        escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        parts.append(f"BT /F{2 if 'bold' in how else 1} {size} Tf {matrix} Tm ({escaped}) Tj ET")
    return "\n".join(parts).encode("cp1252")


def _file(objects: list[bytes]) -> bytes:
    data, places = bytearray(b"%PDF-1.5\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    start = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
    data += f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(data)
