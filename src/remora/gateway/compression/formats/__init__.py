"""What each kind of text looks like: its units, their context, what always matters."""
