"""The commands of `helpseek`, one file a group."""
