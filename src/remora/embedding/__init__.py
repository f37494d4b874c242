"""Texts to vectors: the bundled encoder, static word vectors, remote endpoints, or none at all."""
