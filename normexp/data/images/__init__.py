"""What data sets of images share: the formats they lie in, decoded, as labelled arrays."""
