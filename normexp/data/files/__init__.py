"""Where bytes come from: downloads, the cache, files inside a folder or an archive, their content as one sha256."""
