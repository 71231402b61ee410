"""What data sets of texts share: questions about documents, the formats they lie in, as numbers of words."""
