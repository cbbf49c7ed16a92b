"""What a model's files say about its rotation."""
