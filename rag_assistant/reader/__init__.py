"""A small trained model that judges meaning: what an abstract answers, and what it supports."""
