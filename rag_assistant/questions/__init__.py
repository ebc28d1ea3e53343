"""What a question asks for, read off its form."""
