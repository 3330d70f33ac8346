"""Parser processes: a source goes in, its documents and passages come out."""
