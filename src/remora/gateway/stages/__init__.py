"""The stages of the pipeline: what happens to a result, one file each."""
