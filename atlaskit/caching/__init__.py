"""Content-addressed cache: entries on disk under the hash of what they are made of."""
