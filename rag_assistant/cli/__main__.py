"""``python -m rag_assistant.cli``, the same as ``rag-assistant``."""

import sys

from rag_assistant.cli import main

sys.exit(main())
