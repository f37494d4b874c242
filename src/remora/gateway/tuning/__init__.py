"""Better settings from what agents had to ask for again: evidence, rules, changes that can be taken back."""
