"""What the pages in docs/fields share: inputs with a known truth, and their pictures."""
