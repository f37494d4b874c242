"""Other servers whose tools are offered too: their names, arguments and results on our operations."""
