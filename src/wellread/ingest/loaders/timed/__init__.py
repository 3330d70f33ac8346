"""Speech with times: captions, transcripts, what speech-to-text tools write."""
