"""How the reader is trained, measured and exported; needs the extra ``train``. Not part of the package."""
