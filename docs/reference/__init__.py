"""The API reference, generated from what can be imported: what is public, what is missing, and the pages."""
