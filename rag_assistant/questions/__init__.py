"""What a question asks for, as its form shows."""
